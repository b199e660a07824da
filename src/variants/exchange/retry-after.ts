/** `Retry-After` (RFC 9110 section 10.2.3): seconds or a date, and what garbage in it means. */

/** No server is taken at its word for longer. */
const longestMs = 366 * 24 * 3_600 * 1_000;

/**
 * How long an answer asks to wait, in milliseconds; `undefined` when it does not say, says it wrongly, or names a
 * moment that is not in the future.
 */
export function parseRetryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+$/.test(value)) return Number(value) > 0 ? Math.min(Number(value) * 1000, longestMs) : undefined;
  // Only the forms of an HTTP date: Date.parse reads "-1" and "1.5" as years.
  if (!/^[A-Za-z]{3,9},? /.test(value)) return undefined;
  const at = Date.parse(value);
  // The date is by the server's clock: where the answer tells that too, the difference is what counts.
  const serverNow = headers.has("age") ? Number.NaN : Date.parse(headers.get("date") ?? "");
  const waitMs = at - (Number.isNaN(serverNow) ? now : serverNow);
  return waitMs > 0 ? Math.min(waitMs, longestMs) : undefined;
}
