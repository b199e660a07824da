/** Compares two states of the documents: Redocly finds the changes, and each gets a level here. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { BundleOptions } from "./document/bundle.js";
import {
  atPointer,
  type Document,
  follow,
  METHODS,
  VARIANTS,
  type Variant,
} from "./document/document.js";
import { pathOfVariant, readDocument } from "./document/read-document.js";
import {
  GenerateError,
  isObject,
  keysOf,
  pointerTo,
  requireOptions,
} from "./document/source-file.js";
import { collectUnknowns } from "./emit/unknowns.js";
import { listOperations } from "./operations/list-operations.js";

/**
 * Code that uses the old document fails with the new one, can do more, or notices nothing. Worst
 * first.
 */
export const LEVELS = ["breaking", "additive", "neutral"] as const;

/** How a change affects those who generated code from the old documents. */
export type Level = (typeof LEVELS)[number];

/** One change between two documents. */
export interface Change {
  readonly level: Level;
  /** Absent when the documents are of neither variant. */
  readonly variant?: Variant | undefined;
  /** Method and path. When operations share a schema, Redocly names only the first. */
  readonly operation?: string | undefined;
  /** The part of the operation or of the document, such as `response 200 [].name`. */
  readonly part: string;
  readonly message: string;
  /** Of the new document, or of the old one for what was removed: it, or what it refers to. */
  readonly file: string;
  /** Counts from 1. */
  readonly line?: number | undefined;
  /** The rules of Redocly that it breaks. */
  readonly rules: readonly string[];
  /** Why the level is not that of Redocly, which calls them major, minor and patch. */
  readonly corrected?: string | undefined;
}

/** The changes that {@link diffDocuments} found. */
export interface DocumentDiff {
  /** The worst level; absent without changes. */
  readonly level?: Level | undefined;
  readonly summary: Readonly<Record<Level, number>>;
  /** Worst first. */
  readonly changes: readonly Change[];
}

/**
 * Compares two documents, or two folders with `variant-a` and `variant-b` (`.yaml`, `.yml` or
 * `.json`). It needs the package `@redocly/cli`, which runs as a child process, offline; `signal`
 * ends it. References may reach files in the folder of each document, or in `refs`.
 *
 * @throws {GenerateError} `peer_missing` without that package, `diff_failed` when it fails,
 *   `document_swapped` for documents of different variants, and as `generate` does
 * @example
 * const { level, changes } = await diffDocuments("main/openapi", "openapi");
 * if (level === "breaking") process.exitCode = 1;
 */
export async function diffDocuments(
  old: string,
  revised: string,
  options: { readonly signal?: AbortSignal | undefined; readonly refs?: string | undefined } = {},
): Promise<DocumentDiff> {
  const reading = requireOptions("diffDocuments", options, { signal: true, refs: true });
  const redocly = findRedocly();
  const [before, after] = [await filesAt(old), await filesAt(revised)];
  if (before.has(undefined) !== after.has(undefined)) {
    const message =
      "One of the two is a document and the other a folder. Pass two documents or two folders.";
    throw new GenerateError("option_invalid", message);
  }
  const changes: Change[] = [];
  for (const variant of [undefined, ...VARIANTS]) {
    const [base, revision] = [before.get(variant), after.get(variant)];
    if (base !== undefined && revision !== undefined) {
      changes.push(...(await changesBetween(variant, base, revision, redocly, reading)));
    } else if (base !== undefined || revision !== undefined) {
      const isNew = base === undefined;
      const message = `The document was ${isNew ? "added" : "removed"}.`;
      const level = isNew ? "additive" : "breaking";
      const file = base ?? revision ?? "";
      changes.push({ level, variant, part: "document", message, file, rules: [] });
    }
  }
  changes.sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  const count = (level: Level) => changes.filter((change) => change.level === level).length;
  const summary = {
    breaking: count("breaking"),
    additive: count("additive"),
    neutral: count("neutral"),
  };
  return { level: changes[0]?.level, summary, changes };
}

const NAME = /^variant-([ab])\.(?:ya?ml|json)$/i;

/** A document has the key undefined; in a folder the name of the file tells the variant. */
async function filesAt(path: string): Promise<ReadonlyMap<Variant | undefined, string>> {
  const unreadable = (message: string, cause?: unknown) =>
    new GenerateError("document_unreadable", message, { document: path, cause });
  const found = await stat(path).catch((cause: unknown) => {
    throw unreadable("there is no such file or folder", cause);
  });
  if (!found.isDirectory()) return new Map([[undefined, path]]);
  const names = (await readdir(path)).sort();
  const documents = VARIANTS.flatMap((variant) => {
    const name = names.find((one) => NAME.exec(one)?.[1]?.toUpperCase() === variant);
    return name === undefined ? [] : [[variant, join(path, name)] as const];
  });
  if (documents.length > 0) return new Map(documents);
  throw unreadable(
    "the folder has neither variant-a nor variant-b with the ending .yaml, .yml or .json",
  );
}

async function changesBetween(
  variant: Variant | undefined,
  from: string,
  to: string,
  redocly: string,
  reading: BundleOptions,
): Promise<Change[]> {
  const read = async (path: string) => {
    try {
      const document = await readDocument(variant, path, reading);
      // The old document may hold a mistake that the new one mends.
      if (path === to) listOperations(document);
      document.findings.refuse();
      return document;
    } catch (cause) {
      if (!(cause instanceof GenerateError)) throw cause;
      // Both documents may have the same name, so the error must show the folder too.
      throw new GenerateError(cause.code, cause.message, { document: path, cause });
    }
  };
  const [old, revised] = [await read(from), await read(to)];
  const known = [old, revised].filter((one) => pathOfVariant(one.variant, one.root) !== undefined);
  if (known.length === 2 && old.variant !== revised.variant) {
    const message =
      `${from} is a document of Variant ${old.variant}, ${to} one of Variant ` +
      `${revised.variant}. Pass two states of one variant, or compare the variants: ` +
      "diffVariants, or bivariant diff --variants.";
    throw new GenerateError("document_swapped", message);
  }
  const { files, changes } = await compare(redocly, old, revised, reading.signal);
  const found = changes.map((change): Change => {
    const document = change.kind === "removed" ? old : revised;
    const at = change.verdicts[0]?.location ?? change.revision ?? change.base;
    const signature = signatureOf(change, document);
    const side = at?.file === files.base ? ([old, from] as const) : ([revised, to] as const);
    const [corrected, , reason] = CORRECTIONS.find(([, when]) => when.test(signature)) ?? [];
    return {
      level: corrected ?? LEVEL_OF[change.impact],
      ...partAt(change.path, document),
      message: bounded(messageOf(change)),
      ...placeAt(...side, at?.pointer.slice(1) ?? ""),
      rules: change.verdicts.map(({ ruleId }) => ruleId),
      corrected: reason,
    };
  });
  const marks = [
    ...marksOnlyIn(old, revised, { level: "additive", verb: "Answered", file: from }),
    ...marksOnlyIn(revised, old, { level: "neutral", verb: "Marked as not shown", file: to }),
  ];
  const isMark = ({ part, message }: Change) => /x-not-shown/.test(`${part} ${message}`);
  const all = [...found.filter((change) => marks.length === 0 || !isMark(change)), ...marks];
  return all.map((change) => ({ ...change, variant: variant ?? known[0]?.variant }));
}

/** Redocly would request the address of a `$ref` in an example too, so that it becomes text. */
async function compare(redocly: string, old: Document, revised: Document, signal?: AbortSignal) {
  const folder = await mkdtemp(join(tmpdir(), "bivariant-compared-"));
  const write = async (name: string, { root }: Document) => {
    const path = join(folder, name);
    const text = JSON.stringify(root, (_, value) =>
      typeof value?.$ref === "string" && !value.$ref.startsWith("#")
        ? JSON.stringify(value)
        : value,
    );
    await writeFile(path, text);
    return path;
  };
  try {
    const [base, revision] = [await write("old.json", old), await write("new.json", revised)];
    return await runRedocly(redocly, base, revision, signal);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Where a value is: in the document, whose path is given, or in a file that it refers to. */
function placeAt(document: Document, path: string, pointer: string) {
  const { action, inText } = document.origins.trace(document.root, pointer);
  const { positionOf } = action?.overlay ?? document;
  return {
    file: action === undefined ? path : join(dirname(path), action.overlay.file),
    line: Number.parseInt(positionOf(inText) ?? "", 10),
  };
}

/** The `x-not-shown` marks whose id the other document does not have. */
function marksOnlyIn(
  document: Document,
  other: Document,
  {
    verb,
    file,
    ...change
  }: { readonly level: Level; readonly verb: string; readonly file: string },
): Change[] {
  const known = collectUnknowns([other]);
  const marks = [...collectUnknowns([document]).values()].filter(({ id }) => !known.has(id));
  return marks.map(({ id, says, pointers }) => {
    const place = placeAt(document, file, pointers[document.variant]?.[0] ?? "");
    const message = bounded(`${verb}: ${id}. ${says}`);
    return { ...change, part: "x-not-shown", message, ...place, rules: [] };
  });
}

interface Location {
  readonly file: string;
  readonly pointer: string;
  readonly value?: unknown;
}

interface Report {
  readonly files: { readonly base: string };
  readonly changes: readonly Reported[];
}

/** One change in the report of Redocly. */
interface Reported {
  readonly path: string;
  readonly typeName: string;
  readonly kind: "added" | "removed" | "modified";
  readonly impact: keyof typeof LEVEL_OF;
  readonly property?: string;
  readonly verdicts: readonly {
    readonly ruleId: string;
    readonly message: string;
    readonly location: Location;
  }[];
  readonly base?: Location;
  readonly revision?: Location;
}

const LEVEL_OF = { major: "breaking", minor: "additive", patch: "neutral" } as const;

/**
 * A change as one line for the table below, such as `patch modified Parameter name=id #/paths/...`.
 */
function signatureOf(
  { impact, kind, typeName, property, path, revision }: Reported,
  document: Document,
): string {
  const { value: body } = follow(
    document,
    typeName === "RequestBody" ? revision?.value : undefined,
  );
  const required = `required=${isObject(body) && body.required === true}`;
  const set = property === undefined ? required : `${property}=${revision?.value}`;
  return [bounded(`${impact} ${kind} ${typeName} ${set}`), path].join(" ");
}

/** Of a request, because Redocly calls the removal from a response major. */
const FIELD_REMOVED = /^patch removed Schema\w* \S+ #\/paths\/.*\/properties(?:\/[^/]+)?$/;
/** These keywords promise nothing about values, so the impact by Redocly is right. */
const ANNOTATED =
  /^patch \w+ Schema\w* (?:x-|[$]comment|title|description|example|default|deprecated|readOnly|writeOnly|discriminator|externalDocs|xml)/;
const RELAXED =
  /^patch \w+ (?:Parameter required|RequestBody required|SecurityRequirement|Schema).* #\/paths\//;

/**
 * Where the impact by Redocly is wrong for a program that calls by `operationId` with generated
 * types.
 */
const CORRECTIONS: readonly (readonly [Level | undefined, when: RegExp, reason?: string])[] = [
  ["neutral", /^\w+ \w+ Server/, "The client is given the base URL and reads no `servers`."],
  [
    "neutral",
    /^\w+ \w+ (?:Tag|ExternalDocs|Example|Xml)/,
    "Tags, links and examples are not part of a call.",
  ],
  ["breaking", /^minor added RequestBody required=true/, "A call without the new body is refused."],
  ["breaking", /^patch modified Parameter name=/, "Callers pass a path parameter by its name."],
  [
    "breaking",
    /^minor added Response .*\/2\w\w$/,
    "Callers expect the data of the statuses known before.",
  ],
  [
    "breaking",
    /^patch removed Schema .*\/responses(?:\/[^/]+){3,5}\/schema$/,
    "The type of the body is unknown now.",
  ],
  ["breaking", /^patch \w+ Operation x-plugin-enabled=false/, "No plugin token is accepted."],
  [
    "breaking",
    FIELD_REMOVED,
    "Code that sends the field does not compile, and the service may ignore it.",
  ],
  [undefined, ANNOTATED],
  ["additive", RELAXED, "More is accepted, or more is promised."],
];

/** The operation, and the rest of the pointer as words. */
function partAt(path: string, document: Document): Pick<Change, "operation" | "part"> {
  const [top, route, method = "", ...rest] = keysOf(path);
  if (top !== "paths" || route === undefined) return { part: bounded(path.slice(2)) };
  if (!METHODS.some((one) => one.toLowerCase() === method)) {
    return { operation: bounded(route), part: bounded([method, ...rest].join(" ")) };
  }
  const pointer = pointerTo("#/paths", route, method);
  const part = path
    .slice(pointer.length)
    .replace(/^\/parameters\/\d+/, (parameter) => {
      const place = pointer.slice(1) + parameter;
      const { value } = follow(document, atPointer(document.root, place), place);
      return isObject(value) ? `${value.in} parameter ${value.name}` : parameter;
    })
    .replace(/^\/requestBody/, "request")
    .replace(/\/content\/[^/]+\/schema|\/schema/, " ")
    .replace(/\/properties\/([^/]+)/g, ".$1")
    .replace(/\/items/g, "[]")
    .replace(/^\/responses\/| \.|\//g, (found) => (found.length > 2 ? "response " : " "));
  const words = part.replaceAll("~1", "/").replaceAll("~0", "~");
  return { operation: bounded(`${method.toUpperCase()} ${route}`), part: bounded(words) };
}

function messageOf({ verdicts, kind, typeName, property, base, revision }: Reported): string {
  if (verdicts.length > 0) return verdicts.map(({ message }) => message).join(" ");
  if (property === undefined) return `${typeName} was ${kind}.`;
  const [from, to] = [base?.value, revision?.value].map((value) =>
    JSON.stringify(value)?.slice(0, 60),
  );
  if (to === undefined) return `\`${property}\` was removed.`;
  return from === undefined
    ? `\`${property}\` was set to ${to}.`
    : `\`${property}\` changed from ${from} to ${to}.`;
}

/**
 * One line of text for a terminal or a table, from a document that another person may have written.
 */
function bounded(text: string): string {
  const line = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}

const INSTALL = "npm install --save-dev --save-exact @redocly/cli@2.77.0";
const TIME_LIMIT_MS = 300_000;
const MOST_BYTES = 512 * 1024 * 1024;

/** The program of the optional peer dependency. */
export function findRedocly(
  find: (name: string) => string = createRequire(import.meta.url).resolve,
): string {
  try {
    const manifest = find("@redocly/cli/package.json");
    return join(dirname(manifest), createRequire(manifest)(manifest).bin.redocly);
  } catch (cause) {
    const message = `comparing needs the package @redocly/cli. Install it: ${INSTALL}`;
    throw new GenerateError("peer_missing", message, { cause });
  }
}

/**
 * Without these variables it asks the network for updates and reports how it is used. It gets no
 * others.
 */
const OFFLINE = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

export function runRedocly(
  program: string,
  base: string,
  revision: string,
  signal?: AbortSignal,
): Promise<Report> {
  const args = [program, "diff", base, revision, "--format", "json", "--fail-on", "none"];
  // In this folder no `redocly.yaml` of the user changes the result.
  const options = {
    cwd: dirname(program),
    env: OFFLINE,
    maxBuffer: MOST_BYTES,
    timeout: TIME_LIMIT_MS,
    signal,
  };
  return new Promise((fulfil, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (signal?.aborted) return reject(signal.reason);
      try {
        const report = JSON.parse(stdout);
        if (report.reportVersion === "1") return fulfil(report);
      } catch {}
      const said = stderr.split("\n").filter((line) => /\w/.test(line) && !/^\s*║/.test(line));
      const reason = error?.killed
        ? "it was stopped"
        : bounded(said.join(" ")) || "it printed no report";
      const message =
        `redocly diff failed: ${reason}. ` +
        `If it works elsewhere, install the version that is known: ${INSTALL}`;
      reject(new GenerateError("diff_failed", message));
    });
  });
}
