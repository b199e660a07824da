// Makes generated/ from openapi/. With --check it only prints what would change, and exits with 1
// if anything would. An argument may name another folder that holds them.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { checkGenerated, GenerateError, generate } from "../src/generate/index.js";

const { values, positionals } = parseArgs({
  options: { check: { type: "boolean", default: false } },
  allowPositionals: true,
});
const root = positionals[0] ?? fileURLToPath(new URL("..", import.meta.url));

const documents = {
  A: join(root, "openapi", "variant-a.yaml"),
  B: join(root, "openapi", "variant-b.yaml"),
};
const options = { documents, out: join(root, "generated") };

try {
  if (values.check) await check();
  else for (const name of await generate(options)) console.log(join("generated", name));
} catch (error) {
  if (!(error instanceof GenerateError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}

async function check(): Promise<void> {
  const drift = await checkGenerated(options);
  const lines = (["missing", "different", "extra"] as const).flatMap((kind) =>
    drift[kind].map((name) => `${kind}: ${join("generated", name)}`),
  );
  if (lines.length === 0) return console.log("generated/ is up to date");
  console.error([...lines, "Run `npm run generate`, and delete the extra files."].join("\n"));
  process.exitCode = 1;
}
