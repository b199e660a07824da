/** Redirects of API calls, followed by hand: the bearer goes no further than the base URL. */
import { isUnderBase } from "../variants/target.js";

const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];
/** As in the Fetch standard. */
export const mostRedirects = 20;

/** A request that can be looked at and changed. */
export interface PlainRequest {
  readonly url: string;
  readonly method: string;
  readonly body?: BodyInit | null | undefined;
  /** Whether the bearer goes along: only under the base URL. */
  readonly bearer: boolean;
}

/**
 * The request that follows a redirect; `undefined` when there is none to follow. Out of the base a request goes
 * without the bearer, and one with a body does not go at all. Once out, the bearer does not come back.
 */
export function redirected(
  response: Response,
  request: PlainRequest,
  baseUrl: string,
): PlainRequest | undefined {
  if (!redirectStatuses.includes(response.status)) return undefined;
  const location = response.headers.get("location");
  if (location === null) return undefined;
  let url: URL;
  try {
    url = new URL(location, request.url);
  } catch {
    return undefined;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  // Plain http after https would show the rest of the exchange to whoever listens.
  if (url.protocol === "http:" && request.url.startsWith("https:")) return undefined;
  const becomesGet =
    (response.status === 303 && request.method !== "HEAD") ||
    ((response.status === 301 || response.status === 302) && request.method === "POST");
  const method = becomesGet ? "GET" : request.method;
  const body = becomesGet ? undefined : request.body;
  const isInside = isUnderBase(url, baseUrl);
  if (!canBeSentAgain(body)) return undefined;
  if (!isInside && method !== "GET" && method !== "HEAD") return undefined;
  return { url: url.href, method, body, bearer: request.bearer && isInside };
}

/** Whether a body can be sent twice: a stream cannot. */
export function canBeSentAgain(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    typeof body === "string" ||
    body instanceof URLSearchParams ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof Blob ||
    body instanceof FormData
  );
}
