/** `bivariant/generate`: OpenAPI documents to generated code, and the check that the two agree. */
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import { type Document, shippedDocument, type Variant } from "./document.js";
import { emitEmulation } from "./emit/emulation.js";
import { emitOperations } from "./emit/operations.js";
import { emitSchemas } from "./emit/schemas.js";
import { emitUnknowns } from "./emit/unknowns.js";
import { emitVariantTypes } from "./emit/variant-types.js";
import { listOperations } from "./operations.js";
import { readDocuments } from "./overlay.js";
import { provenanceNotes } from "./provenance.js";
import { GenerateError, isObject } from "./source-file.js";

export { type Change, type DocumentDiff, diffDocuments, LEVELS, type Level } from "./diff.js";
export { GenerateError, type GenerateErrorCode, type GenerateErrorDetails } from "./source-file.js";
export { diffVariants, type OperationDifference } from "./variant-diff.js";

/** The path of the document of each variant. Default of each: the document of this package. */
export type DocumentPaths = { readonly [V in Variant]?: string | undefined };

/** At least one document or one overlay is needed. */
export interface GenerateOptions {
  readonly documents?: DocumentPaths | undefined;
  /**
   * Paths of overlays (OpenAPI Overlay 1.0 or 1.1), applied in this order. An action changes the document that
   * `x-variant: A` or `x-variant: B` names, at the action or at the overlay, else the one whose file name `extends` has,
   * else each document that its target matches.
   */
  readonly overlays?: readonly string[] | undefined;
  /** Folder of the generated files; `generate` creates it. */
  readonly out: string;
}

/**
 * Generates types, operation table, schemas, unknowns and lock from the OpenAPI 3.1 documents of both variants. The same
 * documents, overlays and versions always result in the same bytes. All files are written or, after an error, none.
 *
 * @returns the names of the files written, sorted
 * @throws {GenerateError} with `code`, and with `document` and `pointer` where one place is the cause
 * @example
 * await generate({ documents: { A: "openapi/variant-a.yaml", B: "openapi/variant-b.yaml" }, out: "generated" });
 */
export async function generate(options: GenerateOptions): Promise<readonly string[]> {
  const files = await render(checked(options));
  await replaceFiles(options.out, files);
  return [...files.keys()].sort();
}

/** Writes all files, or leaves the folder as it was. @throws GenerateError `out_unwritable` */
async function replaceFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  // Its value is the topmost folder that did not exist.
  const made = await mkdir(folder, { recursive: true }).catch((cause) =>
    Promise.reject(unwritable(folder, cause)),
  );
  // In the same folder, because a rename works only within one file system.
  const staging = await mkdtemp(join(folder, ".generating-")).catch((cause) =>
    Promise.reject(unwritable(folder, cause)),
  );
  const replaced: { readonly target: string; readonly old: string | undefined }[] = [];
  try {
    for (const [name, content] of files) await writeFile(join(staging, name), content);
    for (const name of files.keys()) {
      const target = join(folder, name);
      const old = existsSync(target) ? join(staging, `${name}.old`) : undefined;
      if (old !== undefined) await copyFile(target, old);
      await rename(join(staging, name), target);
      replaced.push({ target, old });
    }
  } catch (cause) {
    for (const { target, old } of replaced) await (old === undefined ? rm(target) : rename(old, target));
    await rm(made ?? staging, { recursive: true });
    throw unwritable(folder, cause);
  }
  await rm(staging, { recursive: true });
}

function unwritable(folder: string, cause: unknown): GenerateError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const says = `${folder} cannot be written, and nothing in it was changed: ${code ?? message}`;
  return new GenerateError("out_unwritable", says, { cause });
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

type Sources = Pick<GenerateOptions, "documents" | "overlays">;

/** @throws GenerateError `option_invalid` */
function checked(options: unknown): Sources {
  const {
    documents = {},
    overlays = [],
    out,
  }: { readonly [Key in keyof GenerateOptions]?: unknown } = Object(options);
  const isPath = (path: unknown) => typeof path === "string" && path !== "";
  if (!Array.isArray(overlays) || !overlays.every(isPath)) {
    throw new GenerateError("option_invalid", "`overlays` must be an array of paths.");
  }
  const given = isObject(documents) ? Object.values(documents).filter((path) => path !== undefined) : [];
  const known = isObject(documents) && Object.keys(documents).every((key) => key === "A" || key === "B");
  if (!known || !given.every(isPath) || given.length + overlays.length === 0) {
    const message =
      "`documents` must be { A: path, B: path }, or have one of the two. With `overlays` it may be left out.";
    throw new GenerateError("option_invalid", message);
  }
  if (isPath(out)) return { documents, overlays };
  throw new GenerateError("option_invalid", "`out` must be the path of the folder for the generated files.");
}

async function render({ documents = {}, overlays = [] }: Sources): Promise<ReadonlyMap<string, string>> {
  const paths = { A: documents.A ?? shippedDocument("A"), B: documents.B ?? shippedDocument("B") };
  const { A, B } = await readDocuments(paths, overlays);
  const lists = { A: listOperations(A), B: listOperations(B) };
  const notes = { A: provenanceNotes(A), B: provenanceNotes(B) };
  // This comes first because it reports a missing package.
  const [typesA, typesB] = [await emitVariantTypes(A, notes.A), await emitVariantTypes(B, notes.B)];
  return new Map([
    ["emulation.ts", emitEmulation({ A, B }, lists)],
    ["lock.json", emitLock([A, B])],
    ["operations.ts", emitOperations({ A, B }, lists, notes)],
    ["schemas.ts", emitSchemas({ A, B }, lists)],
    ["unknowns.ts", emitUnknowns([A, B])],
    ["variant-a.ts", typesA],
    ["variant-b.ts", typesB],
    // Without overlays they would be copies of the documents.
    ...(overlays.length === 0 ? [] : [documentWithOverlays(A), documentWithOverlays(B)]),
  ]);
}

/** A document as the overlays leave it, for `diffDocuments` and for other tools. */
function documentWithOverlays({ variant, root }: Document): readonly [name: string, content: string] {
  return [`variant-${variant.toLowerCase()}.json`, `${JSON.stringify(root, undefined, 2)}\n`];
}

/** Incremented whenever the generator writes different output for the same documents. */
const GENERATOR_VERSION = 6;

/** Besides the documents, the output depends on these versions. */
const GENERATING_PACKAGES = ["openapi-typescript", "typescript", "zod"];

function emitLock(documents: readonly Document[]): string {
  const versionOf = (name: string): string => createRequire(import.meta.url)(`${name}/package.json`).version;
  const overlays = new Set(documents.flatMap(({ origins }) => [...origins.overlays]));
  const lock = {
    note: "Generated by `bivariant generate`: do not edit. sha256 is of the text without byte order mark, lines ending in LF.",
    documents: Object.fromEntries(documents.map(({ variant, file, sha256 }) => [variant, { file, sha256 }])),
    ...(overlays.size > 0 && { overlays: [...overlays].map(({ file, sha256 }) => ({ file, sha256 })) }),
    generators: {
      bivariant: GENERATOR_VERSION,
      ...Object.fromEntries(GENERATING_PACKAGES.map((name) => [name, versionOf(name)])),
    },
  };
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}
