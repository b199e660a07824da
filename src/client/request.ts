/**
 * Makes the URL, headers and body of a call, and rejects values that no request can carry before
 * anything is sent.
 */
import type { QuerySerializerOptions } from "openapi-fetch";
import type { OperationEntry, ParameterEntry } from "../../generated/operations.js";
import { headerRecord, invalidOption, isPlain, isText, percentEncode, tagOf } from "../options.js";
import { hasDotSegment, type Target } from "../variants/target.js";

export type Values = Readonly<Record<string, unknown>>;

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
  const { path, query, header, cookie } = params;
  if (!/^\/[^?#]*$/.test(operation.path)) return;
  if ((header ?? cookie ?? bodySerializer ?? querySerializer) !== undefined) return;
  if (parameters !== undefined && !parameters.every((entry) => isUsual(entry, params))) return;
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
    const headers = headerRecord(common, init.headers, own);
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
  if (value === undefined) return !required;
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

function usualBody(body: unknown, contentType: string): string | undefined {
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(contentType)) return;
  try {
    return isJson(body) ? JSON.stringify(body) : undefined;
  } catch {
    return;
  }
}

/**
 * Whether JSON.stringify would write what the value holds: not `null` for NaN, an invalid date or
 * what has no JSON in a list, `{}` for a Map, or an object of numbered bytes. It throws for a
 * circle, as JSON.stringify does.
 */
export function isJson(value: unknown): boolean {
  if (typeof value === "number") return isText(value);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return !value.includes(undefined) && value.every(isItem);
  if (ArrayBuffer.isView(value)) return false;
  const { toJSON } = value as Partial<Date>;
  if (typeof toJSON === "function") {
    const json: unknown = toJSON.call(value);
    return json !== null && isJson(json);
  }
  // The streams of Node are objects of what their class holds.
  if (tagOf(value) === "[object Error]" || Symbol.asyncIterator in value) return false;
  const members = Object.values(value);
  return (members.length > 0 || isPlain(value)) && members.every(isJson);
}

/** What has no JSON would be `null` in a list. As a member of an object it is left out. */
function isItem(value: unknown): boolean {
  return typeof value !== "function" && typeof value !== "symbol" && isJson(value);
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
