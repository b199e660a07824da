/** The waits before a request is sent again: the schedule, and Retry-After. */
import type { ResolvedClock } from "../clock.js";
import { untilAborted } from "./exchange.js";

/** "A few seconds, doubling" (section 8 of the description): 2, 4, 8 and so on. */
const firstStepMs = 2_000;
/**
 * The fifth doubling. Only callers with a longer `retryDeadlineMs` than the usual minute wait for
 * it.
 */
const longestStepMs = 64_000;
/**
 * The share of a step that is added at random, so that the processes of a fleet do not all retry at
 * once.
 */
const backoffJitter = 0.25;

/**
 * Milliseconds to wait after the n-th failure in a row, counted from 0: "a few seconds, doubling,
 * with random jitter".
 */
export function backoffMs(failures: number, clock: ResolvedClock): number {
  return (
    Math.min(firstStepMs * 2 ** failures, longestStepMs) * (1 + backoffJitter * clock.random())
  );
}

/**
 * Waits by the clock, in which the wait then counts in full.
 * @throws the signal's reason after an abort
 */
export async function sleep(
  ms: number,
  signal: AbortSignal | undefined,
  clock: ResolvedClock,
): Promise<void> {
  const ended = new AbortController();
  // A millisecond at least: less could be lost in rounding, and never add up to the end of a wait.
  const endMs = clock.elapsed() + Math.ceil(ms);
  await untilAborted(clock.sleep(ms, ended.signal), signal).finally(() => ended.abort());
  clock.elapsed(endMs);
}

/** A longer Retry-After is cut to a day, so that no answer can stop a program for good. */
const longestMs = 24 * 3_600 * 1_000;
/**
 * The unit of `Retry-After`. A date of it may be less ahead, over and over by a clock that stands
 * still.
 */
const shortestMs = 1_000;
/**
 * The share of a `Retry-After` that is added at random. No wait is shorter than the server asked
 * for, up to a day.
 */
const retryAfterJitter = 0.1;

/**
 * Returns the wait after the n-th failure in a row, counted from 0: what `parseRetryAfterMs` found,
 * or the schedule.
 */
export function retryWaitMs(
  askedMs: number | undefined,
  failures: number,
  clock: ResolvedClock,
): number {
  if (askedMs === undefined) return backoffMs(failures, clock);
  return Math.min(
    Math.max(askedMs, shortestMs) * (1 + retryAfterJitter * clock.random()),
    longestMs,
  );
}

/** Returns the sentence that a message about a wait needs if the wait may have been cut. */
export function cutNote(waitMs = 0): string {
  return waitMs < longestMs
    ? ""
    : " Retry-After asks for a day or longer, and more than a day is not waited for.";
}

/**
 * Reads an HTTP date (RFC 9110 section 5.6.7), or returns NaN. The form of asctime names no zone,
 * and is in GMT.
 */
export function parseHttpDate(text: string | null): number {
  return Date.parse((text ?? "").replace(/ \d{4}$/, "$& GMT"));
}

/**
 * Returns how long an answer asks to wait, in milliseconds (RFC 9110 section 10.2.3); `undefined`
 * when the header is absent, malformed or not in the future.
 */
export function parseRetryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+$/.test(value))
    return Number(value) > 0 ? Math.min(Number(value) * 1000, longestMs) : undefined;
  // Only HTTP dates are accepted: Date.parse would read "-1" and "1.5" as years.
  if (!/^[A-Za-z]{3,9},? /.test(value)) return undefined;
  const at = parseHttpDate(value);
  // The date is by the server's clock, so it is compared with the Date of the same answer if that
  // has one.
  const serverNow = headers.has("age") ? Number.NaN : parseHttpDate(headers.get("date"));
  const waitMs = at - (Number.isNaN(serverNow) ? now : serverNow);
  return waitMs > 0 ? Math.min(waitMs, longestMs) : undefined;
}
