/** `bivariant unknowns`: what the description of the service does not show. */
import type { Command } from "commander";
import { unknowns } from "../../../generated/unknowns.js";
import type { Context } from "../run.js";

export function define(command: Command, { output }: Context): void {
  command
    .action(() => {
      if (output.json) return output.value(unknowns);
      output.lines(
        ...unknowns.flatMap(({ id, section, says, variants, untilTold }) => [
          `${output.paint("bold", id)} (section ${section}, Variant ${variants.join(" and ")})`,
          `  ${says}`,
          ...(untilTold === undefined ? [] : [`  Until it is known: ${untilTold}`]),
        ]),
        "",
        `${unknowns.length} unknowns. If you know one, describe it in documents of your own: ` +
          "bivariant generate --help.",
      );
    })
    .addHelpText("after", `\nExample:\n  $ bivariant unknowns --json`);
}
