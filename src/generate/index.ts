/**
 * `bivariant/generate`: OpenAPI documents to generated code, and the check that the two agree.
 * @packageDocumentation
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { realPath } from "../input-file.js";
import type { Document, Variant } from "./document/document.js";
import { Findings, type Notice } from "./document/findings.js";
import { readDocuments } from "./document/overlay.js";
import { provenanceNotes } from "./document/provenance.js";
import { shippedDocument } from "./document/read-document.js";
import { entriesOf, GenerateError, isObject, requireOptions } from "./document/source-file.js";
import { emitEmulation, emitNotSampled, emulated } from "./emit/emulation.js";
import { emitOperations } from "./emit/operations.js";
import { emitSchemas } from "./emit/schemas.js";
import { emitUnknowns } from "./emit/unknowns.js";
import { typeEmitter } from "./emit/variant-types.js";
import { withOperations } from "./operations/list-operations.js";

export { type Change, type DocumentDiff, diffDocuments, type Level } from "./diff.js";
export type { Notice } from "./document/findings.js";
export {
  GenerateError,
  type GenerateErrorCode,
  type GenerateErrorDetails,
} from "./document/source-file.js";
export { diffVariants, type OperationDifference } from "./variant-diff.js";

/** The path of the document of each variant. Default of each: the document of this package. */
export type DocumentPaths = { readonly [V in Variant]?: string | undefined };

/** At least one document or one overlay is needed. */
export interface GenerateOptions {
  readonly documents?: DocumentPaths | undefined;
  /**
   * Paths of overlays (OpenAPI Overlay 1.0 or 1.1), applied in this order. An action changes the
   * document that `x-variant: A` or `x-variant: B` names, at the action or at the overlay, else the
   * one whose file name `extends` has, else each document that its target matches.
   */
  readonly overlays?: readonly string[] | undefined;
  /** Folder of the generated files; `generate` creates it. */
  readonly out: string;
  /** The folder that references to other files may reach. Default: that of the document. */
  readonly refs?: string | undefined;
  /** Whether what is only a warning is an error. Default: false. */
  readonly strict?: boolean | undefined;
  /** Receives the warnings, and notes about what was done, once the files are rendered. */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /**
   * Receives the path of each document, overlay and referenced file before it is read, even if it
   * is missing.
   */
  readonly onFile?: ((path: string) => void) | undefined;
  /** Ends the work between two of its steps, and then nothing is written. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Generates types, operation table, schemas, unknowns and lock from the OpenAPI 3.1 documents of
 * both variants. The same documents, overlays and versions always result in the same bytes. All
 * files are written or, after an error, none. Aborted, it rejects with the reason of the signal.
 *
 * @returns the names of the files written, sorted
 * @throws {GenerateError} with `code`, and with `document` and `pointer` where one place is the
 * cause
 * @example
 * await generate({
 *   documents: { A: "openapi/variant-a.yaml", B: "openapi/variant-b.yaml" },
 *   out: "generated",
 * });
 */
export async function generate(options: GenerateOptions): Promise<readonly string[]> {
  const files = await render(checked("generate", options));
  replaceFiles(options.out, files);
  return [...files.keys()].sort();
}

/**
 * Writes all files, or leaves the folder as it was. Synchronous, so that a signal which ends the
 * process is handled before or after it. @throws GenerateError `out_unwritable`
 */
function replaceFiles(folder: string, files: Files): void {
  const replaced: { readonly target: string; readonly old: string | undefined }[] = [];
  let made: string | undefined;
  let staging: string | undefined;
  try {
    // The topmost folder that did not exist.
    made = mkdirSync(folder, { recursive: true });
    // In the same folder, because a rename works only within one file system.
    staging = mkdtempSync(join(folder, ".generating-"));
    for (const [name, content] of files) writeFileSync(join(staging, name), content);
    for (const name of files.keys()) {
      const target = join(folder, name);
      const old = existsSync(target) ? join(staging, `${name}.old`) : undefined;
      if (old !== undefined) copyFileSync(target, old);
      renameSync(join(staging, name), target);
      replaced.push({ target, old });
    }
  } catch (cause) {
    for (const { target, old } of replaced) {
      if (old === undefined) rmSync(target);
      else renameSync(old, target);
    }
    const temporary = made ?? staging;
    if (temporary !== undefined) rmSync(temporary, { recursive: true });
    const { code, message } = cause as NodeJS.ErrnoException;
    const says = `${folder} cannot be written, and nothing in it was changed: ${code ?? message}`;
    throw new GenerateError("out_unwritable", says, { cause });
  }
  rmSync(staging, { recursive: true });
}

/** File names relative to the folder, sorted. Without drift all three are empty. */
export interface Drift {
  readonly missing: readonly string[];
  readonly different: readonly string[];
  /** Files that `generate` would not write. */
  readonly extra: readonly string[];
}

/**
 * Generates in memory and reports every file of `out` that is missing, differs or does not belong
 * there. Writes nothing.
 *
 * @throws {GenerateError} as `generate` does
 * @example
 * const documents = { A: "openapi/variant-a.yaml", B: "openapi/variant-b.yaml" };
 * const drift = await checkGenerated({ documents, out: "generated" });
 * if (drift.missing.length + drift.different.length + drift.extra.length > 0) process.exitCode = 1;
 */
export async function checkGenerated(options: GenerateOptions): Promise<Drift> {
  const expected = await render(checked("checkGenerated", options));
  const found = new Set(await filesBelow(options.out));
  const different: string[] = [];
  for (const [name, content] of expected) {
    if (!found.has(name)) continue;
    // A link may lead nowhere.
    const text = await readFile(join(options.out, name), "utf8").catch(() => undefined);
    // A checkout may have CRLF line ends.
    if (text?.replaceAll("\r\n", "\n") !== content) different.push(name);
  }
  return {
    missing: [...expected.keys()].filter((name) => !found.has(name)).sort(),
    different: different.sort(),
    extra: [...found].filter((name) => !expected.has(name)).sort(),
  };
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return [];
      throw new GenerateError("option_invalid", "`out` is not a folder that can be read", {
        cause,
      });
    },
  );
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
}

type Files = ReadonlyMap<string, string>;

const isPath = (value: unknown) => typeof value === "string" && value !== "";
const isFunction = (value: unknown) => typeof value === "function";
type Check = readonly [isRight: (value: unknown, all: GenerateOptions) => boolean, must: string];
const OPTIONS: { readonly [Name in keyof GenerateOptions]-?: Check } = {
  overlays: [(value) => Array.isArray(value) && value.every(isPath), "an array of paths"],
  documents: [
    (value, { overlays = [] }) => {
      const paths = entriesOf(value).filter(([, path]) => path !== undefined);
      const areKnown = Object.keys(Object(value)).every((key) => key === "A" || key === "B");
      const areAll = areKnown && isObject(value) && paths.every(([, path]) => isPath(path));
      return areAll && paths.length + overlays.length > 0;
    },
    "{ A: path, B: path }, or have one of the two. With `overlays` it may be left out",
  ],
  refs: [isPath, "the path of a folder"],
  strict: [(value) => typeof value === "boolean", "true or false"],
  onNotice: [isFunction, "a function"],
  onFile: [isFunction, "a function"],
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
  out: [isPath, "the path of the folder for the generated files"],
};

/** @throws GenerateError `option_invalid` */
function checked(of: string, options: GenerateOptions): GenerateOptions {
  const names = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, true]));
  const { documents = {}, ...others } = requireOptions(of, options, names as never);
  const given = { documents, ...others };
  for (const [name, [isRight, must]] of Object.entries(OPTIONS)) {
    const value: unknown = given[name as keyof GenerateOptions];
    if ((value === undefined && name !== "out") || isRight(value, given)) continue;
    throw new GenerateError("option_invalid", `\`${name}\` must be ${must}.`);
  }
  return given;
}

async function render(options: GenerateOptions): Promise<Files> {
  const { documents = {}, overlays = [], out, refs, strict, onNotice, signal } = options;
  const read = new Set<string>();
  const onFile = (path: string) => {
    read.add(path);
    options.onFile?.(path);
  };
  // A step may take seconds. A signal of the process that came meanwhile is handled before the
  // second turn ends.
  const step = async <T>(work: () => T): Promise<Awaited<T>> => {
    await turn();
    await turn();
    signal?.throwIfAborted();
    return await work();
  };
  const paths = { A: documents.A ?? shippedDocument("A"), B: documents.B ?? shippedDocument("B") };
  const findings = new Findings();
  // This comes first because it reports a missing package.
  const typesOf = await step(typeEmitter);
  const { A, B } = await step(() =>
    readDocuments(paths, overlays, { findings, refs, onFile, signal }),
  );
  const listed = await step(() => [withOperations(A), withOperations(B)] as const);
  findings.refuse();
  const schemas = await step(() => emitSchemas(listed, out));
  const unknowns = await step(() => emitUnknowns(listed));
  findings.refuse(strict);
  const notes = new Map(listed.flatMap((document) => [...provenanceNotes(document)]));
  const operations = await step(() => emitOperations(listed, notes));
  const typesA = await step(() => typesOf(A, notes, operations));
  const typesB = await step(() => typesOf(B, notes, operations));
  const emulation = await step(() => listed.map(emulated));
  const files = new Map([
    ["emulation.ts", await step(() => emitEmulation(listed, emulation))],
    ["lock.json", emitLock(listed)],
    ["operations.ts", operations + (await step(() => emitNotSampled(emulation)))],
    ["schemas.ts", schemas],
    ["unknowns.ts", unknowns],
    ["variant-a.ts", typesA],
    ["variant-b.ts", typesB],
    // Without overlays they would be copies of the documents.
    ...(overlays.length === 0 ? [] : [documentWithOverlays(A), documentWithOverlays(B)]),
  ]);
  // With an overlay the document would be lost, and the next run would apply the overlay twice.
  const written = [...files.keys()].map((name) => realPath(join(out, name)));
  const lost = [...read].find((path) => written.includes(realPath(path)));
  if (lost !== undefined) {
    const message = `${lost} would be overwritten: \`out\` must be another folder`;
    throw new GenerateError("option_invalid", message);
  }
  for (const notice of findings.notices) onNotice?.(notice);
  return step(() => files);
}

/** A document as the overlays leave it, for `diffDocuments` and for other tools. */
function documentWithOverlays({
  variant,
  root,
}: Document): readonly [name: string, content: string] {
  return [`variant-${variant.toLowerCase()}.json`, `${JSON.stringify(root, undefined, 2)}\n`];
}

/** Incremented whenever the generator writes different output for the same documents. */
const GENERATOR_VERSION = 7;

/** Besides the documents, the output depends on these versions. */
const GENERATING_PACKAGES = ["openapi-typescript", "typescript"];

function emitLock(documents: readonly Document[]): string {
  const versionOf = (name: string): string =>
    createRequire(import.meta.url)(`${name}/package.json`).version;
  const hashesOf = (kind: "overlays" | "files") => {
    const all = documents.flatMap(({ origins }) => [...origins[kind]]);
    // Each document has read a file of both by itself.
    const files = new Map(all.map(({ file, sha256 }) => [`${file} ${sha256}`, { file, sha256 }]));
    return files.size > 0 && { [kind]: [...files.values()] };
  };
  const lock = {
    note:
      "Generated by `bivariant generate`: do not edit. " +
      "sha256 is of the text without byte order mark, lines ending in LF.",
    documents: Object.fromEntries(
      documents.map(({ variant, file, sha256 }) => [variant, { file, sha256 }]),
    ),
    ...hashesOf("files"),
    ...hashesOf("overlays"),
    generators: {
      bivariant: GENERATOR_VERSION,
      ...Object.fromEntries(GENERATING_PACKAGES.map((name) => [name, versionOf(name)])),
    },
  };
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}
