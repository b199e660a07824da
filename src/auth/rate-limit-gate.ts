/** One gate per token endpoint and tenant: after a 429 nobody asks until it opens, and then one at a time. */
import { RateLimitedError, type Variant } from "../errors.js";
import { type Answer, parseRetryAfterMs } from "../http/exchange.js";
import type { StopSignal } from "../http/time-limit.js";

/** The share of a `Retry-After` that is added at random: never earlier than asked. */
const waitJitter = 0.1;
/** How often it is looked whether another's probe has ended, where its promise must not be awaited. */
const lookEveryMs = 1_000;
/** A probe of a request that was killed never ends: one this much over the time limit is taken for dead. */
const probeGraceMs = 5_000;

export interface RateLimitGateOptions {
  readonly now: () => number;
  /** One HTTP request, and so one probe. */
  readonly timeoutMs: number;
  /** Whether a promise made by one caller may be awaited by another. */
  readonly shareInFlight: boolean;
}

/**
 * The sliding window of section 8 counts a tenant's requests, whoever sends them: so the gate is shared by all
 * credentials of a tenant. Those who waited go through one at a time, and so does everybody until one was answered
 * without a 429: a crowd that waited does not exceed the window again at once.
 */
export class RateLimitGate {
  readonly #variant: Variant;
  readonly #options: RateLimitGateOptions;
  #opensAt = 0;
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

  /** Whether a request would be let through without a wait. */
  get isOpen(): boolean {
    return this.#refusals === 0 || this.#opensAt <= this.#now();
  }

  /**
   * Waits until a request may be sent, and returns what must be called when its answer has been reported.
   *
   * @throws RateLimitedError at once when it opens after `deadlineAt` (epoch milliseconds)
   * @throws the signal's reason
   */
  async enter({ deadlineAt, signal }: { deadlineAt: number; signal: StopSignal }): Promise<() => void> {
    // Who waited once takes his turn to the end: the first that passes says nothing of room for the whole crowd.
    for (let hasWaited = false; this.#refusals > 0 || hasWaited; hasWaited = true) {
      const now = this.#now();
      const isClosed = this.#refusals > 0 && this.#opensAt > now;
      if (this.#refusals > 0 && Math.max(this.#opensAt, now) > deadlineAt) throw this.error();
      // Looked at again after the wait: another 429 may have come meanwhile.
      if (isClosed) await sleep(this.#opensAt - now, signal);
      else if (this.#probe === undefined || this.#isDead(this.#probe)) return this.#startProbe();
      else if (this.#options.shareInFlight) await endOf(this.#probe.ended, signal);
      else await sleep(lookEveryMs, signal);
    }
    return () => {};
  }

  #startProbe(): () => void {
    let resolve = () => {};
    const ended = new Promise<void>((end) => {
      resolve = end;
    });
    const probe = { startedAt: this.#now(), ended };
    this.#probe = probe;
    return () => {
      if (this.#probe === probe) this.#probe = undefined;
      resolve();
    };
  }

  #isDead({ startedAt }: Probe): boolean {
    return this.#now() - startedAt > this.#options.timeoutMs + probeGraceMs;
  }

  /** By this machine's clock, as it is now: one that was set back must not keep the gate closed for longer. */
  #now(): number {
    const now = this.#options.now();
    const backMs = this.#refusedAt - now;
    if (backMs > 0) {
      this.#refusedAt -= backMs;
      this.#opensAt -= backMs;
    }
    return now;
  }

  /**
   * A 429 came. Absent, wrong or past `Retry-After`: the schedule of section 8, of which those to requests that were
   * under way together are one step.
   */
  refused({ headers, sentAt, receivedAt }: Pick<Answer, "headers" | "sentAt" | "receivedAt">): void {
    const now = this.#now();
    const isNextStep = this.#refusals === 0 || sentAt > this.#refusedAt;
    const askedMs = parseRetryAfterMs(headers, receivedAt);
    if (askedMs === undefined && !isNextStep) return;
    const waitMs =
      askedMs === undefined ? backoffMs(this.#refusals) : askedMs * (1 + waitJitter * Math.random());
    if (isNextStep) this.#refusals++;
    this.#refusedAt = now;
    this.#opensAt = Math.max(this.#opensAt, Math.ceil(now + waitMs));
  }

  /** Any other answer came. One to a request sent before the last 429 came says nothing of the limit since. */
  passed({ sentAt }: Pick<Answer, "sentAt">): void {
    if (sentAt >= this.#refusedAt) this.#refusals = 0;
  }

  /** What a caller gets who does not wait. */
  error(): RateLimitedError {
    return new RateLimitedError(
      `The tenant's rate limit at the token endpoint was hit. Ask again after ${new Date(this.#opensAt).toISOString()} (retryAt), or raise rateLimitDeadlineMs to wait longer.`,
      { variant: this.#variant, retryAt: this.#opensAt },
    );
  }
}

interface Probe {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly ended: Promise<void>;
}

function endOf(probe: Promise<void>, signal: StopSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    probe.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}

const firstStepMs = 2_000;
const longestStepMs = 64_000;
/** The share of a step that is added at random, so that a fleet does not come back in one instant. */
const jitter = 0.25;

/** Milliseconds to wait after the n-th refusal in a row, counted from 0. */
export function backoffMs(refusals: number): number {
  return Math.min(firstStepMs * 2 ** refusals, longestStepMs) * (1 + jitter * Math.random());
}

/** Waits. A caller's abort ends the wait with the signal's reason. */
export function sleep(ms: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
