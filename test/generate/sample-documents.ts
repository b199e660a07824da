// Small documents on disk for tests of the generator, and the compiled result of generating from
// one.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { readApi } from "../../src/generate/emit/emulation.js";
import {
  GenerateError,
  type GenerateOptions,
  generate,
  type Notice,
} from "../../src/generate/index.js";

export interface Sample {
  readonly documents: { readonly A: string; readonly B: string };
  readonly out: string;
}

/** How a document in YAML begins. */
export const START = 'openapi: 3.1.0\ninfo: { title: Sample, version: "1" }\n';

/** A document with the given paths and components. */
export function openapi(paths: object, components: object = {}): object {
  return { openapi: "3.1.0", info: { title: "Sample", version: "1" }, paths, components };
}

export const DONE = { 200: { description: "Done." } };

/** The member `content` of a body or an answer. */
export const json = (schema: object): object => ({ "application/json": { schema } });

export const answer = (schema: object): object => ({
  200: { description: "Done.", content: json(schema) },
});

export const ONE_OPERATION = {
  "/things": { get: { operationId: "listThings", responses: { 200: { description: "Things." } } } },
};

/** Writes both documents into a folder that is removed after the test. */
export async function sample(a: object | string, b?: object | string): Promise<Sample> {
  const folder = await mkdtemp(join(tmpdir(), "generate-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return writeSample(folder, a, b);
}

/** Writes both documents into `folder`: a string as it is, anything else as YAML. */
async function writeSample(
  folder: string,
  a: object | string,
  b: object | string = openapi(ONE_OPERATION),
): Promise<Sample> {
  const documents = { A: join(folder, "a.yaml"), B: join(folder, "b.yaml") };
  await writeFile(documents.A, typeof a === "string" ? a : stringify(a));
  await writeFile(documents.B, typeof b === "string" ? b : stringify(b));
  return { documents, out: join(folder, "generated") };
}

export interface Generated extends Sample {
  readonly notices: readonly Notice[];
  readonly text: (name: string) => Promise<string>;
}

/** Generates from a document of Variant A. The text of a file is without its header. */
export async function generated(
  document: object | string,
  more: Partial<GenerateOptions> = {},
): Promise<Generated> {
  const { documents, out } = await sample(document);
  const notices: Notice[] = [];
  await generate({ documents, out, onNotice: (notice) => void notices.push(notice), ...more });
  const text = async (name: string) =>
    (await readFile(join(out, name), "utf8")).replace(/\/\*\*[\s\S]*?\*\/\n/, "");
  return { documents, out, notices, text };
}

export async function refusalOf(document: object | string): Promise<GenerateError> {
  const error = await generated(document).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(GenerateError);
  return error as GenerateError;
}

export async function rowsOf(
  document: object | string,
): Promise<Record<string, Record<string, unknown>>> {
  const { documents } = await sample(document);
  const { operations } = await readApi({ A: documents.A });
  return operations.A as unknown as Record<string, Record<string, unknown>>;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface CompiledSample {
  /** What a compiler reports for all generated files, and for a text that uses them. */
  readonly diagnostics: (use?: string, compiler?: "typescript" | "typescript-7") => string[];
  readonly text: (name: string) => Promise<string>;
  readonly load: <T>(name: string) => Promise<T>;
  readonly remove: () => Promise<void>;
}

/**
 * Generates from a document, compiles the result with the options of this repository, and imports
 * it.
 */
export async function compiledSample(
  document: object | string,
  b?: object,
): Promise<CompiledSample> {
  // Below node_modules, so that packages resolve and no editor or type check reads it.
  const cache = join(ROOT, "node_modules", ".cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "generated-"));
  const { documents, out } = await writeSample(folder, document, b);
  await generate({ documents, out });
  const sources = (await readdir(out)).filter((name) => name.endsWith(".ts"));
  for (const name of sources) {
    const text = await readFile(join(out, name), "utf8");
    await writeFile(join(out, name), text.replace("// @ts-nocheck\n", ""));
  }
  let built: Promise<unknown> | undefined;
  return {
    diagnostics: (use, compiler = "typescript-7") => {
      if (use !== undefined) writeFileSync(join(out, "use.ts"), use);
      return diagnostics(out, use === undefined ? sources : [...sources, "use.ts"], compiler);
    },
    text: (name) => readFile(join(out, name), "utf8"),
    load: async (name) => {
      built ??= build({
        entryPoints: sources.map((source) => join(out, source)),
        outdir: join(out, "built"),
        outExtension: { ".js": ".mjs" },
        bundle: true,
        splitting: true,
        packages: "external",
        format: "esm",
        target: "es2022",
      });
      await built;
      return import(pathToFileURL(join(out, "built", `${name}.mjs`)).href);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Returns the lines that a compiler prints for files, with the options of this repository. */
function diagnostics(folder: string, files: readonly string[], compiler: string): string[] {
  const config = { extends: join(ROOT, "tsconfig.json"), include: [], files };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const args = [join(ROOT, "node_modules", compiler, "bin/tsc"), "-p", folder, "--pretty", "false"];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0 && stdout === "") throw new Error(`The compiler failed: ${stderr}`);
  return stdout.split("\n").filter(Boolean);
}
