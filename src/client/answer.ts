/** Reads an answer by its media type, which it holds against the documented ones. Loaded lazily. */
import type { OperationEntry, ServerSentEvent } from "../../generated/operations.js";
import type { Auth } from "../auth/auth.js";
import { UnexpectedResponseError, type Variant } from "../errors.js";
import {
  discard,
  jsonOrText,
  maximumBodyBytes,
  parseJson,
  transportError,
  untilAborted,
} from "../http/exchange.js";
import { invalidOption } from "../options.js";
import { bestMatch, essence } from "./body.js";
import type { ParseAs } from "./outcome.js";
import { jsonType } from "./text-and-json.js";

interface Reading {
  readonly parseAs: ParseAs | undefined;
  readonly mostBytes: number | undefined;
  readonly auth: Pick<Auth, "variant" | "baseUrl">;
  readonly signal: AbortSignal | undefined;
}

export interface AnswerReader {
  /** The value of the header accept. */
  readonly accept: string;
  readonly read: (
    response: Response,
    isSuccess: boolean,
    located: Located,
  ) => Promise<AnswerContent>;
}

/** Adds to an error what the call is about. */
type Located = (error: unknown) => unknown;

/** What was read. Schemas are for JSON only. */
export interface AnswerContent {
  readonly value: unknown;
  readonly isJson: boolean;
}

type Kind = ParseAs | "events" | "lines";

const parsers: readonly ParseAs[] = ["json", "text", "blob", "arrayBuffer", "stream"];

/** @throws ConfigurationError `option_invalid` */
export function answerReader(operation: OperationEntry, reading: Reading): AnswerReader {
  const { parseAs } = reading;
  if (parseAs !== undefined && !parsers.includes(parseAs))
    throw invalidOption("parseAs", `must be one of ${parsers.join(", ")}`);
  return {
    accept: acceptOf(operation),
    read: (response, isSuccess, located) =>
      readAnswer(response, operation, isSuccess, reading, located),
  };
}

const jsonLines = /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-lines|json-seq)$/;

/** How a media type is read. */
function kindOf(mediaType: string): Kind {
  const type = essence(mediaType);
  if (type === "text/event-stream") return "events";
  if (jsonLines.test(type)) return "lines";
  if (jsonType.test(type)) return "json";
  return /^text\/|[/+]xml$/.test(type) ? "text" : "blob";
}

/**
 * The documented media types of a status, or undefined if the document has no answer of that
 * status.
 */
function documentedTypes(
  { answers, success, failure }: OperationEntry,
  status: number,
): readonly string[] {
  const own = answers?.[String(status)];
  if (own !== undefined) return own;
  // What `default` has is for no success with an answer of its own.
  const others = success.includes(status) ? undefined : answers?.default;
  const shared = answers?.[`${String(status)[0]}XX`] ?? others;
  // What has only JSON, or nothing, is left out of the table, so a status that is not in it may
  // have that too.
  if (shared !== undefined) return [...shared, "application/json"];
  return success.length === 0 && !failure.includes(status) ? ["*/*"] : ["application/json"];
}

/** Names the documented media types of successes, JSON before others, and then those of errors. */
function acceptOf({ success, answers = {} }: OperationEntry): string {
  const json = "application/json";
  // Of the statuses that the table leaves out only the first counts: others are likely to be empty.
  const wanted = success.flatMap(
    (status, index) => answers[status] ?? answers["2XX"] ?? (index === 0 ? [json] : []),
  );
  if (success.length === 0) wanted.push(json, "*/*");
  if (wanted.every((type) => type === json)) return json;
  const hasJson = wanted.some((type) => jsonType.test(type));
  const ranked = wanted.map((type) => (hasJson && !jsonType.test(type) ? `${type};q=0.9` : type));
  const others = [json, ...Object.values(answers).flat()].filter((type) => !wanted.includes(type));
  return [...new Set([...ranked, ...others.map((type) => `${type};q=0.5`)])].join(", ");
}

/** How an answer is read, or undefined if it is none of those that are documented. */
function expectedKind(type: string | undefined, documented: readonly string[]): Kind | undefined {
  const kinds = new Set(documented.map(kindOf));
  if (type === undefined) return kinds.has("json") ? "json" : kindOf(documented[0] ?? "");
  const kind = kindOf(type);
  if (bestMatch(type, documented) !== undefined) return kind;
  // A page is what a proxy answers in place of the API.
  if (/^(?:text\/html|application\/xhtml\+xml)$/.test(essence(type))) return undefined;
  if (kinds.has(kind)) return kind;
  // Bytes are bytes, and JSON is text, whatever the answer calls them.
  if (kinds.size !== 1) return undefined;
  return kinds.has("blob") ? "blob" : kinds.has("text") && kind === "json" ? "text" : undefined;
}

/**
 * Reads an answer. The caller has limited the time: for what is read whole to the last byte, for a
 * stream to its head.
 *
 * @throws UnexpectedResponseError `response_media_type`, `response_not_json`, `response_too_large`
 */
async function readAnswer(
  response: Response,
  operation: OperationEntry,
  isSuccess: boolean,
  reading: Reading,
  located: Located,
): Promise<AnswerContent> {
  const { mostBytes, auth } = reading;
  const { variant } = auth;
  const { status } = response;
  const type = response.headers.get("content-type")?.toLowerCase() || undefined;
  const documented = documentedTypes(operation, status);
  if (!isSuccess) return refusalOf(response, type, documented, reading);
  const kind = reading.parseAs ?? expectedKind(type, documented);
  const isJson = kind === "json";
  // There is no body at all, as of a 204 or of the answer to a HEAD.
  if (response.body === null || kind === "stream")
    return { value: response.body ?? undefined, isJson };
  if (kind === undefined) throw undocumented(response, documented, reading);
  if (kind === "events" || kind === "lines") {
    const stream =
      kind === "events"
        ? eventsOf(response, response.body, reading)
        : valuesOf(response, response.body, reading, type ?? documented[0]);
    return { value: whileRead(stream, located), isJson };
  }
  // An unknown charset is refused first, since a body that `limited` locked cannot be cancelled.
  const decoder = kind === "text" ? decoderOf(type, status, variant) : undefined;
  const whole = limited(response, mostBytes, variant);
  if (decoder) return { value: decoder.decode(await whole.arrayBuffer()), isJson };
  if (kind !== "json") return { value: await whole[kind](), isJson };
  const text = await whole.text();
  const json = parseJson(text);
  if (json === undefined && text !== "") throw notJson(response, variant);
  return { value: json, isJson };
}

/** The parser's own message would quote the body. */
export function notJson(
  { status, headers }: Response,
  variant: Variant,
  how: string = kindOf(headers.get("content-type") ?? "") === "json"
    ? ' with malformed JSON. Read it with parseAs "text"'
    : " without JSON. Check baseUrl and any proxy",
): UnexpectedResponseError {
  const message = `The API answered ${status}${how}.`;
  return new UnexpectedResponseError("response_not_json", message, { status, variant });
}

/**
 * The body of an error: a documented text or file as it is, otherwise JSON if it is that. One that
 * is too large counts as empty. A 2xx that is not documented has the limit of a success.
 */
async function refusalOf(
  response: Response,
  type: string | undefined,
  documented: readonly string[],
  { mostBytes, auth }: Reading,
): Promise<AnswerContent> {
  const isDocumented = type !== undefined && bestMatch(type, documented) !== undefined;
  const kind = isDocumented ? kindOf(type) : "json";
  const read = async () => {
    const whole = limited(response, response.ok ? mostBytes : maximumBodyBytes, auth.variant);
    if (kind === "blob") return whole.blob();
    if (kind !== "text") return whole.text();
    const bytes = await whole.arrayBuffer();
    return decoderOf(type, response.status, auth.variant).decode(bytes);
  };
  const content = await read().catch((error: unknown) => {
    if (!(error instanceof UnexpectedResponseError)) throw error;
  });
  const isEmpty = content instanceof Blob && content.size === 0;
  if (typeof content !== "string" || kind !== "json")
    return { value: isEmpty ? undefined : content || undefined, isJson: isDocumented };
  const value = jsonOrText(content);
  return { value, isJson: isDocumented || typeof value === "object" };
}

function undocumented(
  response: Response,
  documented: readonly string[],
  { auth: { variant } }: Reading,
): UnexpectedResponseError {
  const { status } = response;
  if (documented.every((type) => jsonType.test(type))) return notJson(response, variant);
  const message =
    `The API answered ${status} with another media type than ` +
    `${documented.join(", ")}. Check baseUrl and any proxy. parseAs reads any type.`;
  return new UnexpectedResponseError("response_media_type", message, { status, variant });
}

/**
 * Fetch reads all text as UTF-8. Texts of other charsets would arrive with replacement characters.
 */
function decoderOf(type: string | undefined, status: number, variant: Variant): TextDecoder {
  const [, charset = "utf-8"] = /;\s*charset="?([^\s;"]+)/.exec(type ?? "") ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    const message = `The API answered ${status} in an unknown charset. Pass parseAs: "arrayBuffer".`;
    throw new UnexpectedResponseError("response_media_type", message, { status, variant });
  }
}

function tooLarge(status: number, mostBytes: number, variant: Variant): UnexpectedResponseError {
  const message =
    `The API answered ${status} with more than maxResponseBytes (${mostBytes}). ` +
    `Raise it, or pass parseAs "stream".`;
  return new UnexpectedResponseError("response_too_large", message, { status, variant });
}

/** The response with a body that fails when it is larger. */
function limited(response: Response, mostBytes: number | undefined, variant: Variant): Response {
  const { body, status, headers } = response;
  if (body === null || mostBytes === undefined) return response;
  if (Number(headers.get("content-length")) > mostBytes) {
    discard(response);
    throw tooLarge(status, mostBytes, variant);
  }
  let left = mostBytes;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.byteLength;
      if (left < 0) throw tooLarge(status, mostBytes, variant);
      controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(counter), { headers: [...headers] });
}

/** A stream fails after the call has resolved, so the call cannot locate its error. */
async function* whileRead<T>(stream: AsyncGenerator<T>, located: Located): AsyncGenerator<T> {
  try {
    yield* stream;
  } catch (error) {
    throw located(error);
  }
}

async function* eventsOf(
  { status }: Response,
  body: ReadableStream<Uint8Array>,
  reading: Reading,
): AsyncGenerator<ServerSentEvent> {
  const events: ServerSentEvent[] = [];
  const { createParser } = await import("eventsource-parser");
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const linesIn = lineSplitter("\n", status, reading);
  const count = byteCounter(status, reading);
  function* counted(text: string) {
    for (const line of linesIn(text)) {
      // Comments are not counted, since they may be all that a quiet server sends for hours.
      if (!line.startsWith(":")) count(line);
      yield `${line}\n`;
    }
  }
  let isAfterReturn = false;
  for await (const text of textsOf(body, reading)) {
    const rest = isAfterReturn ? text.replace(/^\n/, "") : text;
    isAfterReturn = text.endsWith("\r");
    // The parser searches a chunk that holds a carriage return to its end for each line.
    const lines = rest.replace(/\r\n?/g, "\n");
    // Without a limit the parser splits lines itself, which is four times as fast.
    for (const part of reading.mostBytes === undefined ? [lines] : counted(lines)) {
      parser.feed(part);
      if (events.length > 0) yield* events.splice(0);
    }
  }
}

/**
 * The values of JSON lines, and of a JSON text sequence, whose records begin with a control
 * character (RFC 7464).
 */
async function* valuesOf(
  response: Response,
  body: ReadableStream<Uint8Array>,
  reading: Reading,
  type = "",
): AsyncGenerator<unknown> {
  const separator = /json-seq/i.test(type) ? "\u001e" : "\n";
  const linesIn = lineSplitter(separator, response.status, reading);
  // Nothing is before the control character of the first record.
  let [unit, count] = separator === "\n" ? ["line", 0] : ["record", -1];
  for await (const text of textsOf(body, reading, separator))
    for (const line of linesIn(text)) {
      count += 1;
      if (line.trim() === "") continue;
      const json = parseJson(line);
      const how = `, but ${unit} ${count} of the answer is not JSON. Read it with parseAs "stream"`;
      if (json === undefined) throw notJson(response, reading.auth.variant, how);
      yield json;
    }
}

/** Returns a function that yields the lines that end in a text, which may have begun before it. */
function lineSplitter(separator: string, status: number, reading: Reading) {
  const count = byteCounter(status, reading);
  let line = "";
  return function* (text: string): Generator<string> {
    const pieces = text.split(separator);
    const last = pieces.pop() ?? "";
    for (const piece of pieces) {
      count(piece);
      yield line + piece;
      line = "";
      count(line);
    }
    line += last;
    count(last);
  };
}

/** Returns a function that counts the bytes of texts up to an empty one. */
function byteCounter(status: number, { mostBytes, auth: { variant } }: Reading) {
  let bytes = 0;
  return (text: string): void => {
    if (mostBytes === undefined) return;
    bytes = text === "" ? 0 : bytes + new TextEncoder().encode(text).length;
    if (bytes > mostBytes) throw tooLarge(status, mostBytes, variant);
  };
}

/**
 * Reads the next chunk only when its text is asked for. Whoever stops early closes the connection.
 */
async function* textsOf(
  body: ReadableStream<Uint8Array>,
  { signal, auth }: Reading,
  end = "",
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      // The body of a fetch of the caller's may not end when the signal is aborted.
      const { done, value } = await untilAborted(reader.read(), signal).catch((fault: unknown) => {
        throw signal?.aborted ? signal.reason : transportError(fault, auth.variant, auth.baseUrl);
      });
      const text = decoder.decode(value, { stream: !done }) + (done ? end : "");
      if (text !== "") yield text;
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
