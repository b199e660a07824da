/** Reads and checks an OpenAPI document, makes JSON pointers into it (RFC 6901), and follows its references. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { unescape as percentDecoded } from "node:querystring";
import { isCollection, isNode, LineCounter, parseDocument } from "yaml";

export type GenerateErrorCode =
  | "option_invalid"
  | "document_unreadable"
  | "document_not_yaml"
  | "document_version_unsupported"
  | "document_invalid"
  | "document_swapped"
  | "reference_missing"
  | "reference_external"
  | "reference_circular"
  | "operation_id_missing"
  | "operation_id_duplicate"
  | "status_invalid"
  | "scope_invalid"
  | "example_invalid"
  | "schema_unsupported"
  | "not_shown_invalid"
  | "peer_missing"
  | "peer_unsuitable";

export interface GenerateErrorDetails {
  /** File name of the document. */
  readonly document?: string | undefined;
  /** JSON pointer (RFC 6901) into the document. */
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

export type Variant = "A" | "B";

export const VARIANTS: readonly Variant[] = ["A", "B"];

export type JsonObject = { readonly [key: string]: unknown };

export interface Document {
  readonly variant: Variant;
  /** File name without folders, so that the output is the same wherever it is generated. */
  readonly file: string;
  /** Hash of the text without byte order mark and with LF line ends. */
  readonly sha256: string;
  readonly root: JsonObject;
  /** Line and column of a pointer, or of the deepest place above it that the text has. */
  readonly positionOf: (pointer: string) => string | undefined;
}

export function documentError(
  document: Document,
  code: GenerateErrorCode,
  pointer: string,
  message: string,
): GenerateError {
  const position = document.positionOf(pointer);
  return new GenerateError(code, message, { document: document.file, position, pointer });
}

/** Reads the document at `path`: YAML or JSON, OpenAPI 3.1, in which every reference resolves. */
export async function readDocument(variant: Variant, path: string): Promise<Document> {
  const read = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new GenerateError("document_unreadable", "the file cannot be read", { document: path, cause });
  });
  // A checkout on Windows must have the same hash.
  const text = read.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const file = basename(path);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const document: Document = { variant, file, sha256, ...parseText(text, file) };
  const version = document.root.openapi;
  if (typeof version !== "string" || !/^3\.1\.\d+$/.test(version)) {
    const found = version === undefined ? "the key `openapi` is missing" : `found ${JSON.stringify(version)}`;
    const message = `the document must be OpenAPI 3.1: ${found}`;
    throw documentError(document, "document_version_unsupported", "/openapi", message);
  }
  refuseOtherVariant(document);
  walkDocument(document.root, (value, pointer) => {
    // Most code would read such a property as the prototype.
    if (isObject(value.properties) && Object.hasOwn(value.properties, "__proto__")) {
      const message = "a property named __proto__ cannot be expressed";
      throw documentError(document, "schema_unsupported", pointer, message);
    }
    if (typeof value.$ref === "string") follow(document, value, pointer);
  });
  return document;
}

/** Only a document of the variant has this path (sections 4.1 and 4.2), or only paths that start so (section 9). */
const TOKEN_PATH = { A: /^\/api\/v1\/[^/]+\/external-plugin\/oauth\/token$/, B: /^\/v1\/auth\/token$/ };
const START = { A: /^\/api\/v1\//, B: /^\/v1\// };

function refuseOtherVariant(document: Document): void {
  const { root, variant } = document;
  const other = variant === "A" ? "B" : "A";
  const paths = isObject(root.paths) ? Object.keys(root.paths).filter((path) => path.startsWith("/")) : [];
  const isOther = paths.every((path) => START[other].test(path));
  const found = paths.find((path) => isOther || TOKEN_PATH[other].test(path));
  if (found === undefined) return;
  const message = `${found} is a path of Variant ${other}, but this document was passed as that of Variant ${variant}. Are the two documents swapped?`;
  throw documentError(document, "document_swapped", pointerTo("/paths", found), message);
}

function parseText(text: string, file: string): Pick<Document, "root" | "positionOf"> {
  const lineCounter = new LineCounter();
  let position: string | undefined;
  const positionAt = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return `${line}:${col}`;
  };
  try {
    const yaml = parseDocument(text, { lineCounter });
    // The parser only warns about an unknown tag and ignores it, so the value would be wrong.
    const [problem] = [...yaml.errors, ...yaml.warnings];
    if (problem !== undefined) {
      position = positionAt(problem.pos[0]);
      throw problem;
    }
    const root: unknown = yaml.toJS();
    if (!isObject(root)) throw new TypeError("the top level must be a mapping");
    const positionOf = (pointer: string) => {
      let found: unknown = yaml.contents;
      for (const key of keysOf(pointer)) {
        // A status is a number in YAML unless it is quoted.
        const child = isCollection(found)
          ? (found.get(key, true) ?? found.get(Number(key), true))
          : undefined;
        if (!isNode(child)) break;
        found = child;
      }
      return isNode(found) && found.range ? positionAt(found.range[0]) : undefined;
    };
    return { root, positionOf };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `the file is not a YAML document: ${reason}`;
    throw new GenerateError("document_not_yaml", message, { document: file, position, cause });
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function pointerTo(base: string, ...keys: readonly (string | number)[]): string {
  const encode = (key: string | number) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
  return [base, ...keys.map(encode)].join("/");
}

function keysOf(pointer: string): string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function atPointer(root: unknown, pointer: string): unknown {
  let value = root;
  for (const key of keysOf(pointer)) {
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}

interface Place {
  readonly value: unknown;
  readonly pointer: string;
}

/** Follows `$ref` to the first value that is not a reference. */
export function follow(document: Document, value: unknown, pointer: string): Place {
  const seen = new Set<string>();
  let place: Place = { value, pointer };
  while (isObject(place.value) && typeof place.value.$ref === "string") {
    const target = referenceTarget(document, place.value.$ref, place.pointer);
    if (seen.has(target)) {
      throw documentError(document, "reference_circular", pointer, `${target} refers back to itself`);
    }
    seen.add(target);
    place = { value: atPointer(document.root, target), pointer: target };
  }
  return place;
}

/** The pointer in a local `$ref`. Each variant is one file, so a reference to another file is refused. */
export function referenceTarget(document: Document, reference: string, pointer: string): string {
  if (!reference.startsWith("#/")) {
    const message = `${reference} refers to another document; only references that start with #/ are supported`;
    throw documentError(document, "reference_external", pointer, message);
  }
  const target = percentDecoded(reference.slice(1));
  if (atPointer(document.root, target) === undefined) {
    const message = `${reference} does not exist in this document`;
    throw documentError(document, "reference_missing", pointer, message);
  }
  return target;
}

/** The values of these keys are instances, in which "$ref" and "x-not-shown" would be ordinary keys. */
const INSTANCE_KEYS: ReadonlySet<string> = new Set(["example", "examples", "default", "const", "enum"]);
/** These maps of schemas are not objects of the specification themselves, so they are not visited. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "schemas"]);
/** The keys of these maps are names that the author chose, so even a key "example" is not an instance here. */
const NAMED_BY_AUTHOR: ReadonlySet<string> = new Set([
  ...SCHEMA_MAPS,
  ...["responses", "parameters", "requestBodies", "headers", "paths", "pathItems", "content"],
]);

/** Visits every object of a document that is part of the description; skips instances such as examples. */
export function walkDocument(root: unknown, visit: (value: JsonObject, pointer: string) => void): void {
  const ancestors = new Set<unknown>();
  const walkObject = (value: JsonObject, pointer: string, parentKey: string): void => {
    const isNamed = NAMED_BY_AUTHOR.has(parentKey);
    if (!SCHEMA_MAPS.has(parentKey)) visit(value, pointer);
    for (const [key, child] of Object.entries(value)) {
      if (INSTANCE_KEYS.has(key) && !isNamed) continue;
      walk(child, pointerTo(pointer, key), isNamed ? "" : key);
    }
  };
  const walk = (value: unknown, pointer: string, parentKey = ""): void => {
    if (typeof value !== "object" || value === null) return;
    if (ancestors.has(value)) {
      const message = "a YAML alias refers to a node that contains it";
      throw new GenerateError("reference_circular", message, { pointer });
    }
    ancestors.add(value);
    if (isObject(value)) walkObject(value, pointer, parentKey);
    else for (const [index, item] of Object.entries(value)) walk(item, pointerTo(pointer, index));
    ancestors.delete(value);
  };
  walk(root, "");
}
