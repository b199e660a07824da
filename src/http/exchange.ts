/** One HTTP exchange, as detections and token requests use it: a request, its bounded answer, and Retry-After. */
import { UnexpectedResponseError, type Variant } from "../errors.js";
import { type TimeLimitOptions, withTimeLimit } from "./time-limit.js";

/** An answer whose body was read completely. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Epoch milliseconds, by the clock of the caller. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** The time limit is that of the whole exchange, from sending to the last byte. */
interface ExchangeOptions extends TimeLimitOptions {
  readonly now: () => number;
}

const maximumBodyBytes = 1024 * 1024;

/**
 * Sends one request and reads its answer, up to 1 MiB. Redirects are not followed, since a request may carry a
 * credential: the caller judges them.
 *
 * @throws TransportError when the network, the time limit or the certificate fails
 * @throws UnexpectedResponseError `response_too_large`
 * @throws the signal's reason when it is aborted
 */
export function exchange(
  send: (signal: AbortSignal) => Promise<Response>,
  { now, ...limit }: ExchangeOptions,
): Promise<Answer> {
  return withTimeLimit(async (abort) => {
    const sentAt = now();
    const response = await send(abort);
    const receivedAt = now();
    const text = await readBounded(response, limit.variant);
    // In a browser a redirect that is not followed has the status 0.
    const status = response.type === "opaqueredirect" ? 302 : response.status;
    return { status, headers: response.headers, text, sentAt, receivedAt };
  }, limit);
}

/** Reads the text of a body of at most 1 MiB, without a byte order mark. */
export async function readBounded(response: Response, variant: Variant): Promise<string> {
  const tooLarge = () =>
    new UnexpectedResponseError("response_too_large", "The answer is larger than 1 MiB.", {
      status: response.status,
      variant,
    });
  const body = response.body;
  if (body === null || body === undefined) return "";
  if (Number(response.headers.get("content-length")) > maximumBodyBytes) {
    body.cancel().catch(() => {});
    throw tooLarge();
  }
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // A chunk is decoded when the next one arrives: a body in one chunk, the usual case, is decoded in one call.
  let latest: Uint8Array | undefined;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode(latest);
    bytes += value.byteLength;
    if (bytes > maximumBodyBytes) {
      reader.cancel().catch(() => {});
      throw tooLarge();
    }
    if (latest !== undefined) text += decoder.decode(latest, { stream: true });
    latest = value;
  }
}

/** Parses a text as a JSON object; `undefined` when it is not one. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A longer Retry-After is cut to this. */
const longestMs = 366 * 24 * 3_600 * 1_000;

/**
 * Returns how long an answer asks to wait, in milliseconds (RFC 9110 section 10.2.3); `undefined` when the header is
 * absent, malformed or not in the future.
 */
export function parseRetryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+$/.test(value)) return Number(value) > 0 ? Math.min(Number(value) * 1000, longestMs) : undefined;
  // Only HTTP dates: Date.parse would read "-1" and "1.5" as years.
  if (!/^[A-Za-z]{3,9},? /.test(value)) return undefined;
  const at = Date.parse(value);
  // The date is by the server's clock, so it is compared with the Date of the same answer where there is one.
  const serverNow = headers.has("age") ? Number.NaN : Date.parse(headers.get("date") ?? "");
  const waitMs = at - (Number.isNaN(serverNow) ? now : serverNow);
  return waitMs > 0 ? Math.min(waitMs, longestMs) : undefined;
}
