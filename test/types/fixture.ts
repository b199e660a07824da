/** The fixture's documents and the module that `generate` made of them. Run it to generate again. */
import { fileURLToPath, pathToFileURL } from "node:url";
import { type GenerateOptions, generate } from "../../src/generate/index.js";

const at = (path: string): string => fileURLToPath(new URL(`fixture/${path}`, import.meta.url));

export const fixture: GenerateOptions = {
  documents: { A: at("a.yaml"), B: at("b.yaml") },
  out: at("generated"),
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await generate(fixture);
