/** Makes the URL, headers and body of a call, and rejects values that no request can carry before anything is sent. */
import type { QuerySerializerOptions } from "openapi-fetch";
import type { OperationEntry } from "../../generated/operations.js";
import { lazy } from "../http/lazy.js";
import { invalidOption } from "../options.js";
import type { Target } from "../variants/target.js";
import { formType, jsonType, requestBody } from "./body.js";
import {
  type CallParameters,
  httpToken,
  parameterHeaders,
  requestUrl,
  requireParameters,
} from "./parameters.js";

/** Loaded at the first call that needs it: most calls send JSON or a simple form. */
const content = /* @__PURE__ */ lazy(() => import("./by-media-type.js"));

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

export type QuerySerializer = ((query: Readonly<Record<string, unknown>>) => string) | QuerySerializerOptions;
export type BodySerializer = (body: unknown, headers: Headers) => unknown;

export interface CallRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: RequestInit["body"];
}

/** @throws ConfigurationError for what cannot be sent as the document says */
export async function requestOf(
  operationId: string,
  operation: OperationEntry,
  init: RequestOptions,
  target: Target,
  ...more: readonly (Readonly<Record<string, unknown>> | undefined)[]
): Promise<CallRequest> {
  const { contentType, contents, parameters } = operation;
  const { querySerializer, bodySerializer } = init;
  const params = init.params ?? {};
  const serializer =
    querySerializer === undefined ? undefined : (await content()).querySerializerOf(querySerializer);
  const url = requestUrl(operation.path, params, target, parameters, serializer);
  const headers = headerRecord(init.headers, parameterHeaders(params.header, parameters), ...more);
  const cookie = params.cookie && (await content()).cookieHeader(params.cookie, parameters, headers.cookie);
  if (cookie !== undefined) headers.cookie = cookie;
  if (parameters !== undefined) requireParameters(operationId, parameters, params, headers);
  if (init.body === undefined) return { url, headers, body: undefined };
  const usual = contentType ?? "application/json";
  const given = headers["content-type"];
  const isJson = jsonType.test(usual);
  const fits = given === undefined || (isJson ? jsonType.test(given) : given.startsWith(formType));
  const isUsual = fits && (isJson || usual === formType) && contents === undefined;
  if (isUsual && bodySerializer === undefined) {
    headers["content-type"] = given ?? usual;
    return { url, headers, body: requestBody(init.body, usual) };
  }
  const sent = (await content()).contentOf(operation, init.body, headers, bodySerializer);
  // The fetch adds the type of a FormData, with its boundary.
  if (sent.contentType === undefined) delete headers["content-type"];
  else headers["content-type"] = sent.contentType;
  return { url, headers, body: sent.body };
}

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
