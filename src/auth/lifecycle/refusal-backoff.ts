/** The pause after a refused token request. */
import { countdown, type ResolvedClock, zero } from "../../clock.js";

/** A wrong key is corrected by a person, who should not wait long for the first try after it. */
const firstStepMs = 1_000;
/** One request a minute does not use up a tenant's rate limit, and a registration that was mended is noticed soon. */
const longestStepMs = 60_000;

/** Milliseconds to wait after the n-th refusal in a row, counted from 0. */
function stepMs(refusals: number): number {
  return Math.min(firstStepMs * 2 ** refusals, longestStepMs);
}

export interface SharedRefusal {
  /** In a row. */
  readonly refusals: number;
  /** Epoch milliseconds. */
  readonly closedUntil: number;
  readonly error: unknown;
}

/** Stops the requests of an identity for a while after a refusal: a wrong key must not cost the tenant one per call. */
export class RefusalBackoff {
  readonly #clock: ResolvedClock;
  /** Refusals in a row. */
  #refusals = 0;
  #closedUntil = 0;
  #closedMs: () => number = zero;
  #fingerprint: string | undefined;
  #error: unknown;

  constructor(clock: ResolvedClock) {
    this.#clock = clock;
  }

  /**
   * Returns the round that the next refusal belongs to, for `refused`.
   *
   * @throws the stored error while requests are stopped, which ends when the key or secret changes
   */
  check(fingerprint: string): number {
    if (this.#fingerprint !== fingerprint) this.accepted();
    if (this.#error !== undefined && this.#closedMs() > 0) throw this.#error;
    return this.#refusals;
  }

  /**
   * Reports a refusal. The refusals of requests that were in flight together belong to one round and count as one step.
   * Returns the instant (epoch milliseconds) before which no other request is sent.
   */
  refused(round: number, fingerprint: string): number {
    if (this.#refusals > round) return this.#closedUntil;
    const waitMs = stepMs(this.#refusals);
    this.#closedMs = countdown(waitMs, this.#clock);
    this.#closedUntil = this.#clock.now() + waitMs;
    this.#refusals++;
    this.#fingerprint = fingerprint;
    this.#error = undefined;
    return this.#closedUntil;
  }

  /** Takes over the refusals that another process met with the same credential. `closedUntil` is in epoch milliseconds. */
  adopt({ refusals, closedUntil, error }: SharedRefusal, fingerprint: string): void {
    if (this.#fingerprint === fingerprint && this.#refusals >= refusals) return;
    this.#fingerprint = fingerprint;
    this.#refusals = refusals;
    this.#closedUntil = closedUntil;
    // The other process may have another clock, so its pause counts at most as long as it is.
    this.#closedMs = countdown(Math.min(closedUntil - this.#clock.now(), stepMs(refusals - 1)), this.#clock);
    this.#error = error;
  }

  /** What other processes need to know after a refusal. */
  get record(): Omit<SharedRefusal, "error"> {
    return { refusals: this.#refusals, closedUntil: this.#closedUntil };
  }

  /** Stores the error of the refusal for the callers that come while requests are stopped. */
  keep(error: unknown): void {
    this.#error = error;
  }

  accepted(): void {
    this.#refusals = 0;
    this.#error = undefined;
  }
}
