/**
 * Reads a YAML or JSON file within limits, and finds lines and columns by JSON pointer (RFC 6901).
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { basename } from "node:path";
import {
  Composer,
  isCollection,
  isMap,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  type Document as Node,
  Parser,
  visit as visitNodes,
  YAMLParseError,
} from "yaml";
import { openInput, readAtMost } from "../../input-file.js";
import { isObject, type JsonObject, keysOf } from "../../json-schema/json.js";
import { type NamesOf, unknownName } from "../../option-names.js";
import { type JsonPositions, jsonPosition } from "./json-position.js";

export {
  entriesOf,
  isObject,
  type JsonObject,
  keysOf,
  listOf,
  objectOf,
  pointerTo,
} from "../../json-schema/json.js";

/** The codes of a {@link GenerateError}. */
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
  | "operation_id_duplicate"
  | "status_invalid"
  | "scope_invalid"
  | "part_ignored"
  | "style_invalid"
  | "example_invalid"
  | "schema_unsupported"
  | "not_shown_invalid"
  | "out_unwritable"
  | "peer_missing"
  | "peer_unsuitable"
  | "diff_failed";

/** Where a {@link GenerateError} was found. */
export interface GenerateErrorDetails {
  /** File name of the document or of the overlay. */
  readonly document?: string | undefined;
  /** JSON pointer (RFC 6901) into the file. */
  readonly pointer?: string | undefined;
  /** Line and column, from 1: "12:5". */
  readonly position?: string | undefined;
  readonly cause?: unknown;
}

/** An error has the messages of so many mistakes; `errors` has all. */
const MOST_MESSAGES = 100;

/**
 * The error that this entry throws. Its message starts with the place: file, line, column and JSON
 * pointer. An error of several mistakes has the code and the place of the first, and the messages
 * of all.
 */
export class GenerateError extends Error {
  override readonly name = "GenerateError";
  readonly code: GenerateErrorCode;
  readonly document: string | undefined;
  readonly pointer: string | undefined;
  readonly #errors: readonly GenerateError[] | undefined;

  constructor(
    code: GenerateErrorCode,
    message: string,
    { cause, ...place }: GenerateErrorDetails = {},
    errors?: readonly GenerateError[],
  ) {
    const file = [place.document, place.position].filter(Boolean).join(":");
    const at = errors ? "" : [file, place.pointer].filter(Boolean).join("#");
    super(at === "" ? message : `${at}: ${message}`, cause === undefined ? {} : { cause });
    this.code = code;
    this.document = place.document;
    this.pointer = place.pointer;
    this.#errors = errors;
  }

  /** One error of several mistakes, and a single one itself. */
  static ofAll(errors: readonly GenerateError[]): GenerateError {
    const [first, second] = errors;
    if (first !== undefined && second === undefined) return first;
    const messages = errors.slice(0, MOST_MESSAGES).map(({ message }) => message);
    const more = errors.length > MOST_MESSAGES ? [`and ${errors.length - MOST_MESSAGES} more`] : [];
    const { code = "document_invalid", document, pointer } = first ?? {};
    return new GenerateError(
      code,
      [...messages, ...more].join("\n"),
      { document, pointer },
      errors,
    );
  }

  /** All mistakes that were found; of a single one the error itself. */
  get errors(): readonly GenerateError[] {
    return this.#errors ?? [this];
  }
}

/**
 * Checks the names of an options argument. What is not an object has none.
 * @throws GenerateError `option_invalid`
 */
export function requireOptions<T extends object>(of: string, options: T, names: NamesOf<T>): T {
  const given: T = Object(options);
  const unknown = unknownName(of, given, names);
  if (unknown === undefined) return given;
  throw new GenerateError("option_invalid", unknown.message);
}

export interface SourceFile {
  /** File name without folders, so that the output is the same wherever it is generated. */
  readonly file: string;
  /** Hash of the text without byte order mark and with LF line ends. */
  readonly sha256: string;
  readonly text: string;
  readonly root: JsonObject;
  /**
   * Line and column of a pointer, or of the deepest place above it that the text has: of the value,
   * or of its key.
   */
  readonly positionOf: (pointer: string, part?: "key") => string | undefined;
}

/**
 * More than any document of people needs, and far less than the stack of the parsers and emitters
 * can hold.
 */
export const MOST_LEVELS = 200;
/** The largest public documents have a quarter of a million. */
export const MOST_VALUES = 2_000_000;
/**
 * The largest public documents have 40 million. JSON writes six for one, and V8 has no string of
 * 600 million.
 */
export const MOST_CHARACTERS = 64_000_000;
/**
 * Patterns overflow the stack over longer ones: those in a document, and those of the packages that
 * read it.
 */
const LONGEST_STRING = 1_000_000;
/** Six tokens for each value are usual. The parser keeps all of them, 120 bytes each. */
const MOST_TOKENS: number = 6 * MOST_VALUES;
export const TOO_DEEP: string = `more than ${MOST_LEVELS} levels are nested`;
export const TOO_MANY: string = `it holds too many values, ${MOST_VALUES} at most, those of each alias included`;
export const TOO_MUCH_TEXT: string = `it holds more than ${MOST_CHARACTERS} characters, those of each alias included`;
const TOO_LONG = `a string has more than ${LONGEST_STRING} characters`;
const TOO_MANY_TOKENS = `it has more than ${MOST_TOKENS} YAML tokens; JSON needs less memory: convert it`;

/**
 * @throws GenerateError `document_unreadable`, `document_not_yaml`, `document_too_large`,
 * `reference_circular`
 */
export async function readSourceFile(path: string, signal?: AbortSignal): Promise<SourceFile> {
  const bytes = await readAtMost(openInput(path, signal), MOST_CHARACTERS).catch(
    (cause: unknown) => {
      signal?.throwIfAborted();
      throw new GenerateError("document_unreadable", "the file cannot be read", {
        document: path,
        cause,
      });
    },
  );
  const file = basename(path);
  const failure = (code: GenerateErrorCode, message: string, position?: string, cause?: unknown) =>
    new GenerateError(code, message, { document: file, position, cause });
  if (bytes === undefined)
    throw failure("document_too_large", `the file has more than ${MOST_CHARACTERS} bytes`);
  // Other bytes would become replacement characters.
  if (!isUtf8(bytes)) throw failure("document_not_yaml", "the file is not UTF-8; save it as UTF-8");
  // A checkout on Windows must have the same hash.
  const text = bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n");
  const lineCounter = new LineCounter();
  let yaml: Node | undefined;
  const positionAt = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return `${line}:${col}`;
  };
  const toValue = (): unknown => {
    const notYaml = (cause: unknown, position?: string) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (/^Excessive alias count/.test(reason)) return failure("document_too_large", TOO_MANY);
      return failure(
        "document_not_yaml",
        `the file is not a YAML document: ${reason}`,
        position,
        cause,
      );
    };
    try {
      yaml = parseYaml(text, lineCounter, (message, offset) =>
        failure("document_too_large", message, positionAt(offset)),
      );
      // The parser only warns about an unknown tag and ignores it, so the value would be wrong.
      const found = [...yaml.errors, ...yaml.warnings];
      if (found.length === 0) return yaml.toJS();
      const problems = found.map((problem) => notYaml(problem, positionAt(problem.pos[0])));
      throw GenerateError.ofAll(problems);
    } catch (cause) {
      throw cause instanceof GenerateError ? cause : notYaml(cause);
    }
  };
  const positionOf = (pointer: string, part?: "key") => {
    if (isJson) return jsonPosition(text, positions, keysOf(pointer), part);
    let found: unknown = yaml?.contents;
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
  const positions: JsonPositions = new Map();
  const json = parseJson(text);
  const isJson = json !== undefined && measure(json, failure).keys === keysIn(text);
  const value = isJson ? json : toValue();
  // An alias and its anchor must be two values, so that an overlay can change one of them.
  const isShared = !isJson && measure(value, failure).isShared;
  const root: unknown = isShared ? JSON.parse(JSON.stringify(value)) : value;
  if (!isObject(root)) {
    throw failure(
      "document_not_yaml",
      "the file is not a YAML document: the top level must be a mapping",
    );
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

/**
 * The keys in a JSON text, by the colons outside strings. `JSON.parse` drops a key that is given
 * twice, and then the value has fewer. A pattern would need stack for each character of a string.
 */
function keysIn(text: string): number {
  let keys = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') isInString = !isInString;
    else if (character === ":" && !isInString) keys += 1;
    else if (character === "\\") at += 1;
  }
  return keys;
}

/**
 * Parses like `parseDocument` of yaml, whose recursion could otherwise overflow the stack and end
 * the process.
 */
function parseYaml(
  text: string,
  lineCounter: LineCounter,
  tooLarge: (message: string, offset: number) => Error,
): Node {
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  const documents = [];
  let tokens = 0;
  for (const token of new Lexer().lex(text)) {
    for (const document of parser.next(token)) documents.push(document);
    tokens += 1;
    if (tokens > MOST_TOKENS) throw tooLarge(TOO_MANY_TOKENS, parser.offset);
    // The stack holds the nested collections, the document and a scalar.
    if (parser.stack.length > MOST_LEVELS + 2) throw tooLarge(TOO_DEEP, parser.offset);
  }
  // Its own check for equal keys compares each with all before it. Merge keys (<<) are of YAML 1.1,
  // but in wide use.
  const composer = new Composer({ uniqueKeys: false, merge: true });
  const [first, second] = composer.compose([...documents, ...parser.end()], true, text.length);
  if (first === undefined) throw new TypeError("it is empty");
  if (second !== undefined) throw new TypeError("it holds several documents");
  refuseEqualKeys(first);
  return first;
}

function refuseEqualKeys(document: Node): void {
  visitNodes(document, {
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        const [from = 0, to = from] = (isNode(key) && key.range) || [];
        if (known.has(name))
          document.errors.push(
            new YAMLParseError([from, to], "DUPLICATE_KEY", "Map keys must be unique"),
          );
        if (isCollection(key))
          document.errors.push(
            new YAMLParseError([from, to], "IMPOSSIBLE", "Map keys must be text"),
          );
        known.add(name);
      }
    },
  });
}

interface Size {
  levels: number;
  values: number;
  characters: number;
}

/**
 * Counts each value as often as it is referred to, but visits it once: with aliases a small text
 * can expand to any size.
 *
 * @throws GenerateError `document_too_large`, `reference_circular`
 */
function measure(root: unknown, failure: (code: GenerateErrorCode, message: string) => Error) {
  const tooLarge = (message: string) => failure("document_too_large", message);
  const known = new Map<object, Size | undefined>();
  let keys = 0;
  let isShared = false;
  const textSize = (text: unknown): number => {
    const { length } = typeof text === "string" ? text : "";
    if (length > LONGEST_STRING) throw tooLarge(TOO_LONG);
    return length;
  };
  const visit = (value: unknown, level: number): Size => {
    if (typeof value !== "object" || value === null) {
      return { levels: 0, values: 1, characters: textSize(value) };
    }
    let size = known.get(value);
    if (known.has(value)) {
      if (size === undefined) {
        throw failure("reference_circular", "a YAML alias refers to a node that contains it");
      }
      isShared = true;
    } else {
      if (level > MOST_LEVELS) throw tooLarge(TOO_DEEP);
      // Before the end of a long list, of which each item needs memory here.
      if (known.size > MOST_VALUES) throw tooLarge(TOO_MANY);
      known.set(value, undefined);
      size = { levels: 1, values: 1, characters: 0 };
      const names = Array.isArray(value) ? [] : Object.keys(value);
      keys += names.length;
      for (const name of names) size.characters += textSize(name);
      for (const child of Object.values(value)) {
        const below = visit(child, level + 1);
        size.levels = Math.max(size.levels, below.levels + 1);
        size.values += below.values;
        size.characters += below.characters;
      }
      known.set(value, size);
    }
    if (level + size.levels > MOST_LEVELS) throw tooLarge(TOO_DEEP);
    if (size.values > MOST_VALUES) throw tooLarge(TOO_MANY);
    if (size.characters > MOST_CHARACTERS) throw tooLarge(TOO_MUCH_TEXT);
    return size;
  };
  visit(root, 0);
  return { keys, isShared };
}
