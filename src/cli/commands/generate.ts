/** `bivariant generate`: code from the OpenAPI documents of both variants. */
import type { Command } from "commander";
import { checkGenerated, generate } from "../../generate/index.js";
import { invalidFlag } from "../arguments.js";
import { exitCodes } from "../error-report.js";
import type { Context } from "../run.js";

interface Flags {
  readonly variantA?: string;
  readonly variantB?: string;
  readonly out: string;
  readonly check?: true;
}

export function defineGenerate(command: Command, { output, finish }: Context): void {
  command
    .option("--variant-a <path>", "document of Variant A (default: the one of this package)")
    .option("--variant-b <path>", "document of Variant B (default: the one of this package)")
    .requiredOption("--out <folder>", "folder for the generated files")
    .option("--check", "write nothing; exit 1 if the files in the folder are not what would be generated")
    .action(async ({ variantA, variantB, out, check }: Flags) => {
      if (variantA === undefined && variantB === undefined)
        throw invalidFlag(
          "--variant-a",
          "or --variant-b is needed: pass your document of at least one variant.",
        );
      const options = { documents: { A: variantA, B: variantB }, out };
      if (check) {
        const drift = await output.during("generating to compare", () => checkGenerated(options));
        const lines = (["missing", "different", "extra"] as const).flatMap((kind) =>
          drift[kind].map((file) => `${kind.padEnd(10)}${out}/${file}`),
        );
        if (output.json) output.value(drift);
        else output.lines(lines.length === 0 ? [`${out} matches the documents.`] : lines);
        if (lines.length > 0) finish(exitCodes.checkSaidNo);
        return;
      }
      const files = await output.during("generating", () => generate(options));
      if (output.json) output.value({ out, files });
      else output.lines(files.map((file) => `${out}/${file}`));
    })
    .addHelpText(
      "after",
      `
Requires openapi-typescript and typescript 5.9 in the same project:
  $ npm install --save-dev openapi-typescript@7.13.0 typescript@5.9

Example:
  $ cp node_modules/bivariant/openapi/*.yaml . && edit variant-a.yaml variant-b.yaml
  $ bivariant generate --variant-a variant-a.yaml --variant-b variant-b.yaml --out generated

Then: connect({ ..., api: await import("./generated/operations.js") }).

With --json: { "out", "files" }, or with --check { "missing", "different", "extra" }.`,
    );
}
