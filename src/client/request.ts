/** Makes the URL, headers and body of a call, and rejects values that no request can carry before anything is sent. */
import { createFinalURL, createQuerySerializer, defaultPathSerializer } from "openapi-fetch";
import { ConfigurationError } from "../errors.js";
import { invalidOption } from "../options.js";
import { hasDotSegment, type Target } from "../variants/target.js";

export interface CallParameters {
  readonly path?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly header?: Readonly<Record<string, unknown>> | undefined;
}

const querySerializer = /* @__PURE__ */ createQuerySerializer();
/** encodeURIComponent throws for half a surrogate pair. */
const loneSurrogate = /\p{Surrogate}/u;

/** Builds the URL of a call with the Auth's `tenantId`. Another one is rejected, because a token is for one tenant. */
export function requestUrl(template: string, { path, query }: CallParameters, target: Target): string {
  const names = template.match(/\{[^{}]+\}/g);
  if (names === null && query === undefined) return target.baseUrl + template;
  const filled: Record<string, unknown> = {};
  for (const braced of names ?? []) {
    const name = nameIn(braced);
    filled[name] = name === "tenantId" ? tenantIdOf(path, target) : pathParameter(name, path);
  }
  let search = "";
  try {
    if (query !== undefined) search = querySerializer(query);
  } catch {
    const problem = "must fit into a URL: it holds nested objects or lists, or half a surrogate pair";
    throw invalidOption("params.query", problem);
  }
  const url = createFinalURL(template, {
    baseUrl: target.baseUrl,
    params: { path: filled },
    querySerializer: () => search,
    pathSerializer: defaultPathSerializer,
  });
  // The check is of the serialised value, because a list with one entry or a label's dot can also result in "..".
  const sent = url.slice(target.baseUrl.length).split("?", 1)[0] ?? "";
  if (hasDotSegment(sent)) throw wouldFold(template, sent);
  return url;
}

/** The parameter name without the braces, the prefix of its style and its `*`. */
function nameIn(braced: string): string {
  return /\{[.;]?([^{}*]+)/.exec(braced)?.[1] ?? braced;
}

function tenantIdOf(path: CallParameters["path"], { tenantId }: Target): string {
  const given = path?.tenantId;
  if (given === undefined && tenantId === "") throw wrongParameter("missing", "tenantId", "is missing");
  if (given === undefined || given === tenantId) return tenantId;
  const problem = "is not the tenant that the token is for. Leave it out, or connect to that tenant";
  throw wrongParameter("invalid", "tenantId", problem);
}

function pathParameter(name: string, path: CallParameters["path"]): unknown {
  const value = path?.[name];
  const isObject = typeof value === "object" && value !== null;
  const parts = isObject ? Object.values(value) : [value];
  if (parts.every((part) => part === undefined || part === null || part === ""))
    throw wrongParameter("missing", name, "is missing or empty. Pass it in params.path");
  const isPlain = parts.every((part) => ["string", "number", "boolean", "bigint"].includes(typeof part));
  // openapi-fetch does not encode the keys of an object.
  if (!isPlain || (isObject && !Object.keys(value).every((key) => /^[\w.~-]+$/.test(key))))
    throw wrongParameter("invalid", name, "must be text or a number, or a list or an object of such values");
  if (parts.some((part) => loneSurrogate.test(String(part))))
    throw wrongParameter("invalid", name, "holds half a surrogate pair, which no URL can hold");
  return value;
}

/** Names the parameter of the first segment that would be folded. A value adds no segment, as its slashes are encoded. */
function wouldFold(template: string, path: string): ConfigurationError {
  const name = nameIn(template.split("/")[path.split("/").findIndex(hasDotSegment)] ?? "");
  const problem =
    'must not result in a path segment "." or "..", encoded or not. Servers and proxies fold those, and the bearer would reach another path. Pass an id, not a path';
  return wrongParameter("invalid", name, problem);
}

function wrongParameter(kind: "missing" | "invalid", name: string, problem: string): ConfigurationError {
  const message = `The path parameter "${name}" ${problem}.`;
  return new ConfigurationError(`path_parameter_${kind}`, message, { option: `params.path.${name}` });
}

/** The name of a header or a method (RFC 9110 section 5.6.2). */
export const httpToken: RegExp = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** A header value may have visible characters, spaces, tabs and bytes above 0x7F (RFC 9110 section 5.5). */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Merges headers of any realm into a plain record with lower-case names. It is cheaper than the class, and any fetch
 * accepts it. Later headers win; `null` or `undefined` removes a header. An error message never contains a value.
 */
export function headerRecord(
  ...all: readonly (RequestInit["headers"] | Readonly<Record<string, unknown>> | undefined)[]
): Record<string, string> {
  const record: Record<string, string> = {};
  for (const headers of all) {
    if (headers === undefined || headers === null) continue;
    if (typeof headers !== "object") throw invalidOption("headers", "must be an object or a list of pairs");
    const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
    for (const entry of entries as Iterable<unknown>) {
      if (!Array.isArray(entry) || entry.length !== 2)
        throw invalidOption("headers", "must hold pairs of a name and a value");
      const [name, value] = entry as [unknown, unknown];
      const key = String(name).toLowerCase();
      const text = String(value);
      if (value === null || value === undefined) delete record[key];
      else if (!httpToken.test(key)) throw invalidOption("headers", "hold a name that HTTP does not allow");
      else if (headerValue.test(text)) record[key] = text;
      else throw invalidOption("headers", `hold a forbidden character, such as a line break, in ${key}`);
    }
  }
  return record;
}

/** Serialises a body for its media type. Bytes, strings and forms stay as they are, except for JSON. */
export function requestBody(
  body: unknown,
  contentType = "application/json",
): NonNullable<RequestInit["body"]> | undefined {
  if (body === undefined) return undefined;
  if (contentType === "application/x-www-form-urlencoded") {
    if (body instanceof URLSearchParams || typeof body === "string") return body.toString();
    return new URLSearchParams(formFields(body)).toString();
  }
  if (/^application\/(?:[\w.-]+\+)?json$/.test(contentType)) return jsonOf(body);
  return body as NonNullable<RequestInit["body"]>;
}

function formFields(body: unknown): [string, string][] {
  if (typeof body !== "object" || body === null)
    throw invalidOption("body", "must be an object, since the operation accepts a form");
  return Object.entries(body).flatMap(([name, value]: [string, unknown]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined && one !== null)
      .map((one): [string, string] => [name, typeof one === "object" ? jsonOf(one) : String(one)]),
  );
}

/** JSON.stringify would write these as `{}`, or as an object of numbered bytes. */
const notJson = /^\[object (?:FormData|Blob|File|URLSearchParams|ReadableStream|ArrayBuffer|\w+Array)\]$/;

function jsonOf(body: unknown): string {
  if (notJson.test(Object.prototype.toString.call(body)))
    throw invalidOption("body", "must be an object or a list, not a form, bytes or a stream");
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch {
    // The engine's message may quote the body.
  }
  if (text !== undefined) return text;
  const problem = "must be JSON: it is a function, contains a bigint or itself, or its toJSON fails";
  throw invalidOption("body", problem);
}
