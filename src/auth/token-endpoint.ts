/** The state that the requests of a token endpoint and tenant share: the rate limit gate (section 8) and the clock. */
import { RateLimitedError, type Variant } from "../errors.js";
import { backoffMs, sleep } from "../http/backoff.js";
import { type Answer, parseRetryAfterMs, untilAborted } from "../http/exchange.js";
import type { EventBody, ResolvedAuthOptions } from "./auth.js";

/** The share of a `Retry-After` that is added at random. No wait is shorter than the server asked for. */
const retryAfterJitter = 0.1;
/** The time between two checks of another caller's probe if its promise must not be awaited. */
const probeCheckMs = 1_000;
/** A killed request never ends its probe, so a probe counts as ended this long after the time limit. */
const probeGraceMs = 5_000;

type RateLimitGateOptions = Pick<ResolvedAuthOptions, "now" | "timeoutMs" | "shareInFlight">;

/**
 * The gate of one token endpoint and tenant, since the sliding window of section 8 counts all requests of a tenant.
 * After a 429 it is closed for a while. Then requests pass one at a time until one was answered without a 429. Callers
 * that have waited always pass one at a time, so that they do not exceed the limit again at once.
 */
export class RateLimitGate {
  readonly #variant: Variant;
  readonly #options: RateLimitGateOptions;
  /** Epoch milliseconds. They are in the past while the gate is open. */
  opensAt = 0;
  #refusals = 0;
  #refusedAt = 0;
  /** A request that was let through after a 429 and has no answer yet. */
  #probe: { readonly startedAt: number; readonly ended: Promise<void> } | undefined;

  constructor(variant: Variant, options: RateLimitGateOptions) {
    this.#variant = variant;
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#refusals === 0 || this.opensAt <= this.#now();
  }

  /**
   * Waits until a request may be sent. Returns a function to call after the answer was reported.
   *
   * @throws RateLimitedError at once when the gate opens after `deadlineAt` (epoch milliseconds); the signal's reason
   */
  async enter({ deadlineAt, signal }: { deadlineAt: number; signal: AbortSignal }): Promise<() => void> {
    for (let hasWaited = false; this.#refusals > 0 || hasWaited; hasWaited = true) {
      const now = this.#now();
      const isClosed = this.#refusals > 0 && this.opensAt > now;
      if (this.#refusals > 0 && Math.max(this.opensAt, now) > deadlineAt) throw this.error();
      // The loop checks again after the wait, since another 429 may have come meanwhile.
      if (isClosed) await sleep(this.opensAt - now, signal);
      else if (
        this.#probe === undefined ||
        now - this.#probe.startedAt > this.#options.timeoutMs + probeGraceMs
      )
        return this.#startProbe(now);
      else if (this.#options.shareInFlight) await untilAborted(this.#probe.ended, signal);
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
    this.opensAt = Math.max(this.opensAt, Math.ceil(now + waitMs));
  }

  /** Reports any other answer. It opens the gate only if its request was sent after the last 429. */
  passed({ sentAt }: Pick<Answer, "sentAt">): void {
    if (sentAt >= this.#refusedAt) this.#refusals = 0;
  }

  /** The error for a caller that does not wait. */
  error(): RateLimitedError {
    return new RateLimitedError(
      `The tenant's rate limit at the token endpoint was hit. Ask again after ${new Date(this.opensAt).toISOString()} (retryAt), or raise rateLimitDeadlineMs to wait longer.`,
      { variant: this.#variant, retryAt: this.opensAt },
    );
  }

  #startProbe(startedAt: number): () => void {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const probe = { startedAt, ended };
    this.#probe = probe;
    return () => {
      if (this.#probe === probe) this.#probe = undefined;
      end();
    };
  }

  /** Reads this machine's clock. If that was set back, the gate's instants move too, so that it opens no later. */
  #now(): number {
    const now = this.#options.now();
    const backMs = this.#refusedAt - now;
    if (backMs > 0) {
      this.#refusedAt -= backMs;
      this.opensAt -= backMs;
    }
    return now;
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
export function learnFromAnswer(
  { gate, clock }: TokenEndpointState,
  answer: Answer,
  emit: (event: EventBody) => void,
): void {
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

/** Smaller offsets are within the tolerance of the service (30 s, section 2.2 of the description). */
const applyBeyondMs = 15_000;
/** A smaller offset is not reported. */
const reportBeyondMs = 5_000;
/** Assertions are accepted from 30 s before `iat` to 30 s after `exp` (section 2.2), which is 60 s after `iat`. */
const acceptedAheadMs = 30_000;
const acceptedBehindMs = 90_000;

interface SentAssertion {
  readonly issuedAtSeconds: number;
  /** Epoch milliseconds. */
  readonly sentAt: number;
}

/**
 * Knows by how much the server is ahead of this machine. It does not learn from a token's `iat`, which some servers
 * back-date, or from an answer with `Age`, which comes from a cache.
 */
export class ServerClock {
  #offsetMs: number | undefined;
  /** Half the round trip, plus the second that `Date` does not show. */
  errorMs = 0;
  /** The offset that was reported last. A clock that drifts is reported again when it has moved far enough from it. */
  #reportedMs = 0;
  #isDistrusted = false;
  /** Whether an assertion made by the applied clock was accepted. */
  isProven = false;

  /** Milliseconds; `undefined` while the offset is unknown, and after it proved wrong. */
  get offsetMs(): number | undefined {
    return this.#isDistrusted ? undefined : this.#offsetMs;
  }

  /** What to add to this machine's clock for an assertion. */
  get appliedMs(): number {
    const offset = this.offsetMs ?? 0;
    return Math.abs(offset) > applyBeyondMs ? offset : 0;
  }

  /** Learns the offset from an answer. Returns it if it should be reported. */
  observe(answer: Pick<Answer, "headers" | "sentAt" | "receivedAt">): number | undefined {
    const { headers, sentAt, receivedAt } = answer;
    const date = headers.has("age") ? Number.NaN : Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(date)) return undefined;
    // `Date` is cut to whole seconds, so on average it is half a second old.
    const offset = date + 500 - (sentAt + receivedAt) / 2;
    const isNews = Math.abs(offset - this.#reportedMs) > reportBeyondMs;
    if (isNews) {
      this.#reportedMs = offset;
      this.isProven = false;
    }
    this.#offsetMs = offset;
    this.errorMs = (receivedAt - sentAt) / 2 + 1_000;
    return isNews && !this.#isDistrusted && Math.abs(offset) > reportBeyondMs ? offset : undefined;
  }

  /**
   * Whether an assertion was out of bounds by the learnt clock when it was sent. The answer is `maybe` within the error
   * of a bound, and `no` while the offset is unknown.
   */
  outOfBounds({ issuedAtSeconds, sentAt }: SentAssertion): "yes" | "maybe" | "no" {
    if (this.offsetMs === undefined) return "no";
    const ageMs = sentAt + this.offsetMs - issuedAtSeconds * 1000;
    const beyondMs = Math.max(-acceptedAheadMs - ageMs, ageMs - acceptedBehindMs);
    if (beyondMs > this.errorMs) return "yes";
    return beyondMs > -this.errorMs ? "maybe" : "no";
  }

  /**
   * Reports an accepted assertion. `Date` is wrong (a proxy's, perhaps) and no longer trusted if the assertion was out of
   * bounds by the learnt clock, or if one made by the learnt clock was refused just before (`isByOwnClock`).
   */
  accepted(assertion: SentAssertion & { correctedByMs: number; isByOwnClock: boolean }): void {
    if (assertion.isByOwnClock || this.outOfBounds(assertion) === "yes") this.#isDistrusted = true;
    else if (assertion.correctedByMs !== 0) this.isProven = true;
  }
}
