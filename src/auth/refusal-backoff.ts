/** After a refusal an identity sends no request for a while: a wrong key must not cost the tenant one request per call. */

const firstStepMs = 1_000;
const longestStepMs = 60_000;

export class RefusalBackoff {
  readonly #now: () => number;
  /** Refusals in a row. */
  #refusals = 0;
  #closedAt = 0;
  #closedUntil = 0;
  #fingerprint: string | undefined;
  #error: unknown;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns the round that the next refusal belongs to, for `refused`.
   *
   * @throws the stored error while closed; a changed key or secret opens it
   */
  check(fingerprint: string): number {
    if (this.#refusals > 0) {
      const now = this.#now();
      if (this.#fingerprint !== fingerprint) this.accepted();
      // A clock that was set back must not keep it closed for longer.
      else if (this.#error !== undefined && now >= this.#closedAt && now < this.#closedUntil)
        throw this.#error;
    }
    return this.#refusals;
  }

  /**
   * Reports a refusal. Several in one round, of requests that were in flight together, count as one step. Returns the
   * instant (epoch milliseconds) before which no other request is sent.
   */
  refused(round: number, fingerprint: string): number {
    if (this.#refusals > round) return this.#closedUntil;
    this.#closedAt = this.#now();
    this.#closedUntil = this.#closedAt + Math.min(firstStepMs * 2 ** this.#refusals, longestStepMs);
    this.#refusals++;
    this.#fingerprint = fingerprint;
    this.#error = undefined;
    return this.#closedUntil;
  }

  /** Stores the error of the refusal for the callers that come while it is closed. */
  keep(error: unknown): void {
    this.#error = error;
  }

  /** Reports that a token was issued. */
  accepted(): void {
    this.#refusals = 0;
    this.#error = undefined;
  }
}
