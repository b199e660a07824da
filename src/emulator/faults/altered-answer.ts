// Answers that a fault makes up, or makes of the real one.
import { canHaveContent, statusWithContent } from "./content.js";
import type { FaultOf, Json } from "./fault.js";

const DEFAULT_RETRY_AFTER_SECONDS = 1;

export function statusAnswer({ status, body, headers }: FaultOf<"status">): Response {
  const given = new Headers(headers);
  const type = given.get("content-type");
  if (body === undefined) {
    if (canHaveContent(status)) given.set("content-length", "0");
    return new Response(null, { status, headers: given });
  }
  // A gateway's page: JSON would put it in quotes.
  const isText = typeof body === "string" && type !== null && !/json/i.test(type);
  if (type === null) given.set("content-type", "application/json");
  return new Response(isText ? body : JSON.stringify(body), { status, headers: given });
}

/** `now`: epoch milliseconds, by the clock that `Date` shows too. */
export function rateLimitedAnswer({ retryAfter }: FaultOf<"rate-limited">, now: number): Response {
  const headers = new Headers({ "cache-control": "no-store", "content-length": "0" });
  const after = retryAfter ?? DEFAULT_RETRY_AFTER_SECONDS;
  if (after === "date") {
    headers.set(
      "retry-after",
      new Date((Math.ceil(now / 1000) + DEFAULT_RETRY_AFTER_SECONDS) * 1000).toUTCString(),
    );
  } else if (after !== "absent") headers.set("retry-after", String(after));
  return new Response(null, { status: 429, headers });
}

export async function malformedJson(answer: Response): Promise<Response> {
  const text = await answer.text();
  const half = text.slice(0, Math.ceil(text.length / 2));
  // Half a number may be one, and nothing is cut in half of nothing.
  return withJson(answer, parsed(half) === undefined && half !== "" ? half : `${half}{"`);
}

export async function otherFields(answer: Response, { fields }: FaultOf<"fields">): Promise<Response> {
  const value = parsed(await answer.text());
  if (Array.isArray(value)) return withJson(answer, JSON.stringify(value.map((one) => merged(one, fields))));
  return withJson(answer, JSON.stringify(merged(isObject(value) ? value : {}, fields)));
}

export function otherContentType(answer: Response, { contentType }: FaultOf<"content-type">): Response {
  const headers = new Headers(answer.headers);
  headers.set("content-type", contentType);
  return new Response(answer.body, { status: answer.status, headers });
}

/** The same answer with another body; one that could have none is a 200. */
function withJson(answer: Response, body: string): Response {
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return new Response(body, { status: statusWithContent(answer.status), headers });
}

function merged(value: unknown, fields: Readonly<Record<string, Json>>): unknown {
  if (!isObject(value)) return value;
  const members = new Map([...Object.entries(value), ...Object.entries(fields)]);
  return Object.fromEntries([...members].filter(([name]) => fields[name] !== null));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
