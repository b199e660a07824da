// Makes generated/ from openapi/, and the generated code of the example with an overlay. With --check it only prints what would change, and exits with 1 if anything would.
// An argument may name another folder that holds them.
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { checkGenerated, GenerateError, type GenerateOptions, generate } from "../src/generate/index.js";

const { values, positionals } = parseArgs({
  options: { check: { type: "boolean", default: false } },
  allowPositionals: true,
});
const root = positionals[0] ?? fileURLToPath(new URL("..", import.meta.url));

const documents = {
  A: join(root, "openapi", "variant-a.yaml"),
  B: join(root, "openapi", "variant-b.yaml"),
};
const example = join(root, "test", "examples", "consumer");
const overlays = [join(example, "consumer.overlay.yaml")];
const all: GenerateOptions[] = [{ documents, out: join(root, "generated") }];
if (existsSync(example)) all.push({ documents, overlays, out: join(example, "generated") });

try {
  if (values.check) await check();
  else
    for (const options of all)
      for (const name of await generate(options)) console.log(join(relative(root, options.out), name));
} catch (error) {
  if (!(error instanceof GenerateError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}

async function check(): Promise<void> {
  const lines: string[] = [];
  for (const options of all) {
    const drift = await checkGenerated(options);
    for (const kind of ["missing", "different", "extra"] as const)
      for (const name of drift[kind]) lines.push(`${kind}: ${join(relative(root, options.out), name)}`);
  }
  if (lines.length === 0) return console.log("generated/ is up to date");
  console.error([...lines, "Run `npm run generate`, and delete the extra files."].join("\n"));
  process.exitCode = 1;
}
