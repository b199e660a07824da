/** `bivariant unknowns`: what the description does not show, and nobody knows. */
import type { Command } from "commander";
import { unknowns } from "../../../generated/unknowns.js";
import type { Context, Finish } from "../context.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";

export function addUnknowns(program: Command, { output }: Context, finish: Finish): void {
  program
    .command("unknowns")
    .description("List what the description of the service does not show.")
    .action(() => {
      if (output.json) output.value(unknowns);
      else {
        const width = Math.max(...unknowns.map(({ id }) => id.length)) + 2;
        output.lines(
          unknowns.map(
            ({ id, section, says, variants }) =>
              `${id.padEnd(width)}${`section ${section}`.padEnd(13)}${variants.join(", ").padEnd(6)}${says}`,
          ),
        );
      }
      finish(exitCodes.done);
    })
    .addHelpText("after", `\nExample:\n  $ bivariant unknowns --json\n\n${exitCodesHelp}`);
}
