/** The waits before a request is sent again: the schedule, Retry-After, and deadlines. */
import type { Clock } from "../options.js";
import { untilAborted } from "./exchange.js";

const firstStepMs = 2_000;
const longestStepMs = 64_000;
/** The share of a step that is added at random, so that the processes of a fleet do not all retry at once. */
const backoffJitter = 0.25;

/** Milliseconds to wait after the n-th failure in a row, counted from 0: "a few seconds, doubling, with random jitter". */
export function backoffMs(failures: number): number {
  return Math.min(firstStepMs * 2 ** failures, longestStepMs) * (1 + backoffJitter * Math.random());
}

/** Waits until the time has passed in real time or by the stepped clock. @throws the signal's reason after an abort */
export function sleep(ms: number, signal: AbortSignal | undefined, clock?: Clock): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ended = new AbortController();
  const elapsed = new Promise<void>((resolve, reject) => {
    timer = setTimeout(resolve, ms);
    clock?.sleep(ms, ended.signal).then(resolve, reject);
  });
  return untilAborted(elapsed, signal).finally(() => {
    clearTimeout(timer);
    ended.abort();
  });
}

/**
 * Starts a countdown. Returns a function that returns the milliseconds left, 0 or less at the end. Time passes by `now`
 * or by the machine's timer, whichever has moved further: a frozen `now` does not delay the end, a step of `now` brings it.
 */
export function countdown(ms: number, now: () => number): () => number {
  const startedAt = now();
  const startedReal = performance.now();
  return () => ms - Math.max(now() - startedAt, performance.now() - startedReal);
}

/** A countdown that is over, or a clock that stands still. It is one function, so that no instance has its own. */
export const zero = (): number => 0;

/** Starts the countdown to a deadline: in real time, whatever `now` says, and by the stepped clock if there is one. */
export function deadlineIn(ms: number, { clock }: { readonly clock?: Clock | undefined }): () => number {
  return countdown(ms, clock === undefined ? zero : () => clock.now());
}

/** A longer Retry-After is cut to a day, so that no answer can stop a program for good. */
const longestMs = 24 * 3_600 * 1_000;
/** The share of a `Retry-After` that is added at random. No wait is shorter than the server asked for, up to a day. */
const retryAfterJitter = 0.1;

/** Returns the wait after the n-th failure in a row, counted from 0: what `parseRetryAfterMs` found, or the schedule. */
export function retryWaitMs(askedMs: number | undefined, failures: number): number {
  if (askedMs === undefined) return backoffMs(failures);
  return Math.min(askedMs * (1 + retryAfterJitter * Math.random()), longestMs);
}

/** Returns the sentence that a message about a wait needs if the wait may have been cut. */
export function cutNote(waitMs = 0): string {
  return waitMs < longestMs
    ? ""
    : " Retry-After asks for a day or longer, and more than a day is not waited for.";
}

/** Reads an HTTP date (RFC 9110 section 5.6.7), or returns NaN. The form of asctime names no zone, and is in GMT. */
export function parseHttpDate(text: string | null): number {
  return Date.parse((text ?? "").replace(/ \d{4}$/, "$& GMT"));
}

/**
 * Returns how long an answer asks to wait, in milliseconds (RFC 9110 section 10.2.3); `undefined` when the header is
 * absent, malformed or not in the future.
 */
export function parseRetryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+$/.test(value)) return Number(value) > 0 ? Math.min(Number(value) * 1000, longestMs) : undefined;
  // Only HTTP dates are accepted: Date.parse would read "-1" and "1.5" as years.
  if (!/^[A-Za-z]{3,9},? /.test(value)) return undefined;
  const at = parseHttpDate(value);
  // The date is by the server's clock, so it is compared with the Date of the same answer if that has one.
  const serverNow = headers.has("age") ? Number.NaN : parseHttpDate(headers.get("date"));
  const waitMs = at - (Number.isNaN(serverNow) ? now : serverNow);
  return waitMs > 0 ? Math.min(waitMs, longestMs) : undefined;
}
