/**
 * Makes the URL, headers and body of a call, and rejects values that no request can carry before
 * anything is sent.
 */
import type { QuerySerializerOptions } from "openapi-fetch";
import type { OperationEntry, ParameterEntry } from "../../generated/operations.js";
import { headerRecord, invalidOption } from "../options.js";
import { hasDotSegment, type Target } from "../variants/target.js";

type Values = Readonly<Record<string, unknown>>;

export type CallParameters = { readonly [Place in ParameterEntry["in"]]?: Values | undefined };

/** What a caller says about the request of a call; the last two are those of openapi-fetch. */
export interface RequestOptions {
  readonly params?: CallParameters | undefined;
  readonly body?: unknown;
  readonly headers?: RequestInit["headers"] | undefined;
  /** Writes the whole query in place of the styles of the document. */
  readonly querySerializer?: QuerySerializer | undefined;
  /** Writes the body in place of its media type, which the header content-type still names. */
  readonly bodySerializer?: BodySerializer | undefined;
}

export type QuerySerializer = ((query: Values) => string) | QuerySerializerOptions;
export type BodySerializer = (body: unknown, headers: Headers) => unknown;

export interface CallRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: RequestInit["body"];
}

export interface CallToWrite {
  readonly operationId: string;
  readonly operation: OperationEntry;
  readonly init: RequestOptions;
  readonly target: Target;
  /** Headers that those of `init` replace. */
  readonly common: Values | undefined;
  /** Headers that replace those of `init`. */
  readonly own: Values | undefined;
}

/**
 * Returns undefined for a call that is not as most are. Then the whole request is left to
 * `anyRequest`.
 */
export function usualRequest({
  operation,
  init,
  target,
  common,
  own,
}: CallToWrite): CallRequest | undefined {
  const { contentType = "application/json", contents, parameters } = operation;
  const { body, querySerializer, bodySerializer } = init;
  const params = init.params ?? {};
  const { path, query, header } = params;
  if (/[?#]/.test(operation.path)) return;
  if (querySerializer !== undefined || bodySerializer !== undefined || params.cookie !== undefined)
    return;
  if (parameters !== undefined && !parameters.every((entry) => isUsual(entry, params))) return;
  if (
    header !== undefined &&
    !Object.values(header).every((value) => value === null || isText(value))
  )
    return;
  try {
    let isComplete = true;
    const sent = operation.path.replace(/\{([^{}]+)\}/g, (_braced, name: string) => {
      const value =
        name === "tenantId" && path?.tenantId === undefined ? target.tenantId : path?.[name];
      if (!isText(value) || value === "" || (name === "tenantId" && value !== target.tenantId))
        isComplete = false;
      return percentEncode(String(value));
    });
    if (!isComplete || (path !== undefined && hasDotSegment(sent))) return;
    const search = query === undefined ? "" : usualQuery(query);
    const text =
      body === undefined || contents !== undefined ? undefined : usualBody(body, contentType);
    if (search === undefined || (body !== undefined && text === undefined)) return;
    const headers = headerRecord(common, init.headers, header, own);
    if (text !== undefined) {
      headers["content-type"] ??= contentType;
      if (headers["content-type"] !== contentType) return;
    }
    return { url: target.baseUrl + sent + search, headers, body: text };
  } catch (error) {
    // encodeURIComponent throws for half a surrogate pair.
    if (error instanceof URIError) return;
    throw error;
  }
}

/**
 * Whether a parameter of the table is left out, or is text in the form that is the default of its
 * place.
 */
function isUsual(entry: ParameterEntry, params: CallParameters): boolean {
  const { in: place, name, required, style, explode, allowReserved, content } = entry;
  const value = params[place]?.[name];
  // A caller may write the name of a header in other letters.
  if (value === undefined) return !required && (place !== "header" || params.header === undefined);
  return (style ?? explode ?? allowReserved ?? content) === undefined && isText(value);
}

function usualQuery(query: Values): string | undefined {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!values.every(isText)) return;
    for (const one of values) pairs.push(`${percentEncode(name)}=${percentEncode(String(one))}`);
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** A value of JSON, or a form of text. */
function usualBody(body: unknown, contentType: string): string | undefined {
  const isObject =
    Object.prototype.toString.call(body) === "[object Object]" &&
    // The streams of Node are objects of what their class holds.
    !(Symbol.asyncIterator in Object(body));
  if (/^application\/(?:[\w.-]+\+)?json$/.test(contentType)) {
    if (!isObject && !Array.isArray(body) && body !== null && !isText(body)) return;
    try {
      return JSON.stringify(body);
    } catch {
      return;
    }
  }
  if (contentType !== "application/x-www-form-urlencoded" || !isObject) return;
  const fields = Object.entries(Object(body)).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  if (!fields.every(([, value]) => isText(value))) return;
  const text = new URLSearchParams(fields.map(([name, value]) => [name, String(value)])).toString();
  // The replacement character may stand for half a surrogate pair.
  return text.includes("%EF%BF%BD") ? undefined : text;
}

function isText(value: unknown): boolean {
  const type = typeof value;
  return type === "string" || type === "boolean" || type === "bigint" || Number.isFinite(value);
}

/** encodeURIComponent leaves five characters that RFC 6570 reserves. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * The header X-Envelope. Any string is accepted, because the description does not list its values
 * (section 4.3).
 */
export function envelopeHeader(envelope: unknown): Record<string, string> | undefined {
  if (envelope === undefined) return undefined;
  if (typeof envelope === "string" && envelope !== "") return { "x-envelope": envelope };
  throw invalidOption("envelope", "must be a non-empty string");
}
