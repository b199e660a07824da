/**
 * Writes a body by its media type: forms with an encoding, multipart, text and bytes. Loaded
 * lazily.
 */
import type { OperationEntry, PropertyEncoding } from "../../generated/operations.js";
import { invalidOption, isText, tagOf } from "../options.js";
import { writeParameter } from "./parameters.js";
import type { BodySerializer } from "./request.js";
import { formMembers, formType, jsonOf, jsonType, plain, textOf } from "./text-and-json.js";

type SentBody = NonNullable<RequestInit["body"]>;
type Encodings = Readonly<Record<string, PropertyEncoding>>;

/** The body as it is sent. Without a `contentType` the fetch adds that of the body, a FormData. */
export interface Content {
  readonly body: SentBody;
  readonly contentType: string | undefined;
}

/**
 * @throws ConfigurationError `option_invalid` for a body that cannot be sent as the document says
 */
export function contentOf(
  operation: OperationEntry,
  given: unknown,
  headers: Readonly<Record<string, string>>,
  serializer: BodySerializer | undefined,
): Content {
  const [contentType, encodings] = chooseType(operation, given, headers["content-type"]);
  if (serializer !== undefined) {
    if (typeof serializer !== "function")
      throw invalidOption("bodySerializer", "must be a function");
    const body = serializer(given, new Headers(headers));
    if (!isSendable(body))
      throw invalidOption("bodySerializer", "must return a body that fetch can send");
    return { body, contentType: isA("FormData", body) ? undefined : contentType };
  }
  if (jsonType.test(contentType)) return { body: jsonOf(given), contentType };
  if (essence(contentType) === formType) return { body: formText(given, encodings), contentType };
  if (isA("FormData", given) && /^multipart\/form-data\b/i.test(contentType))
    return { body: given as FormData, contentType: undefined };
  if (/^multipart\//i.test(contentType) && !isSendable(given))
    return multipart(given, contentType, encodings);
  const isTextual = /^(?:text\/|[^;]*[/+]xml\b)/i.test(contentType);
  const isOwnText = isText(given) && (isTextual || typeof given === "string");
  const body = isOwnText ? textOf(given, "body") : given;
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1] ?? "utf-8";
  if (typeof body === "string" && !/^utf-?8$/i.test(charset))
    throw invalidOption("body", `must be bytes in ${charset}`, "Text is sent as UTF-8.");
  if (typeof body !== "string" && !isBytes(body))
    throw invalidOption(
      "body",
      `must be ${isTextual ? "text" : "bytes"}, a Blob or a stream for ${contentType}`,
    );
  requireUnread(body, "body");
  if (/^multipart\//i.test(contentType) && !/;\s*boundary=/i.test(contentType))
    throw invalidOption("body", "has parts", "Name their boundary in the header content-type.");
  return { body, contentType };
}

/**
 * Whether a fetch sends the value as it is. Anything else would become text such as "[object
 * Object]".
 */
function isSendable(value: unknown): value is SentBody {
  return (
    typeof value === "string" ||
    isBytes(value) ||
    isA("FormData", value) ||
    isA("URLSearchParams", value)
  );
}

function isBytes(
  value: unknown,
): value is Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer> | ReadableStream {
  return (
    // Fetch takes no shared memory, which would look like a network fault.
    (ArrayBuffer.isView(value) && isA("ArrayBuffer", value.buffer)) ||
    /^.object (?:Blob|File|ArrayBuffer|ReadableStream)]$/.test(tagOf(value))
  );
}

/** Knows the classes of the package undici too. */
function isA(name: string, value: unknown): boolean {
  return tagOf(value) === `[object ${name}]`;
}

function requireUnread(content: unknown, option: string): void {
  if (isA("ReadableStream", content) && (content as ReadableStream).locked)
    throw invalidOption(option, "must be a stream that is not read elsewhere");
}

/**
 * The media type of a body with the encoding of its members: that of the header content-type, that
 * of a form or a Blob, or the one that the table names.
 */
function chooseType(
  { contentType: usual = "application/json", contents, contentType }: OperationEntry,
  body: unknown,
  header: string | undefined,
): readonly [mediaType: string, encodings: Encodings] {
  const known = contents ?? (contentType === undefined ? {} : { [contentType]: {} });
  const names = Object.keys(known);
  const found = (mediaType: string) => bestMatch(mediaType, names);
  const typed = (mediaType: string) => [mediaType, known[found(mediaType) ?? ""] ?? {}] as const;
  const documented = `The document has ${names.join(", ")}.`;
  if (header !== undefined) {
    const isJson = contents === undefined && jsonType.test(header) && jsonType.test(usual);
    if (names.length > 0 && found(header) === undefined && !isJson)
      throw invalidOption("headers", "hold a content-type that is not documented", documented);
    return typed(header);
  }
  const own = ownType(body);
  if (own !== undefined && found(own) !== undefined) return typed(own);
  // An operation for bytes of any type takes each Blob.
  const isForeign = names.length > 0 && found("application/octet-stream") === undefined;
  if (isForeign && /^.object (?:Blob|File)]$/.test(tagOf(body)) && (body as Blob).type !== "")
    throw invalidOption("body", `is a Blob of type ${own}`, documented);
  if (usual.includes("*"))
    throw invalidOption("headers", "must name the content-type of the body", documented);
  return typed(usual);
}

function ownType(body: unknown): string | undefined {
  if (isA("FormData", body)) return "multipart/form-data";
  if (isA("URLSearchParams", body)) return formType;
  if (!isBytes(body)) return undefined;
  return ("type" in body && body.type) || "application/octet-stream";
}

/** The documented name of a media type, exact before a range such as image/*. */
export function bestMatch(mediaType: string, names: readonly string[]): string | undefined {
  const wanted = essence(mediaType);
  const ranges = [wanted, `${wanted.split("/", 1)[0]}/*`, "*/*"];
  return ranges.map((range) => names.find((name) => essence(name) === range)).find(Boolean);
}

/** A media type without its parameters. */
export function essence(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function isStyled({ style, explode, allowReserved }: PropertyEncoding): boolean {
  return (style ?? explode ?? allowReserved) !== undefined;
}

/** A member with a style, written as a parameter of a query (OpenAPI 3.1.1, Encoding Object). */
function writeMember(name: string, value: unknown, encoding: PropertyEncoding): string | undefined {
  return writeParameter({ in: "query", name, ...encoding }, value, `body.${name}`);
}

function formText(body: unknown, encodings: Encodings): string {
  if (typeof body === "string" || isA("URLSearchParams", body)) return textOf(String(body), "body");
  const fields = formMembers(body).flatMap(([name, value]) => {
    const encoding = encodings[name] ?? {};
    if (isStyled(encoding)) return writeMember(name, value, encoding) ?? [];
    const { contentType } = encoding;
    return valuesOf(jsonType.test(contentType ?? "") ? [value] : value).map((one) =>
      new URLSearchParams([[name, memberText(one, contentType, `body.${name}`)]]).toString(),
    );
  });
  return fields.join("&");
}

/** A list is repeated. What has no JSON, such as an invalid date, is left, and refused later. */
function valuesOf(value: unknown): unknown[] {
  const values = [plain(value) ?? value].flat();
  return values.map((one) => plain(one) ?? one).filter((one) => (one ?? null) !== null);
}

/** An object is JSON, unless the document names a type for which it has no form. */
function memberText(value: unknown, contentType: string | undefined, option: string): string {
  if (contentType === undefined ? typeof value === "object" : jsonType.test(contentType))
    return jsonOf(value, option);
  if (isText(value)) return textOf(value, option);
  throw invalidOption(
    option,
    `must be text, bytes, a Blob or a stream for ${contentType ?? "a form"}`,
  );
}

/** What a part is made of: its text or bytes, and what its header says. */
interface Part {
  readonly name: string;
  readonly content: string | Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer> | ReadableStream;
  readonly contentType?: string | undefined;
  readonly fileName?: string | undefined;
}

/** Unlike a FormData this has parts of JSON without a file name, and streams. */
function multipart(body: unknown, contentType: string, encodings: Encodings): Content {
  const parts = formMembers(body).flatMap(([name, value]) =>
    partsOf(name, value, encodings[name] ?? {}),
  );
  const boundary = `----${crypto.getRandomValues(new Uint32Array(4)).join("")}`;
  const pieces = parts.flatMap((part) => [
    `--${boundary}\r\n${headOf(part)}\r\n\r\n`,
    part.content,
    "\r\n",
  ]);
  pieces.push(`--${boundary}--\r\n`);
  // Other parameters stay, such as the `type` that multipart/related requires (RFC 2387).
  const mediaType = contentType.replace(/;\s*boundary=(?:"[^"]*"|[^;]*)/gi, "");
  return {
    body: pieces.some((piece) => isA("ReadableStream", piece))
      ? joined(pieces)
      : new Blob(pieces as BlobPart[]),
    contentType: `${mediaType}; boundary=${boundary}`,
  };
}

function partsOf(name: string, value: unknown, encoding: PropertyEncoding): Part[] {
  const values = valuesOf(value);
  if (isStyled(encoding) && !values.some(isBytes)) {
    // A part is not percent-encoded (OpenAPI 3.1.1, appendix E).
    const { allowReserved: _, ...styled } = encoding;
    const pairs = new URLSearchParams(writeMember(name, value, styled));
    return Array.from(pairs, ([of, content]) => ({ name: of, content }));
  }
  return values.map((one) => ({ name, ...partOf(one, encoding.contentType, `body.${name}`) }));
}

const noText = /^(?:image(?!\/svg)|audio|video|font)\/|\/(?:pdf|g?zip)$/i;

function partOf(value: unknown, documented: string | undefined, option: string) {
  const types = (documented ?? "*/*").split(",").map((type) => type.trim());
  const [first, another] = types.filter((type) => !type.includes("*"));
  const isFile = isBytes(value);
  const { type: own = "", name = "blob" } = Object(isFile && value) as {
    type?: string;
    name?: string;
  };
  const isObject = typeof value === "object";
  const usual = isFile ? "application/octet-stream" : isObject ? "application/json" : "text/plain";
  const match = bestMatch(usual, types) && usual;
  // Bytes show no type, so of several concrete ones none is chosen for them.
  const contentType = isFile ? own || match || (another === undefined && first) : (first ?? match);
  // A path would be sent as the picture itself. Other text may be its base64.
  const isPath =
    isText(value) && /[^\w+/=\s-]/.test(String(value)) && noText.test(contentType || "");
  if (!contentType || isPath || (isFile && !bestMatch(contentType, types)))
    throw invalidOption(
      option,
      `must be of the media type ${types.join(" or ")}`,
      "Pass a Blob with that type.",
    );
  if (!isFile) {
    const content = memberText(value, contentType, option);
    return { content, contentType: documented || isObject ? contentType : undefined };
  }
  requireUnread(value, option);
  return { content: value, fileName: name, contentType };
}

function headOf({ name, contentType, fileName }: Part): string {
  // The escapes are those of HTML forms, which servers know.
  const quoted = (text: string) => `"${text.replace(/["\r\n]/g, encodeURIComponent)}"`;
  const file = fileName === undefined ? "" : `; filename=${quoted(fileName)}`;
  const type = contentType === undefined ? "" : `\r\nContent-Type: ${contentType}`;
  return `Content-Disposition: form-data; name=${quoted(name)}${file}${type}`;
}

/**
 * Joins pieces to a stream that reads each when it is its turn, and cancels those that are left
 * when it is cancelled or one of them fails.
 */
function joined(pieces: readonly Part["content"][]): ReadableStream<Uint8Array> {
  const streams = pieces.map((piece) =>
    isA("ReadableStream", piece)
      ? (piece as ReadableStream)
      : new Blob([piece as BlobPart]).stream(),
  );
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const cancel = async (reason: unknown) => {
    await Promise.all([reader?.cancel(reason), ...streams.map((stream) => stream.cancel(reason))]);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          reader ??= streams.shift()?.getReader();
          if (reader === undefined) return controller.close();
          const { done, value } = await reader.read().catch((error: unknown) => {
            cancel(error).catch(() => {});
            throw error;
          });
          if (!done) return controller.enqueue(value);
          reader = undefined;
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
