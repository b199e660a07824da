/**
 * Any request and any answer that a document may have. Loaded lazily: most calls send what
 * `usualRequest` writes, and receive JSON. What it imports beside its own modules other lazy parts
 * import too, so that bundlers make no more files of it.
 */
import { createQuerySerializer } from "openapi-fetch";
import { headerRecord, invalidOption, requireOptions } from "../options.js";
import { contentOf } from "./body.js";
import { cookieHeader, parameterHeaders, requestUrl, requireParameters } from "./parameters.js";
import type { CallRequest, CallToWrite, QuerySerializer, Values } from "./request.js";

export { answerReader, notJson } from "./answer.js";

/** @throws ConfigurationError for what cannot be sent as the document says */
export function anyRequest({
  operationId,
  operation,
  init,
  target,
  common,
  own,
}: CallToWrite): CallRequest {
  const { path, parameters } = operation;
  const { querySerializer } = init;
  const params = init.params ?? {};
  const serializer = querySerializer === undefined ? undefined : querySerializerOf(querySerializer);
  const url = requestUrl(path, params, target, parameters, serializer);
  const headers = headerRecord(
    common,
    init.headers,
    parameterHeaders(params.header, parameters),
    own,
  );
  const cookie = params.cookie && cookieHeader(params.cookie, parameters, headers.cookie);
  if (cookie !== undefined) headers.cookie = cookie;
  if (parameters !== undefined) requireParameters(operationId, parameters, params, headers);
  if (init.body === undefined) return { url, headers, body: undefined };
  const { body, contentType } = contentOf(operation, init.body, headers, init.bodySerializer);
  // The fetch adds the type of a FormData, with its boundary.
  if (contentType === undefined) delete headers["content-type"];
  else headers["content-type"] = contentType;
  return { url, headers, body };
}

function querySerializerOf(given: QuerySerializer): (query: Values) => string {
  if (typeof given !== "function" && (typeof given !== "object" || given === null))
    throw invalidOption("querySerializer", "must be a function, or the options of one");
  if (typeof given === "object") {
    requireOptions("querySerializer", given, { array: true, object: true, allowReserved: true });
    for (const style of [given.array, given.object])
      requireOptions("querySerializer", style ?? {}, { style: true, explode: true });
    const serialize = createQuerySerializer(given);
    return (query) => {
      try {
        return serialize(query);
      } catch {
        const problem = "cannot be written with these options of querySerializer";
        throw invalidOption("params.query", problem, "Pass a function.");
      }
    };
  }
  return (query) => {
    const text: unknown = given(query);
    if (typeof text === "string") return text.replace(/^\?/, "");
    throw invalidOption("querySerializer", "must return a string");
  };
}
