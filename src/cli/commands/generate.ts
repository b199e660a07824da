/** `bivariant generate`: the documents of both variants to types, tables and schemas. */
import type { Command } from "commander";
import type { Context, Finish } from "../context.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { Progress } from "../progress.js";

interface Flags {
  readonly variantA: string;
  readonly variantB: string;
  readonly out: string;
  readonly check?: true;
}

export function addGenerate(program: Command, { output }: Context, finish: Finish): void {
  program
    .command("generate")
    .description("Generate types, operation table, zod schemas and unknowns from OpenAPI 3.1 documents.")
    .requiredOption("--variant-a <path>", "document of Variant A")
    .requiredOption("--variant-b <path>", "document of Variant B")
    .requiredOption("--out <folder>", "where the generated files go")
    .option("--check", "write nothing; exit 1 when the folder is not what would be generated")
    .action(async ({ variantA, variantB, out, check }: Flags) => {
      // Loaded here: its peers, the compiler among them, are optional and large.
      const { checkGenerated, generate } = await import("../../generate/index.js");
      const options = { documents: { A: variantA, B: variantB }, out };
      const progress = new Progress(output);
      if (check) {
        const drift = await progress.during("generating to compare", () => checkGenerated(options));
        const lines = (["missing", "different", "extra"] as const).flatMap((kind) =>
          drift[kind].map((file) => `${kind.padEnd(10)}${out}/${file}`),
        );
        if (output.json) output.value(drift);
        else output.lines(lines.length === 0 ? [`${out} is what the documents give.`] : lines);
        return finish(lines.length === 0 ? exitCodes.done : exitCodes.checkSaidNo);
      }
      const files = await progress.during("generating", () => generate(options));
      if (output.json) output.value({ out, files });
      else output.lines(files.map((file) => `${out}/${file}`));
      finish(exitCodes.done);
    })
    .addHelpText(
      "after",
      `
Needs openapi-typescript and typescript 5.9 beside this package: npm install --save-dev openapi-typescript@7.13.0 typescript@5.9

Example:
  $ cp node_modules/bivariant/openapi/*.yaml . && edit variant-a.yaml variant-b.yaml
  $ bivariant generate --variant-a variant-a.yaml --variant-b variant-b.yaml --out generated

Then: connect({ ..., api: await import("./generated/operations.js") }).

${exitCodesHelp}`,
    );
}
