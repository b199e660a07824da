/** The rate limit of a token endpoint (section 8 of the description): the gate, the backoff schedule and the wait. */
import { RateLimitedError, type Variant } from "../errors.js";
import { type Answer, parseRetryAfterMs } from "../http/exchange.js";
import type { StopSignal } from "../http/time-limit.js";
import type { ResolvedAuthOptions } from "./auth-options.js";

/** The share of a `Retry-After` that is added at random: never earlier than the server asked for. */
const retryAfterJitter = 0.1;
/** How often to check whether another caller's probe has ended, where its promise must not be awaited. */
const probeCheckMs = 1_000;
/** A request that was killed never ends its probe: a probe this much over the time limit counts as ended. */
const probeGraceMs = 5_000;

/** `timeoutMs` limits one HTTP request, and so one probe. */
export type RateLimitGateOptions = Pick<ResolvedAuthOptions, "now" | "timeoutMs" | "shareInFlight">;

/** A request that was let through after a 429, before another answer has come. */
interface Probe {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly ended: Promise<void>;
}

/**
 * One gate per token endpoint and tenant: the sliding window of section 8 counts all requests of a tenant. After a 429
 * it is closed for a while. Then requests pass one at a time, until one was answered without a 429; the callers that
 * have waited pass one at a time in any case, so that they do not exceed the limit again at once.
 */
export class RateLimitGate {
  readonly #variant: Variant;
  readonly #options: RateLimitGateOptions;
  #opensAt = 0;
  /** Refusals in a row. */
  #refusals = 0;
  #refusedAt = 0;
  #probe: Probe | undefined;

  constructor(variant: Variant, options: RateLimitGateOptions) {
    this.#variant = variant;
    this.#options = options;
  }

  /** Epoch milliseconds. In the past when it is open. */
  get opensAt(): number {
    return this.#opensAt;
  }

  /** Whether a request would pass without a wait. */
  get isOpen(): boolean {
    return this.#refusals === 0 || this.#opensAt <= this.#now();
  }

  /**
   * Waits until a request may be sent, and returns a function to call after its answer was reported.
   *
   * @throws RateLimitedError at once when the gate opens after `deadlineAt` (epoch milliseconds)
   * @throws the signal's reason
   */
  async enter({ deadlineAt, signal }: { deadlineAt: number; signal: StopSignal }): Promise<() => void> {
    for (let hasWaited = false; this.#refusals > 0 || hasWaited; hasWaited = true) {
      const now = this.#now();
      const isClosed = this.#refusals > 0 && this.#opensAt > now;
      if (this.#refusals > 0 && Math.max(this.#opensAt, now) > deadlineAt) throw this.error();
      // Checked again after the wait: another 429 may have come meanwhile.
      if (isClosed) await sleep(this.#opensAt - now, signal);
      else if (this.#probe === undefined || this.#isDead(this.#probe)) return this.#startProbe();
      else if (this.#options.shareInFlight) await endOf(this.#probe.ended, signal);
      else await sleep(probeCheckMs, signal);
    }
    return () => {};
  }

  /**
   * Reports a 429. Without a valid `Retry-After` the schedule of section 8 applies, in which the refusals of requests
   * that were in flight together are one step.
   */
  refused({ headers, sentAt, receivedAt }: Pick<Answer, "headers" | "sentAt" | "receivedAt">): void {
    const now = this.#now();
    const isNextStep = this.#refusals === 0 || sentAt > this.#refusedAt;
    const askedMs = parseRetryAfterMs(headers, receivedAt);
    if (askedMs === undefined && !isNextStep) return;
    const waitMs =
      askedMs === undefined ? backoffMs(this.#refusals) : askedMs * (1 + retryAfterJitter * Math.random());
    if (isNextStep) this.#refusals++;
    this.#refusedAt = now;
    this.#opensAt = Math.max(this.#opensAt, Math.ceil(now + waitMs));
  }

  /** Reports any other answer. It opens the gate only if its request was sent after the last 429. */
  passed({ sentAt }: Pick<Answer, "sentAt">): void {
    if (sentAt >= this.#refusedAt) this.#refusals = 0;
  }

  /** The error for a caller that does not wait. */
  error(): RateLimitedError {
    return new RateLimitedError(
      `The tenant's rate limit at the token endpoint was hit. Ask again after ${new Date(this.#opensAt).toISOString()} (retryAt), or raise rateLimitDeadlineMs to wait longer.`,
      { variant: this.#variant, retryAt: this.#opensAt },
    );
  }

  #startProbe(): () => void {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const probe = { startedAt: this.#now(), ended };
    this.#probe = probe;
    return () => {
      if (this.#probe === probe) this.#probe = undefined;
      end();
    };
  }

  #isDead({ startedAt }: Probe): boolean {
    return this.#now() - startedAt > this.#options.timeoutMs + probeGraceMs;
  }

  /** This machine's clock. When it was set back, the gate's instants move with it, so that it opens no later. */
  #now(): number {
    const now = this.#options.now();
    const backMs = this.#refusedAt - now;
    if (backMs > 0) {
      this.#refusedAt -= backMs;
      this.#opensAt -= backMs;
    }
    return now;
  }
}

const firstStepMs = 2_000;
const longestStepMs = 64_000;
/** The share of a step that is added at random, so that the processes of a fleet do not retry in the same instant. */
const backoffJitter = 0.25;

/** Milliseconds to wait after the n-th failure in a row, counted from 0: "a few seconds, doubling, with random jitter". */
export function backoffMs(failures: number): number {
  return Math.min(firstStepMs * 2 ** failures, longestStepMs) * (1 + backoffJitter * Math.random());
}

/** @throws the signal's reason when it is aborted during the wait */
export function sleep(ms: number, signal: StopSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    if (!signal.aborted) timer = setTimeout(resolve, ms);
  });
  return endOf(elapsed, signal, () => clearTimeout(timer));
}

/** Waits for a promise that does not reject. @throws the signal's reason when it is aborted before */
function endOf(promise: Promise<void>, signal: StopSignal, aborted = () => {}): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => {
      aborted();
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
