/** The state that the requests of a token endpoint and tenant share: the rate limit gate (section 8) and the clock. */
import { RateLimitedError, type Variant } from "../errors.js";
import { backoffMs, countdown, parseRetryAfterMs, sleep } from "../http/backoff.js";
import { type Answer, untilAborted } from "../http/exchange.js";
import type { Emit, ResolvedAuthOptions } from "./auth.js";
import { ServerClock } from "./server-clock.js";

/** The share of a `Retry-After` that is added at random. No wait is shorter than the server asked for. */
const retryAfterJitter = 0.1;
/** The time between two checks of another caller's probe if its promise must not be awaited. */
const probeCheckMs = 1_000;
/** A killed request never ends its probe, so a probe counts as ended this long after the time limit. */
const probeGraceMs = 5_000;

type RateLimitGateOptions = Pick<ResolvedAuthOptions, "now" | "clock" | "timeoutMs" | "shareInFlight">;

/**
 * The gate of one token endpoint and tenant, since the sliding window of section 8 counts all requests of a tenant.
 * After a 429 it is closed for a while. Then requests pass one at a time until one was answered without a 429. Callers
 * that have waited always pass one at a time, so that they do not exceed the limit again at once.
 */
export class RateLimitGate {
  readonly #variant: Variant;
  readonly #options: RateLimitGateOptions;
  #refusals = 0;
  /** The instant of the last 429 (epoch milliseconds), the wait after it, and what is left of that wait. */
  #refusedAt = 0;
  #waitMs = 0;
  #leftMs: () => number = () => 0;
  /** A request that was let through after a 429 and has no answer yet, and the time after which it counts as lost. */
  #probe: { readonly leftMs: () => number; readonly ended: Promise<void> } | undefined;

  constructor(variant: Variant, options: RateLimitGateOptions) {
    this.#variant = variant;
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#refusals === 0 || this.#leftMs() <= 0;
  }

  /** Epoch milliseconds. They are in the past while the gate is open. */
  get opensAt(): number {
    // After the clock was set back, the instant of the 429 is in the future.
    return Math.ceil(Math.min(this.#refusedAt, this.#options.now()) + this.#waitMs);
  }

  /**
   * Waits until a request may be sent. Returns a function to call after the answer was reported.
   *
   * @throws RateLimitedError at once when the gate opens after the deadline (a countdown); the signal's reason
   */
  async enter({ deadline, signal }: { deadline: () => number; signal: AbortSignal }): Promise<() => void> {
    const { clock, shareInFlight } = this.#options;
    for (let hasWaited = false; this.#refusals > 0 || hasWaited; hasWaited = true) {
      const closedMs = this.#refusals > 0 ? this.#leftMs() : 0;
      // The loop checks again after the wait, since another 429 may have come meanwhile.
      if (closedMs > 0) {
        if (closedMs > deadline()) throw this.error();
        await sleep(Math.ceil(closedMs), signal, clock);
        continue;
      }
      if (this.#probe === undefined || this.#probe.leftMs() <= 0) return this.#startProbe();
      if (shareInFlight) await untilAborted(this.#probe.ended, signal);
      else await sleep(probeCheckMs, signal, clock);
      if (this.#refusals > 0 && deadline() < 0) throw this.error();
    }
    return () => {};
  }

  /**
   * Reports a 429. Without a valid `Retry-After` the schedule of section 8 applies, in which the refusals of requests
   * that were in flight together are one step.
   */
  refused({ headers, sentAt, receivedAt }: Pick<Answer, "headers" | "sentAt" | "receivedAt">): void {
    const isNextStep = this.#refusals === 0 || sentAt > this.#refusedAt || this.#isOverWithoutNow();
    const askedMs = parseRetryAfterMs(headers, receivedAt);
    if (askedMs === undefined && !isNextStep) return;
    const waitMs =
      askedMs === undefined ? backoffMs(this.#refusals) : askedMs * (1 + retryAfterJitter * Math.random());
    if (isNextStep) this.#refusals++;
    this.#waitMs = Math.max(this.#leftMs(), waitMs);
    this.#leftMs = countdown(this.#waitMs, this.#options.now);
    this.#refusedAt = this.#options.now();
  }

  /** Reports any other answer. It opens the gate only if its request was sent after the last 429. */
  passed({ sentAt }: Pick<Answer, "sentAt">): void {
    if (sentAt >= this.#refusedAt || this.#isOverWithoutNow()) this.#refusals = 0;
  }

  /** The error for a caller that does not wait. */
  error(): RateLimitedError {
    return new RateLimitedError(
      `The tenant's rate limit at the token endpoint was hit. Ask again after ${new Date(this.opensAt).toISOString()} (retryAt), or raise rateLimitDeadlineMs to wait longer.`,
      { variant: this.#variant, retryAt: this.opensAt },
    );
  }

  #startProbe(): () => void {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const leftMs = countdown(this.#options.timeoutMs + probeGraceMs, this.#options.now);
    const probe = { leftMs, ended };
    this.#probe = probe;
    return () => {
      if (this.#probe === probe) this.#probe = undefined;
      end();
    };
  }

  /** Whether the wait is over although `now` was frozen or set back, so that it cannot tell what came after the 429. */
  #isOverWithoutNow(): boolean {
    return this.#leftMs() <= 0 && this.#options.now() <= this.#refusedAt;
  }
}

export interface TokenEndpointState {
  readonly gate: RateLimitGate;
  readonly clock: ServerClock;
}

export function createTokenEndpointState(
  variant: Variant,
  options: RateLimitGateOptions,
): TokenEndpointState {
  return { gate: new RateLimitGate(variant, options), clock: new ServerClock() };
}

/** Learns the rate limit and the server's clock from an answer, and reports both. */
export function learnFromAnswer({ gate, clock }: TokenEndpointState, answer: Answer, emit: Emit): void {
  const offsetMs = clock.observe(answer);
  if (offsetMs !== undefined)
    emit({ type: "clock_off", offsetMs: Math.round(offsetMs), errorMs: Math.round(clock.errorMs) });
  if (answer.status === 429) {
    gate.refused(answer);
    emit({ type: "rate_limited", retryAt: gate.opensAt });
  } else {
    gate.passed(answer);
  }
}
