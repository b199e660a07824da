/** Puts what the watched seed file now says in the place of what it said. */
import type { Emulator, EmulatorOptions } from "../../emulator/index.js";
import type { Output } from "../output.js";
import { announce } from "./announce.js";
import { emulateOptions } from "./emulate-options.js";
import type { EmulateSettings } from "./emulate-settings.js";
import { optionsLeftOut } from "./options-left-out.js";
import type { PrivateFolder } from "./private-folder.js";

/** What clients hold of it already, and a reset cannot change. */
const LASTING = ["publicUrl", "randomSeed"] as const;

/** A mistake in the file leaves everything as it is, and whatever else goes wrong leaves it serving. */
export async function reload(
  emulator: Emulator,
  settings: EmulateSettings,
  first: EmulatorOptions,
  folder: PrivateFolder,
  output: Output,
): Promise<void> {
  let options: EmulatorOptions;
  try {
    options = emulateOptions(settings);
    const { publicUrl: _, randomSeed: __, now: ___, ...changes } = options;
    // What the file no longer says is no longer so.
    emulator.reset({ ...optionsLeftOut, ...changes });
  } catch (error) {
    output.note(`Not read again, the old state stays:\n${messageOf(error)}`);
    return;
  }
  const problem = await announce(emulator, options, folder, output).then(() => undefined, messageOf);
  output.note(`Read ${settings.seedFile} again; everything else starts anew.`);
  if (problem !== undefined) output.note(`Its environment cannot be written:\n${problem}`);
  const lasting = LASTING.filter((name) => options[name] !== first[name]);
  if (lasting.length > 0) output.note(`Until the next start stays what it was: ${lasting.join(", ")}.`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
