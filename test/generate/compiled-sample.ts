/** Generates from a sample, compiles the result as this repository compiles, and imports it. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { generate } from "../../src/generate/index.js";
import { writeSample } from "./sample-documents.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface CompiledSample {
  /** What the compiler says of a file that imports every generated one. */
  readonly diagnostics: () => string[];
  readonly text: (name: string) => Promise<string>;
  readonly load: <T>(name: string) => Promise<T>;
  readonly remove: () => Promise<void>;
}

export async function compiledSample(document: object): Promise<CompiledSample> {
  // Below node_modules, so that `zod` resolves and nobody's editor or type check sees it.
  const cache = join(ROOT, "node_modules", ".cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "generated-"));
  const { documents, out } = await writeSample(folder, document);
  await generate({ documents, out });
  const sources = (await readdir(out)).filter((name) => name.endsWith(".ts"));
  return {
    diagnostics: () => diagnostics(sources.map((name) => join(out, name))),
    text: (name) => readFile(join(out, name), "utf8"),
    load: async (name) => {
      const { outputText } = ts.transpileModule(await readFile(join(out, `${name}.ts`), "utf8"), {
        compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
      });
      await writeFile(join(out, `${name}.mjs`), outputText);
      return import(pathToFileURL(join(out, `${name}.mjs`)).href);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function diagnostics(files: readonly string[]): string[] {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files }, ts.sys, ROOT);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([...files], options))
    .map((found) => `${found.file?.fileName}: ${ts.flattenDiagnosticMessageText(found.messageText, "\n")}`);
}
