/** One gate per token endpoint and tenant: after a 429 nobody asks until it opens, and then one at a time. */
import { RateLimitedError, type Variant } from "../errors.js";
import type { Answer } from "../variants/exchange.js";
import { parseRetryAfterMs } from "../variants/retry-after.js";
import { backoffMs, sleep } from "./backoff.js";

/** The share of a `Retry-After` that is added at random: never earlier than asked. */
const jitter = 0.1;

/**
 * The sliding window of section 8 counts a tenant's requests, whoever sends them: so the gate is shared by all
 * credentials of a tenant. While it recovers it lets one request through at a time, until one is answered without
 * a 429; a crowd that waited does not exceed the window again at once.
 */
export class RateLimitGate {
  readonly #variant: Variant;
  readonly #now: () => number;
  #opensAt = 0;
  #refusals = 0;
  #refusedAt = 0;
  #probe: Promise<void> | undefined;

  constructor(variant: Variant, now: () => number) {
    this.#variant = variant;
    this.#now = now;
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
  async enter({ deadlineAt, signal }: { deadlineAt: number; signal: AbortSignal }): Promise<() => void> {
    while (this.#refusals > 0) {
      const waitMs = this.#opensAt - this.#now();
      if (this.#opensAt > deadlineAt) throw this.error();
      if (waitMs > 0) await sleep(waitMs, signal);
      if (this.#probe === undefined) return this.#startProbe();
      await endOf(this.#probe, signal);
    }
    return () => {};
  }

  #startProbe(): () => void {
    let end = () => {};
    this.#probe = new Promise((resolve) => {
      end = () => {
        this.#probe = undefined;
        resolve();
      };
    });
    return end;
  }

  /** A 429 came. Absent, wrong or past `Retry-After`: the schedule of section 8. */
  refused(answer: Pick<Answer, "headers" | "receivedAt">): void {
    const askedMs = parseRetryAfterMs(answer.headers, answer.receivedAt);
    const waitMs = askedMs === undefined ? backoffMs(this.#refusals) : askedMs * (1 + jitter * Math.random());
    this.#refusals++;
    this.#refusedAt = this.#now();
    this.#opensAt = Math.max(this.#opensAt, this.#now() + waitMs);
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

function endOf(probe: Promise<void>, signal: AbortSignal): Promise<void> {
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
