/** An emulated deployment from start to clean stop. */
import { createEmulator, type Emulator, EmulatorError, type EmulatorOptions } from "../../emulator/index.js";
import type { Output } from "../output.js";
import { emulateOptions } from "./emulate-options.js";
import type { EmulateSettings } from "./emulate-settings.js";
import { environmentOf, exportLines } from "./environment.js";
import { optionsLeftOut } from "./options-left-out.js";
import { type PrivateFolder, privateFolder } from "./private-folder.js";
import { stopSignal } from "./stop-signal.js";
import { printTraffic } from "./traffic.js";
import { watchFile } from "./watch-file.js";

/** Resolves when it was asked to stop, its port is free and its files are gone. @throws EmulatorError */
export async function serve(
  settings: EmulateSettings,
  output: Output,
  interruption: AbortSignal,
): Promise<void> {
  const stop = stopSignal(interruption);
  let folder: PrivateFolder | undefined;
  let close = async () => {};
  try {
    const options = emulateOptions(settings);
    const emulator = createEmulator(options);
    ({ close } = await emulator.listen({ port: settings.port, host: settings.host }));
    folder = await privateFolder();
    await announce(emulator, options, folder, output);
    output.note(closingWords(emulator, options, settings));
    if (settings.watch && settings.seedFile !== undefined) {
      const into = folder;
      watchFile(settings.seedFile, () => reload(emulator, settings, into, output), stop.signal);
    }
    await printTraffic(emulator, output, stop.signal);
  } finally {
    // The secrets first: whoever presses Ctrl-C twice does not wait for the requests under way.
    await folder?.remove();
    await close();
    stop.release();
  }
}

async function announce(
  emulator: Emulator,
  options: EmulatorOptions,
  folder: PrivateFolder,
  output: Output,
): Promise<void> {
  const environment = await environmentOf(emulator, options, folder);
  if (output.json) output.valueLine({ served: options.variants ?? ["A", "B"], environment });
  else output.lines(exportLines(environment));
}

function closingWords(
  emulator: Emulator,
  { variants = ["A", "B"], seed }: EmulatorOptions,
  settings: EmulateSettings,
): string {
  const operator = variants.includes("A") ? seed?.operators?.[0] : undefined;
  return [
    `Serving Variant ${variants.join(" and Variant ")}.`,
    ...(operator ? [`The host application: ${emulator.publicUrl}/host/${operator.tenantId}`] : []),
    ...(settings.watch ? [`Watching ${settings.seedFile}.`] : []),
    "The files last as long as this process; Ctrl-C ends it.",
  ].join("\n");
}

/** A mistake in the file leaves everything as it is. */
async function reload(
  emulator: Emulator,
  settings: EmulateSettings,
  folder: PrivateFolder,
  output: Output,
): Promise<void> {
  try {
    const options = emulateOptions(settings);
    const { publicUrl: _, randomSeed: __, now: ___, ...changes } = options;
    // What the file no longer says is no longer so.
    emulator.reset({ ...optionsLeftOut, ...changes });
    await announce(emulator, options, folder, output);
    output.note(`Read ${settings.seedFile} again; everything else starts anew.`);
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    output.note(`Not read again, the old state stays:\n${error.message}`);
  }
}
