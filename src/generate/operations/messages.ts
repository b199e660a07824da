/**
 * Reads what an operation sends and receives: parameters with their form, bodies and answers by
 * media type.
 */
import { type Document, documentError, follow, warnAt } from "../document/document.js";
import {
  entriesOf,
  isObject,
  type JsonObject,
  objectOf,
  pointerTo,
} from "../document/source-file.js";
import { mergedSchema } from "../schemas/alternatives.js";
import { checkedSchema } from "../schemas/checked-schema.js";

export const PLACES = ["path", "query", "header", "cookie"] as const;
type Place = (typeof PLACES)[number];

interface Style {
  readonly style?: string;
  readonly explode?: boolean;
  readonly allowReserved?: true;
}

/**
 * How a value is written (OpenAPI 3.1.1, "Style Values"); what is the default of the place is left
 * out.
 */
export interface Form extends Style {
  /** The media type of `content`. */
  readonly content?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: Place;
  readonly required: boolean;
  readonly form: Form;
  /** The Parameter Object; absent if only the path names the parameter. */
  readonly source?: JsonObject;
  /** The value of `x-device`. */
  readonly device?: unknown;
  /** The TypeScript keyword for a simple schema, which an editor shows instead of a lookup. */
  readonly keyword?: "string" | "number" | "boolean" | undefined;
  /**
   * The types of the document do not have the same path parameters, so they are listed one by one.
   */
  readonly isListed?: true;
}

/**
 * How a member of a form is written. With `style` it is written like a query parameter, else by its
 * media type.
 */
export interface PropertyEncoding extends Style {
  readonly contentType?: string;
}

export interface Content {
  readonly mediaType: string;
  readonly media: JsonObject;
  /** JSON pointer of the schema; undefined when the media type has none. */
  readonly schema?: string | undefined;
  /** Of a sequence: the schema is that of one item, not of the list of them. */
  readonly isItem: boolean;
  /** Of a form: by the name of the member. */
  readonly encoding: Readonly<Record<string, PropertyEncoding>>;
}

export interface Body extends Content {
  readonly required: boolean;
  /**
   * Every documented media type. The body itself is the one that is sent unless a call chooses
   * another.
   */
  readonly all: readonly Content[];
}

export interface Response {
  /** The key in the document: `200`, `4XX`, `default`. */
  readonly key: string;
  /** The statuses that the key stands for; empty for `default`. */
  readonly statuses: readonly number[];
  /** The media type that is expected first. */
  readonly content?: Content | undefined;
  readonly all: readonly Content[];
  readonly headers: readonly { readonly name: string; readonly required: boolean }[];
}

const STYLES: Readonly<Record<Place, readonly string[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

/**
 * The operation's parameters come second because they replace those of the path (OpenAPI 3.1,
 * Operation Object).
 */
export function readParameters(
  document: Document,
  lists: readonly (readonly [list: unknown, pointer: string])[],
): Parameter[] {
  const found = new Map<string, Parameter>();
  for (const [list, pointer] of lists) {
    if (!Array.isArray(list)) continue;
    const inList = new Set<string>();
    for (const [index, entry] of list.entries()) {
      const { value, pointer: at } = follow(document, entry, pointerTo(pointer, index));
      const source = objectOf(value);
      const { name, required } = source;
      const place = PLACES.find((known) => known === source.in);
      if (typeof name !== "string" || place === undefined) {
        const message = `a parameter needs a name and a place (\`in\`: ${PLACES.join(", ")})`;
        throw documentError(document, "document_invalid", pointerTo(pointer, index), message);
      }
      // Names of headers are the same in any case.
      const key = `${place} ${place === "header" ? name.toLowerCase() : name}`;
      if (inList.has(key)) {
        const message = `the ${place} parameter ${name} is described twice. The last description counts`;
        warnAt(document, "document_invalid", pointerTo(pointer, index), message);
      }
      inList.add(key);
      const isRequired = place === "path" || required === true;
      const schema = follow(document, source.schema, pointerTo(pointer, index, "schema"));
      // It only warns: the validator never sees the values of parameters.
      if (schema.value !== undefined)
        checkedSchema(schema.value, schema.pointer, { document, nameOf: () => "" });
      const form = formOf(document, source, place, at);
      if (form.style === "deepObject") warnOfNested(document, schema.value, schema.pointer);
      const keyword = form.content === undefined ? keywordOf(schema.value) : undefined;
      const device = source["x-device"];
      found.set(key, { name, in: place, required: isRequired, form, source, keyword, device });
    }
  }
  return [...found.values()];
}

function formOf(document: Document, source: JsonObject, place: Place, pointer: string): Form {
  const [content, second] = Object.keys(objectOf(source.content));
  if (second !== undefined) {
    const at = pointerTo(pointer, "content", second);
    const message = `a parameter has one media type. It is written as ${content}`;
    warnAt(document, "document_invalid", at, message);
  }
  if (content !== undefined) return { content };
  return styleOf(document, source, place, pointer);
}

function styleOf(document: Document, source: JsonObject, place: Place, pointer: string): Form {
  const [usual = ""] = STYLES[place];
  const { style = usual, explode = style === "form", allowReserved } = source;
  if (typeof style !== "string" || !STYLES[place].includes(style)) {
    const message =
      `the style ${JSON.stringify(style)} does not exist here; ` +
      `use ${STYLES[place].join(", ")}`;
    throw documentError(document, "style_invalid", pointerTo(pointer, "style"), message);
  }
  return {
    ...(style !== usual && { style }),
    ...(explode !== (style === "form") && { explode: explode === true }),
    ...(allowReserved === true && { allowReserved }),
  };
}

/** The types of calls have them, but no call can write them. */
function warnOfNested(document: Document, schema: unknown, pointer: string): void {
  for (const [name, member] of entriesOf(objectOf(schema).properties)) {
    const { type } = objectOf(follow(document, member).value);
    const message = `deepObject nests no lists or objects: calls with ${name} need querySerializer`;
    if (/array|object/.test(String(type)))
      warnAt(document, "style_invalid", pointerTo(pointer, "properties", name), message);
  }
}

function keywordOf(schema: unknown): Parameter["keyword"] {
  if (!isObject(schema) || schema.enum !== undefined || schema.const !== undefined)
    return undefined;
  if (schema.type === "integer") return "number";
  return (["string", "number", "boolean"] as const).find((keyword) => keyword === schema.type);
}

export function readBody(document: Document, source: unknown, pointer: string): Body | undefined {
  const place = follow(document, source, pointer);
  if (!isObject(place.value)) return undefined;
  const all = readContents(document, place.value.content, place.pointer);
  const chosen = preferred(all);
  return chosen && { ...chosen, all, required: place.value.required === true };
}

export function readResponses(
  document: Document,
  method: string,
  source: unknown,
  pointer: string,
): Response[] {
  if (!isObject(source)) return [];
  const keys = Object.keys(source).filter((key) => !key.startsWith("x-"));
  const single = new Set(keys.filter((key) => /^\d+$/.test(key)).map(Number));
  return keys.map((key) => {
    const place = follow(document, source[key], pointerTo(pointer, key));
    const statuses = statusesOf(key, single);
    if (statuses === undefined) {
      const message = "a response must be keyed by a status, a range from 1XX to 5XX, or default";
      throw documentError(document, "status_invalid", pointerTo(pointer, key), message);
    }
    const { content, headers } = objectOf(place.value);
    // A body would be no part of these answers (RFC 9110, sections 9.3.2, 15.3.5, 15.3.6 and
    // 15.4.5).
    const isEmpty = method === "HEAD" || ["204", "205", "304"].includes(key);
    const all = isEmpty ? [] : readContents(document, content, place.pointer);
    const named = readHeaders(document, headers, pointerTo(place.pointer, "headers"));
    return { key, statuses, all, content: preferred(all), headers: named };
  });
}

/** A header Content-Type is ignored here (OpenAPI 3.1, Response Object). */
function readHeaders(document: Document, source: unknown, pointer: string): Response["headers"] {
  return entriesOf(source).flatMap(([name, header]) => {
    const { value } = follow(document, header, pointerTo(pointer, name));
    if (name.toLowerCase() === "content-type") return [];
    return [{ name, required: objectOf(value).required === true }];
  });
}

/**
 * The statuses that a response key stands for. A range excludes statuses that have a response of
 * their own.
 */
function statusesOf(key: string, single: ReadonlySet<number>): number[] | undefined {
  if (key === "default") return [];
  if (/^[1-5]\d\d$/.test(key)) return [Number(key)];
  if (!/^[1-5]XX$/i.test(key)) return undefined;
  return REGISTERED_STATUSES.filter(
    (status) => String(status)[0] === key[0] && !single.has(status),
  );
}

function readContents(document: Document, source: unknown, pointer: string): Content[] {
  return entriesOf(source).map(([mediaType, value]) => {
    const media = objectOf(value);
    const place = pointerTo(pointer, "content", mediaType);
    const schema = media.schema === undefined ? undefined : pointerTo(place, "schema");
    const isItem =
      isJsonSequence(mediaType) && mergedSchema(document, media.schema).type !== "array";
    const isForm = isUrlencoded(mediaType) || isMultipart(mediaType);
    const encodings = isForm ? entriesOf(media.encoding) : [];
    const encoding = encodings.flatMap(([name, member]) => {
      const found = encodingOf(document, objectOf(member), pointerTo(place, "encoding", name));
      return Object.keys(found).length === 0 ? [] : [[name, found] as const];
    });
    return { mediaType, media, schema, isItem, encoding: Object.fromEntries(encoding) };
  });
}

/**
 * With one of the keywords of a style `contentType` is ignored (OpenAPI 3.1.1, Encoding Object).
 */
function encodingOf(document: Document, source: JsonObject, pointer: string): PropertyEncoding {
  const isStyled = [source.style, source.explode, source.allowReserved].some(
    (value) => value !== undefined,
  );
  if (isStyled) return { style: "form", ...styleOf(document, source, "query", pointer) };
  return typeof source.contentType === "string" ? { contentType: source.contentType } : {};
}

/** JSON if it is there, otherwise a form, otherwise the first that names one media type. */
function preferred(all: readonly Content[]): Content | undefined {
  return (
    all.find(({ mediaType }) => mediaType === "application/json") ??
    all.find(({ mediaType }) => isJson(mediaType)) ??
    all.find(({ mediaType }) => isUrlencoded(mediaType)) ??
    all.find(({ mediaType }) => !mediaType.includes("*")) ??
    all[0]
  );
}

/**
 * The media type that a call sends which names none; undefined if the document has only a range
 * such as image/*.
 */
export function mediaTypeSent({ mediaType }: Content): string | undefined {
  if (mediaType === "*/*" || mediaType === "application/*") return "application/json";
  if (mediaType === "text/*") return "text/plain";
  if (mediaType === "multipart/*") return "multipart/form-data";
  return mediaType.includes("*") ? undefined : mediaType;
}

type MediaTypeTest = (mediaType: string) => boolean;
const mediaTypeTest =
  (pattern: RegExp): MediaTypeTest =>
  (mediaType) =>
    pattern.test(mediaType.split(";", 1)[0]?.trimEnd() ?? "");

export const isJson: MediaTypeTest = mediaTypeTest(/^[^/]+\/(?:[^/]+\+)?json$/i);
export const isUrlencoded: MediaTypeTest = mediaTypeTest(/^application\/x-www-form-urlencoded$/i);
export const isMultipart: MediaTypeTest = mediaTypeTest(/^multipart\/[^/]+$/i);
export const isText: MediaTypeTest = mediaTypeTest(/^(?:text\/[^/]+|[^/]+\/(?:[^/]+\+)?xml)$/i);
export const isEventStream: MediaTypeTest = mediaTypeTest(/^text\/event-stream$/i);
export const isJsonSequence: MediaTypeTest = mediaTypeTest(
  /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines|json-seq)$/i,
);
const isMedia = mediaTypeTest(
  /^(?:(?:image|audio|video|font)\/[^/]+|application\/(?:octet-stream|pdf|zip|gzip))$/i,
);
/** What no text can be. */
export const isBinary: MediaTypeTest = (mediaType) =>
  isMedia(mediaType) && !/^\w+\/svg\+/.test(mediaType);

/** Every status code of the IANA HTTP Status Code Registry, with the unused 306 and 418. */
export const REGISTERED_STATUSES: readonly number[] = [
  ...range(100, 104),
  ...range(200, 208),
  226,
  ...range(300, 308),
  ...range(400, 418),
  ...range(421, 426),
  ...[428, 429, 431, 451],
  ...range(500, 508),
  ...[510, 511],
];

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
