/** `bivariant/generate`: OpenAPI documents to generated code, and the check that the two agree. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { type Document, GenerateError, isObject, readDocument, type Variant } from "./document.js";
import { emitOperations } from "./emit-operations.js";
import { emitSchemas } from "./emit-schemas.js";
import { emitUnknowns } from "./emit-unknowns.js";
import { emitVariantTypes } from "./emit-variant-types.js";
import { emitEmulation } from "./emulation.js";
import { listOperations } from "./operations.js";

export { GenerateError, type GenerateErrorCode, type GenerateErrorDetails } from "./document.js";

/** The path of the document of each variant, at least of one. Default of the other: the document of this package. */
export type DocumentPaths = { readonly [V in Variant]?: string | undefined };

export interface GenerateOptions {
  readonly documents: DocumentPaths;
  /** Folder of the generated files; `generate` creates it. */
  readonly out: string;
}

/**
 * Generates types, operation table, schemas, unknowns and lock from the OpenAPI 3.1 documents of both variants. The same
 * documents and versions always result in the same bytes. If a document is refused, nothing is written.
 *
 * @returns the names of the files written, sorted
 * @throws {GenerateError} with `code`, and with `document` and `pointer` where one place is the cause
 * @example
 * await generate({ documents: { A: "openapi/variant-a.yaml", B: "openapi/variant-b.yaml" }, out: "generated" });
 */
export async function generate(options: GenerateOptions): Promise<readonly string[]> {
  const files = await render(checked(options));
  await mkdir(options.out, { recursive: true });
  await Promise.all([...files].map(([name, content]) => writeFile(join(options.out, name), content)));
  return [...files.keys()].sort();
}

/** File names relative to the folder, sorted. Without drift all three are empty. */
export interface Drift {
  readonly missing: readonly string[];
  readonly different: readonly string[];
  /** Files that `generate` would not write. */
  readonly extra: readonly string[];
}

/**
 * Generates in memory and reports every file of `out` that is missing, differs or does not belong there. Writes nothing.
 *
 * @throws {GenerateError} as `generate` does
 * @example
 * const drift = await checkGenerated({ documents, out: "generated" });
 * if (drift.missing.length + drift.different.length + drift.extra.length > 0) process.exitCode = 1;
 */
export async function checkGenerated(options: GenerateOptions): Promise<Drift> {
  const expected = await render(checked(options));
  const found = new Set(await filesBelow(options.out));
  const different: string[] = [];
  for (const [name, content] of expected) {
    if (!found.has(name)) continue;
    // A checkout may have CRLF line ends.
    const text = (await readFile(join(options.out, name), "utf8")).replaceAll("\r\n", "\n");
    if (text !== content) different.push(name);
  }
  return {
    missing: [...expected.keys()].filter((name) => !found.has(name)).sort(),
    different: different.sort(),
    extra: [...found].filter((name) => !expected.has(name)).sort(),
  };
}

async function filesBelow(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
}

/** @throws GenerateError `option_invalid` */
function checked(options: unknown): DocumentPaths {
  const { documents, out }: { readonly documents?: unknown; readonly out?: unknown } = Object(options);
  const given = isObject(documents) ? Object.values(documents).filter((path) => path !== undefined) : [];
  const known = isObject(documents) && Object.keys(documents).every((key) => key === "A" || key === "B");
  if (!known || given.length === 0 || !given.every((path) => typeof path === "string" && path !== "")) {
    const message = "`documents` must be { A: path, B: path }, or have one of the two.";
    throw new GenerateError("option_invalid", message);
  }
  if (typeof out === "string" && out !== "") return documents;
  throw new GenerateError("option_invalid", "`out` must be the path of the folder for the generated files.");
}

/** The document of this package, which describes what is known of the variant. */
function shippedDocument(variant: Variant): string {
  const manifest = createRequire(import.meta.url).resolve("bivariant/package.json");
  return join(dirname(manifest), "openapi", `variant-${variant.toLowerCase()}.yaml`);
}

async function render(paths: DocumentPaths): Promise<ReadonlyMap<string, string>> {
  const read = (variant: Variant) => readDocument(variant, paths[variant] ?? shippedDocument(variant));
  const [A, B] = await Promise.all([read("A"), read("B")]);
  const lists = { A: listOperations(A), B: listOperations(B) };
  // This comes first because it reports a missing package.
  const [typesA, typesB] = [await emitVariantTypes(A), await emitVariantTypes(B)];
  return new Map([
    ["emulation.ts", emitEmulation({ A, B }, lists)],
    ["lock.json", emitLock([A, B])],
    ["operations.ts", emitOperations([A, B], lists)],
    ["schemas.ts", emitSchemas({ A, B }, lists)],
    ["unknowns.ts", emitUnknowns([A, B])],
    ["variant-a.ts", typesA],
    ["variant-b.ts", typesB],
  ]);
}

/** Incremented whenever the generator writes different output for the same documents. */
const GENERATOR_VERSION = 3;

/** Besides the documents, the output depends on these versions. */
const GENERATING_PACKAGES = ["openapi-typescript", "typescript", "zod"];

function emitLock(documents: readonly Document[]): string {
  const versionOf = (name: string): string => createRequire(import.meta.url)(`${name}/package.json`).version;
  const lock = {
    note: "Generated by `bivariant generate`: do not edit. sha256 is of the text without byte order mark, lines ending in LF.",
    documents: Object.fromEntries(documents.map(({ variant, file, sha256 }) => [variant, { file, sha256 }])),
    generators: {
      bivariant: GENERATOR_VERSION,
      ...Object.fromEntries(GENERATING_PACKAGES.map((name) => [name, versionOf(name)])),
    },
  };
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}
