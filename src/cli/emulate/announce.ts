/** Tells what is served, and how the client and this command line find it. */
import type { Emulator, EmulatorOptions } from "../../emulator/index.js";
import type { Output } from "../output.js";
import { environmentOf, exportLines } from "./environment.js";
import type { PrivateFolder } from "./private-folder.js";

export async function announce(
  emulator: Emulator,
  options: EmulatorOptions,
  folder: PrivateFolder,
  output: Output,
): Promise<void> {
  const environment = await environmentOf(emulator, options, folder);
  if (output.json) output.valueLine({ served: options.variants ?? ["A", "B"], environment });
  else output.lines(exportLines(environment));
}
