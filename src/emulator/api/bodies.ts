// Reads the body of a request by its media type, as the document describes it.
import { essence, grouped, ownMember, rangesOf } from "../http/messages.js";
import type { Finding } from "../rules/checks.js";
import {
  JSON_TYPE,
  type Pairs,
  type ParameterForm,
  pairsOf,
  queryDecoded,
  readValues,
} from "./parameters.js";
import { Described, Malformed, parseJsonText, type Schemas } from "./schemas.js";

/** A request body as the module emulation.ts describes it. */
export interface DocumentedBody {
  readonly required?: true;
  readonly contents: Readonly<Record<string, DocumentedContent>>;
}

interface DocumentedContent {
  readonly schema?: unknown;
  readonly encoding?: Readonly<Record<string, MemberEncoding>>;
}

type MemberEncoding = Pick<ParameterForm, "style" | "explode"> & {
  readonly contentType?: string;
  readonly allowReserved?: true;
};

/**
 * A body that was read: JSON, the members of a form with files among them, text, or a Blob;
 * undefined without a body.
 */
export type BodyReading =
  | { readonly value: unknown }
  | { readonly finding: Finding; readonly status?: 413 | 415 };

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const JSON_LINES = /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines|json-seq)\s*(?:;|$)/i;
const TEXT = /^(?:text\/|[^;]*[/+]xml\s*(?:;|$))/i;

/** Any media type, for a route that no document describes. */
const ANY: DocumentedBody = { contents: { "*/*": {} } };

export async function readDocumentedBody(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string | null,
  documented: DocumentedBody | undefined,
  schemas: Schemas,
): Promise<BodyReading> {
  const { required, contents } = documented ?? ANY;
  const names = Object.keys(contents);
  if (bytes.byteLength === 0 && (contentType === null || !isEmptyAllowed(contentType)))
    return required
      ? { finding: { expected: `a body of ${listed(names)}`, actual: "absent" } }
      : { value: undefined };
  const chosen = bestMatch(contentType ?? "", names);
  const content = chosen === undefined ? undefined : contents[chosen];
  if (content === undefined) {
    const actual = contentType === null ? "no content-type" : "another content-type";
    return { finding: { expected: listed(names), actual }, status: 415 };
  }
  const { schema } = content;
  try {
    const described = new Described(schemas, [schema]);
    const { value, checked } = await readContent(bytes, contentType ?? "", content, described);
    const finding = checked === undefined ? undefined : schemas.check("body", schema, checked);
    return finding === undefined ? { value } : { finding };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { finding: { expected: `a body written as ${chosen}`, actual: error.message } };
  }
}

/** Text and bytes can be empty, and so can a form. */
function isEmptyAllowed(contentType: string): boolean {
  return !JSON_TYPE.test(contentType) && essence(contentType) !== MULTIPART;
}

function listed(names: readonly string[]): string {
  return names.join(" or ").slice(0, 200);
}

/** The documented name of a media type, exact before a range such as image/*. */
function bestMatch(mediaType: string, names: readonly string[]): string | undefined {
  const named = (range: string) => names.filter((name) => essence(name) === range);
  return rangesOf(mediaType).flatMap(named)[0];
}

/** `checked` is what the schema describes; undefined if it describes no such value. */
async function readContent(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
  { encoding = {} }: DocumentedContent,
  described: Described,
): Promise<{ readonly value: unknown; readonly checked?: unknown }> {
  const json = (value: unknown) => ({ value, checked: value });
  const { types } = described;
  const isText = types.has("string") && !types.has("object");
  if (JSON_TYPE.test(contentType)) return json(parseJsonText(textOf(bytes, "utf-8")));
  if (JSON_LINES.test(contentType)) {
    const lines = textOf(bytes, "utf-8").replaceAll("\u001e", "\n").split("\n");
    return json(lines.filter((line) => line.trim() !== "").map(parseJsonText));
  }
  // Some documents describe a form as a text.
  if (essence(contentType) === FORM && isText) return json(textOf(bytes, "utf-8"));
  if (essence(contentType) === FORM)
    return json(readForm(pairsOf(textOf(bytes, "utf-8")), encoding, described));
  if (essence(contentType) === MULTIPART) {
    const read = await readMultipart(bytes, contentType, encoding, described);
    return isText ? { value: read.value } : read;
  }
  if (!TEXT.test(contentType)) return { value: new Blob([bytes], { type: contentType }) };
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]+)/i.exec(contentType) ?? [];
  const text = textOf(bytes, charset);
  // The schema of XML describes the elements in it.
  return /^text\/(?!xml)/i.test(contentType) ? json(text) : { value: text };
}

function textOf(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    throw new Malformed("bytes that are not text of its charset");
  }
}

type Value = string | File;

type Encoding = Readonly<Record<string, MemberEncoding>>;

function readForm(pairs: Pairs, encoding: Encoding, described: Described): object {
  const values = grouped(pairs.map(([key, text]) => [queryDecoded(key), text]));
  return Object.fromEntries(readMembers(values, pairs, encoding, described, queryDecoded));
}

async function readMultipart(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
  encoding: Encoding,
  described: Described,
): Promise<{ readonly value: unknown; readonly checked: unknown }> {
  let parts: [string, Value][];
  try {
    const { body, type } = withLongBoundary(bytes, contentType);
    parts = [...(await new Response(body, { headers: { "content-type": type } }).formData())];
  } catch {
    throw new Malformed("parts that cannot be told apart, or are cut off");
  }
  const texts = await Promise.all(
    parts.map(
      async ([name, part]) => [name, await jsonOfFile(name, part, encoding, described)] as const,
    ),
  );
  const pairs = texts.flatMap(([name, part]) =>
    typeof part === "string" ? [[name, part] as const] : [],
  );
  // A part is not percent-encoded (OpenAPI 3.1.1, appendix E).
  const members = [...readMembers(grouped(texts), pairs, encoding, described, String, true)];
  const checked = members.map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(asText) : asText(value),
  ]);
  return { value: Object.fromEntries(members), checked: Object.fromEntries(checked) };
}

/**
 * Undici takes the text of a boundary for the end of a part wherever it stands, which is likely for
 * a short one.
 */
function withLongBoundary(bytes: Uint8Array<ArrayBuffer>, type: string) {
  const [, quoted, plain = quoted ?? ""] = /;\s*boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(type) ?? [];
  if (plain === "" || plain.length > 20) return { body: bytes, type };
  const boundary = crypto.randomUUID();
  // The first boundary has no line end before it.
  const text = `\r\n${Buffer.from(bytes).toString("latin1")}`.replaceAll(
    `\r\n--${plain}`,
    `\r\n--${boundary}`,
  );
  return {
    body: Buffer.from(text.slice(2), "latin1"),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}

/**
 * The text of a file of JSON, if the member is an object or a list: a FormData can name a media
 * type only of a file.
 */
async function jsonOfFile(
  name: string,
  part: Value,
  encoding: Encoding,
  described: Described,
): Promise<Value> {
  if (typeof part === "string" || !JSON_TYPE.test(part.type)) return part;
  const member = described.member(name);
  const isObject = member.types.has("object") || member.items.types.has("object");
  return isObject || JSON_TYPE.test(ownMember(encoding, name)?.contentType ?? "")
    ? part.text()
    : part;
}

/** A schema describes a file as a string, whose content is not checked beyond its length. */
function asText(value: unknown): unknown {
  return value instanceof File ? "x".repeat(Math.min(value.size, LONGEST_CHECKED_FILE)) : value;
}

const LONGEST_CHECKED_FILE = 10_000;

/** A member with a style is written as a parameter of a query (OpenAPI 3.1.1, Encoding Object). */
function* readMembers(
  values: ReadonlyMap<string, readonly Value[]>,
  pairs: Pairs,
  encoding: Encoding,
  described: Described,
  decode: (text: string) => string,
  isMultipart = false,
): Generator<readonly [name: string, value: unknown]> {
  const styled = Object.entries(encoding).filter(([name, { style }]) => {
    const hasFile = values.get(name)?.some((value) => typeof value !== "string");
    return style !== undefined && !hasFile;
  });
  const names = [...new Set([...described.names, ...Object.keys(encoding)])];
  const taken = new Set<string>();
  for (const [name, { style = "form", explode }] of styled) {
    const form = { in: "query", name, style, ...(explode !== undefined && { explode }) } as const;
    const member = described.member(name);
    taken.add(name);
    if (style === "form" && explode !== false) for (const key of member.names) taken.add(key);
    const read = readValues(form, pairs, member, names, decode);
    if (read.length > 0) yield [name, member.firstAllowed(read)];
  }
  const deep = styled.flatMap(([name, { style }]) => (style === "deepObject" ? `${name}[` : []));
  for (const [name, own] of values) {
    if (taken.has(name) || deep.some((start) => name.startsWith(start))) continue;
    const documented = ownMember(encoding, name)?.contentType;
    const member = described.member(name);
    const one = (value: Value, of: Described) => {
      if (typeof value === "string") {
        const text = decode(value);
        return JSON_TYPE.test(documented ?? "") ? parseJsonText(text) : of.jsonOrValueOf(text);
      }
      const types = documented?.split(",").map((type) => type.trim());
      if (types !== undefined && bestMatch(value.type, types) === undefined)
        throw new Malformed("a file of another media type");
      return value;
    };
    const { types, items } = member;
    // A form has one field for a list that is JSON, and a multipart body a part for each item.
    const isWhole = !isMultipart && JSON_TYPE.test(documented ?? "");
    const isList = (types.has("array") && !isWhole) || (types.size === 0 && own.length > 1);
    const [first = ""] = own;
    const readings = isList ? [own.map((value) => one(value, items))] : [];
    if (!isList && own.length > 1) throw new Malformed(`a member that is sent ${own.length} times`);
    const isScalar = !isList || (own.length === 1 && types.size > 1);
    yield [name, member.firstAllowed([...readings, ...(isScalar ? [one(first, member)] : [])])];
  }
}
