/** Keeps the runtime from repeating a request that is not idempotent. */
import type { Fetch } from "./exchange.js";

/** The methods that may be sent again although the first request may have been processed (RFC 9110 section 9.2.2). */
export const idempotentMethods: readonly string[] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/** Whether a body can be sent twice. A stream can be read only once. */
export function canBeSentAgain(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === "string" || ArrayBuffer.isView(body))
    return true;
  return [URLSearchParams, ArrayBuffer, Blob, FormData].some((kind) => body instanceof kind);
}

/**
 * Makes a fetch whose requests undici, which is Node's fetch, sends once unless their method is idempotent. After a 421
 * undici repeats any request (RFC 9110 section 15.5.20) but one whose body it cannot make again: an iterable or a stream.
 *
 * With `isOwn` the fetch is the caller's and may know neither, so only text is replaced, and the body that is missing.
 */
export function sendingOnce(fetch: Fetch, isOwn: boolean): Fetch {
  return (url, init = {}) => {
    const { method = "GET", body } = init;
    const isUndici = globalThis.process?.versions?.undici !== undefined;
    if (!isUndici || idempotentMethods.includes(method)) return fetch(url, init);
    if (body === undefined || body === null) return fetch(url, ofText(init, "", null));
    if (typeof body === "string") return fetch(url, ofText(init, body, "text/plain;charset=UTF-8"));
    if (!canBeSentAgain(body)) return fetch(url, { ...withoutLogin, ...init });
    if (isOwn) return fetch(url, init);
    // Undici would hold the whole body in memory too.
    const whole = new Response(body);
    const type = whole.headers.get("content-type");
    return whole
      .arrayBuffer()
      .then((bytes) => fetch(url, ofBody(init, new Response(bytes).body, bytes, type)));
  };
}

const encoder = /* @__PURE__ */ new TextEncoder();

/** An iterable costs a tenth of a stream. A fetch that does not know iterables sends `String(body)`. */
function ofText(init: RequestInit, text: string, type: string | null): RequestInit {
  const bytes = encoder.encode(text);
  const body = {
    toString: () => text,
    async *[Symbol.asyncIterator]() {
      // An empty chunk would keep some versions of undici waiting.
      if (text !== "") yield bytes;
    },
  };
  return ofBody(init, body, bytes, type);
}

/** Node 24.14 and 24.15 answer a stream that meets a 401 with a network fault, unless no login could be asked for. */
const withoutLogin = { credentials: "omit" } as const;

/** The headers are those that fetch makes of the original body. */
function ofBody(
  init: RequestInit,
  body: unknown,
  { byteLength }: ArrayBufferLike | Uint8Array,
  type: string | null,
) {
  // All requests of this package have a record of headers with names in lower case.
  const headers = { ...(init.headers as Record<string, string>) };
  if (type !== null) headers["content-type"] ??= type;
  headers["content-length"] = String(byteLength);
  return { ...withoutLogin, ...init, headers, body, duplex: "half" } as RequestInit;
}
