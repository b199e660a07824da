/** Reads a YAML or JSON file within limits, and finds lines and columns by JSON pointer (RFC 6901). */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import {
  Composer,
  isCollection,
  isMap,
  isNode,
  Lexer,
  LineCounter,
  type Document as Node,
  Parser,
} from "yaml";

export type GenerateErrorCode =
  | "option_invalid"
  | "document_unreadable"
  | "document_not_yaml"
  | "document_too_large"
  | "document_version_unsupported"
  | "document_invalid"
  | "document_swapped"
  | "overlay_invalid"
  | "overlay_unmatched"
  | "overlay_conflict"
  | "reference_missing"
  | "reference_external"
  | "reference_circular"
  | "operation_id_missing"
  | "operation_id_duplicate"
  | "status_invalid"
  | "scope_invalid"
  | "style_invalid"
  | "example_invalid"
  | "schema_unsupported"
  | "not_shown_invalid"
  | "out_unwritable"
  | "peer_missing"
  | "peer_unsuitable"
  | "diff_failed";

export interface GenerateErrorDetails {
  /** File name of the document or of the overlay. */
  readonly document?: string | undefined;
  /** JSON pointer (RFC 6901) into the file. */
  readonly pointer?: string | undefined;
  /** Line and column, from 1: "12:5". */
  readonly position?: string | undefined;
  readonly cause?: unknown;
}

/** The error that this entry throws. Its message starts with the place: file, line, column and JSON pointer. */
export class GenerateError extends Error {
  override readonly name = "GenerateError";
  readonly code: GenerateErrorCode;
  readonly document: string | undefined;
  readonly pointer: string | undefined;

  constructor(code: GenerateErrorCode, message: string, { cause, ...place }: GenerateErrorDetails = {}) {
    const file = [place.document, place.position].filter(Boolean).join(":");
    const at = [file, place.pointer].filter(Boolean).join("#");
    super(at === "" ? message : `${at}: ${message}`, cause === undefined ? {} : { cause });
    this.code = code;
    this.document = place.document;
    this.pointer = place.pointer;
  }
}

export type JsonObject = { readonly [key: string]: unknown };

export interface SourceFile {
  /** File name without folders, so that the output is the same wherever it is generated. */
  readonly file: string;
  /** Hash of the text without byte order mark and with LF line ends. */
  readonly sha256: string;
  readonly text: string;
  readonly root: JsonObject;
  /** Line and column of a pointer, or of the deepest place above it that the text has: of the value, or of its key. */
  readonly positionOf: (pointer: string, part?: "key") => string | undefined;
}

/** More than any document of people needs, and far less than the stack of the parsers and emitters can hold. */
export const MOST_LEVELS = 200;
/** The largest public documents have a quarter of a million. */
export const MOST_VALUES = 2_000_000;
export const TOO_DEEP: string = `more than ${MOST_LEVELS} levels are nested`;
export const TOO_MANY: string = `it holds too many values, ${MOST_VALUES} at most, those of each alias included`;

/** @throws GenerateError `document_unreadable`, `document_not_yaml`, `document_too_large`, `reference_circular` */
export async function readSourceFile(path: string): Promise<SourceFile> {
  const read = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new GenerateError("document_unreadable", "the file cannot be read", { document: path, cause });
  });
  // A checkout on Windows must have the same hash.
  const text = read.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const file = basename(path);
  const lineCounter = new LineCounter();
  let yaml: Node | undefined;
  const positionAt = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return `${line}:${col}`;
  };
  const failure = (code: GenerateErrorCode, message: string, position?: string, cause?: unknown) =>
    new GenerateError(code, message, { document: file, position, cause });
  const parse = (): Node => {
    yaml ??= parseYaml(text, lineCounter, (offset) =>
      failure("document_too_large", TOO_DEEP, positionAt(offset)),
    );
    return yaml;
  };
  const toValue = (): unknown => {
    let offset: number | undefined;
    try {
      const parsed = parse();
      // The parser only warns about an unknown tag and ignores it, so the value would be wrong.
      const [problem] = [...parsed.errors, ...parsed.warnings];
      offset = problem?.pos[0];
      if (problem !== undefined) throw problem;
      return parsed.toJS();
    } catch (cause) {
      if (cause instanceof GenerateError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (/^Excessive alias count/.test(reason)) throw failure("document_too_large", TOO_MANY);
      const position = offset === undefined ? undefined : positionAt(offset);
      throw failure("document_not_yaml", `the file is not a YAML document: ${reason}`, position, cause);
    }
  };
  const positionOf = (pointer: string, part?: "key") => {
    let found: unknown = parse().contents;
    let key: unknown;
    for (const name of keysOf(pointer)) {
      // A status is a number in YAML unless it is quoted.
      const child = isCollection(found)
        ? (found.get(name, true) ?? found.get(Number(name), true))
        : undefined;
      if (!isNode(child)) break;
      key = isMap(found) ? found.items.find(({ value }) => value === child)?.key : undefined;
      found = child;
    }
    const node = part === "key" && isNode(key) ? key : found;
    return isNode(node) && node.range ? positionAt(node.range[0]) : undefined;
  };
  const json = parseJson(text);
  const isJson = json !== undefined && measure(json, failure).keys === keysIn(text);
  const value = isJson ? json : toValue();
  // An alias and its anchor must be two values, so that an overlay can change one of them.
  const isShared = !isJson && measure(value, failure).isShared;
  const root: unknown = isShared ? JSON.parse(JSON.stringify(value)) : value;
  if (!isObject(root)) {
    throw failure("document_not_yaml", "the file is not a YAML document: the top level must be a mapping");
  }
  return { file, sha256: createHash("sha256").update(text).digest("hex"), text, root, positionOf };
}

/** Large documents are JSON, which this parses thirty times faster than the YAML parser does. */
function parseJson(text: string): unknown {
  try {
    return text.startsWith("{") ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The keys in a JSON text. `JSON.parse` drops a key that is given twice, and then the value has fewer. */
function keysIn(text: string): number {
  let keys = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) keys += 1;
  return keys;
}

/** Parses like `parseDocument` of yaml, whose recursion could otherwise overflow the stack and end the process. */
function parseYaml(text: string, lineCounter: LineCounter, tooDeep: (offset: number) => Error): Node {
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  const tokens = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    // The stack holds the nested collections, the document and a scalar.
    if (parser.stack.length > MOST_LEVELS + 2) throw tooDeep(parser.offset);
  }
  const [first, second] = new Composer().compose([...tokens, ...parser.end()], true, text.length);
  if (first === undefined) throw new TypeError("it is empty");
  if (second !== undefined) throw new TypeError("it holds several documents");
  return first;
}

interface Size {
  readonly levels: number;
  readonly values: number;
}

const LEAF: Size = { levels: 0, values: 1 };

/**
 * Counts each value as often as it is referred to, but visits it once: with aliases a small text can expand
 * to any size.
 *
 * @throws GenerateError `document_too_large`, `reference_circular`
 */
function measure(root: unknown, failure: (code: GenerateErrorCode, message: string) => Error) {
  const known = new Map<object, Size | undefined>();
  let keys = 0;
  let isShared = false;
  const visit = (value: unknown, level: number): Size => {
    if (typeof value !== "object" || value === null) return LEAF;
    let size = known.get(value);
    if (known.has(value)) {
      if (size === undefined) {
        throw failure("reference_circular", "a YAML alias refers to a node that contains it");
      }
      isShared = true;
    } else {
      if (level > MOST_LEVELS) throw failure("document_too_large", TOO_DEEP);
      known.set(value, undefined);
      const children = Object.values(value);
      if (!Array.isArray(value)) keys += children.length;
      let levels = 0;
      let values = 1;
      for (const child of children) {
        const below = visit(child, level + 1);
        levels = Math.max(levels, below.levels);
        values += below.values;
      }
      size = { levels: levels + 1, values };
      known.set(value, size);
    }
    if (level + size.levels > MOST_LEVELS) throw failure("document_too_large", TOO_DEEP);
    if (size.values > MOST_VALUES) throw failure("document_too_large", TOO_MANY);
    return size;
  };
  visit(root, 0);
  return { keys, isShared };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function pointerTo(base: string, ...keys: readonly (string | number)[]): string {
  const encode = (key: string | number) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
  return [base, ...keys.map(encode)].join("/");
}

export function keysOf(pointer: string): string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}
