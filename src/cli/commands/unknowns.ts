/** `bivariant unknowns`: what the description of the service does not show. */
import type { Command } from "commander";
import { unknowns } from "../../../generated/unknowns.js";
import type { Context } from "../run.js";

export function defineUnknowns(command: Command, { output }: Context): void {
  command
    .action(() => {
      if (output.json) return output.value(unknowns);
      const width = Math.max(...unknowns.map(({ id }) => id.length)) + 2;
      output.lines(
        unknowns.map(
          ({ id, section, says, variants }) =>
            `${id.padEnd(width)}${`section ${section}`.padEnd(13)}${variants.join(", ").padEnd(6)}${says}`,
        ),
      );
    })
    .addHelpText("after", `\nExample:\n  $ bivariant unknowns --json`);
}
