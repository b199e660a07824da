/** Generates generated/ from openapi/; with --check only says what would change and exits 1 if anything would. */
import { fileURLToPath } from "node:url";
import { checkGenerated, GenerateError, type GenerateOptions, generate } from "../src/generate/index.js";

const fromRoot = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

const options: GenerateOptions = {
  documents: { A: fromRoot("openapi/variant-a.yaml"), B: fromRoot("openapi/variant-b.yaml") },
  out: fromRoot("generated"),
};

try {
  if (process.argv.includes("--check")) await check();
  else for (const name of await generate(options)) console.log(`generated/${name}`);
} catch (error) {
  if (!(error instanceof GenerateError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}

async function check(): Promise<void> {
  const drift = await checkGenerated(options);
  const lines = Object.entries(drift).flatMap(([how, names]: [string, readonly string[]]) =>
    names.map((name) => `${how}: generated/${name}`),
  );
  if (lines.length === 0) return console.log("generated/ is what the documents give");
  console.error([...lines, "run: npm run generate"].join("\n"));
  process.exitCode = 1;
}
