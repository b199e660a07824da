/** The operations of a document, with references followed and everything decided that emitting them needs. */
import { type Document, documentError, follow, type VARIANTS } from "./document.js";
import { isObject, type JsonObject, pointerTo } from "./json-pointer.js";
import { REGISTERED_STATUSES } from "./registered-statuses.js";

export const METHODS = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"] as const;

export type Method = (typeof METHODS)[number];

export const PLACES = ["path", "query", "header", "cookie"] as const;

export interface Parameter {
  readonly name: string;
  readonly in: (typeof PLACES)[number];
  readonly required: boolean;
  /** The type as a keyword of TypeScript, for schemas that are as simple as that. */
  readonly keyword?: "string" | "number" | "boolean" | undefined;
}

export interface Content {
  readonly mediaType: string;
  /** Where the schema stands, or undefined where the media type has none. */
  readonly schema?: string | undefined;
}

export interface Response {
  /** The key as the document has it: `200`, `4XX`, `default`. */
  readonly key: string;
  /** The statuses it stands for; none for `default`. */
  readonly statuses: readonly number[];
  readonly content?: Content | undefined;
}

export interface Operation {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: (Content & { readonly required: boolean }) | undefined;
  readonly responses: readonly Response[];
  readonly anonymous: boolean;
}

/** @throws {GenerateError} operation_id_missing, operation_id_duplicate, status_invalid, document_invalid. */
export function listOperations(document: Document): Operation[] {
  const operations: Operation[] = [];
  const places = new Map<string, string>();
  const paths = isObject(document.root.paths) ? document.root.paths : {};
  for (const [path, value] of Object.entries(paths)) {
    if (!path.startsWith("/")) continue;
    const item = follow(document, value, pointerTo("/paths", path));
    if (!isObject(item.value)) continue;
    for (const method of METHODS) {
      const source = item.value[method.toLowerCase()];
      if (!isObject(source)) continue;
      const pointer = pointerTo(item.pointer, method.toLowerCase());
      const operation = readOperation(document, {
        method,
        path,
        item: item.value,
        itemPointer: item.pointer,
        source,
        pointer,
      });
      const earlier = places.get(operation.id);
      if (earlier !== undefined) {
        throw documentError(
          document,
          "operation_id_duplicate",
          pointerTo(pointer, "operationId"),
          `operationId ${JSON.stringify(operation.id)} of ${method} ${path} is already taken by ${earlier}`,
        );
      }
      places.set(operation.id, `${method} ${path}`);
      operations.push(operation);
    }
  }
  return operations;
}

interface OperationSource {
  readonly method: Method;
  readonly path: string;
  readonly item: JsonObject;
  readonly itemPointer: string;
  readonly source: JsonObject;
  readonly pointer: string;
}

function readOperation(document: Document, from: OperationSource): Operation {
  const { source, pointer, method, path } = from;
  if (typeof source.operationId !== "string" || source.operationId === "") {
    throw documentError(document, "operation_id_missing", pointer, `${method} ${path} has no operationId`);
  }
  const security = source.security ?? document.root.security;
  return {
    id: source.operationId,
    method,
    path,
    parameters: readParameters(document, from),
    body: readBody(document, source.requestBody, pointerTo(pointer, "requestBody")),
    responses: readResponses(document, source.responses, pointerTo(pointer, "responses")),
    anonymous: Array.isArray(security) && security.length === 0,
  };
}

function readParameters(document: Document, from: OperationSource): Parameter[] {
  const found = new Map<string, Parameter>();
  // The operation's own come second: they replace those of the path (OpenAPI 3.1, Operation Object, parameters).
  const lists = [
    [from.item.parameters, pointerTo(from.itemPointer, "parameters")],
    [from.source.parameters, pointerTo(from.pointer, "parameters")],
  ] as const;
  for (const [list, pointer] of lists) {
    if (!Array.isArray(list)) continue;
    list.forEach((entry, index) => {
      const { value } = follow(document, entry, pointerTo(pointer, index));
      const name = isObject(value) ? value.name : undefined;
      const place = PLACES.find((known) => isObject(value) && value.in === known);
      if (!isObject(value) || typeof name !== "string" || place === undefined) {
        throw documentError(
          document,
          "document_invalid",
          pointerTo(pointer, index),
          "a parameter needs name and in",
        );
      }
      found.set(`${place} ${name}`, {
        name,
        in: place,
        required: place === "path" || value.required === true,
        keyword: keywordOf(follow(document, value.schema, pointerTo(pointer, index)).value),
      });
    });
  }
  return [...found.values()];
}

function keywordOf(schema: unknown): Parameter["keyword"] {
  if (!isObject(schema) || schema.enum !== undefined || schema.const !== undefined) return undefined;
  if (schema.type === "integer") return "number";
  return (["string", "number", "boolean"] as const).find((keyword) => keyword === schema.type);
}

function readBody(document: Document, source: unknown, pointer: string): Operation["body"] {
  if (source === undefined) return undefined;
  const place = follow(document, source, pointer);
  if (!isObject(place.value)) return undefined;
  const content = readContent(place.value.content, place.pointer);
  return content && { ...content, required: place.value.required === true };
}

function readResponses(document: Document, source: unknown, pointer: string): Response[] {
  if (!isObject(source)) return [];
  const keys = Object.keys(source).filter((key) => !key.startsWith("x-"));
  const single = new Set(keys.filter((key) => /^\d+$/.test(key)).map(Number));
  return keys.map((key) => {
    const place = follow(document, source[key], pointerTo(pointer, key));
    const content = isObject(place.value) ? readContent(place.value.content, place.pointer) : undefined;
    const statuses = statusesOf(key, single);
    if (statuses === undefined) {
      throw documentError(
        document,
        "status_invalid",
        pointerTo(pointer, key),
        "is no status, no 1XX to 5XX and not default",
      );
    }
    return { key, statuses, content };
  });
}

/** What a response key stands for: a range leaves out the statuses that have a response of their own. */
function statusesOf(key: string, single: ReadonlySet<number>): number[] | undefined {
  if (key === "default") return [];
  if (/^[1-5]\d\d$/.test(key)) return [Number(key)];
  if (!/^[1-5]XX$/i.test(key)) return undefined;
  return REGISTERED_STATUSES.filter((status) => String(status)[0] === key[0] && !single.has(status));
}

/** One media type per body: JSON where there is a choice, then a form, then what stands first. */
function readContent(source: unknown, pointer: string): Content | undefined {
  if (!isObject(source)) return undefined;
  const mediaTypes = Object.keys(source);
  const mediaType =
    mediaTypes.find((name) => name === "application/json") ??
    mediaTypes.find((name) => /^application\/[^;]*\+json\b|^application\/json\b/.test(name)) ??
    mediaTypes.find((name) => name === "application/x-www-form-urlencoded") ??
    mediaTypes[0];
  if (mediaType === undefined) return undefined;
  const media = source[mediaType];
  const hasSchema = isObject(media) && media.schema !== undefined;
  return { mediaType, schema: hasSchema ? pointerTo(pointer, "content", mediaType, "schema") : undefined };
}

/** Operations of both documents, keyed by variant. */
export type OperationLists = Readonly<Record<(typeof VARIANTS)[number], readonly Operation[]>>;
