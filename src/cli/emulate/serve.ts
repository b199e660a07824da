/** An emulated deployment from start to clean stop. */
import { createEmulator, type EmulatorOptions } from "../../emulator/index.js";
import type { Output } from "../output.js";
import { announce } from "./announce.js";
import { emulateOptions } from "./emulate-options.js";
import type { EmulateSettings } from "./emulate-settings.js";
import { type PrivateFolder, privateFolder } from "./private-folder.js";
import { reload } from "./reload.js";
import { stopSignal } from "./stop-signal.js";
import { printTraffic } from "./traffic.js";
import { stateOfFile, watchFile } from "./watch-file.js";

/** Resolves when it was asked to stop, its port is free and its files are gone. @throws EmulatorError */
export async function serve(
  settings: EmulateSettings,
  output: Output,
  interruption: AbortSignal,
): Promise<void> {
  const stop = stopSignal(interruption);
  let folder: PrivateFolder | undefined;
  let close = async () => {};
  let watching: Promise<void> | undefined;
  try {
    const watched = settings.watch ? settings.seedFile : undefined;
    // Before it is read: an edit in between is one that was not read.
    const before = watched === undefined ? "" : stateOfFile(watched);
    const options = emulateOptions(settings);
    const emulator = createEmulator(options);
    ({ close } = await emulator.listen({ port: settings.port, host: settings.host }));
    folder = await privateFolder();
    await announce(emulator, options, folder, output);
    output.note(closingWords(options, settings));
    if (watched !== undefined) {
      const into = folder;
      const again = () => reload(emulator, settings, options, into, output);
      watching = watchFile(watched, before, again, stop.signal);
    }
    await printTraffic(emulator, output, stop.signal);
  } finally {
    // Once: what ended otherwise than by the signal leaves no watcher.
    stop.end();
    await watching;
    // The secrets first: whoever presses Ctrl-C twice does not wait for the requests under way.
    await folder?.remove();
    await close();
    stop.release();
  }
}

function closingWords({ variants = ["A", "B"] }: EmulatorOptions, settings: EmulateSettings): string {
  return [
    `Serving Variant ${variants.join(" and Variant ")}.`,
    ...(settings.watch ? [`Watching ${settings.seedFile}.`] : []),
    "The files last as long as this process; Ctrl-C ends it.",
  ].join("\n");
}
