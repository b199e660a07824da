/** After a refusal an identity is closed for a while: a wrong key must not cost the tenant one request per call. */

const firstStepMs = 1_000;
const longestStepMs = 60_000;

export class ClosingSchedule {
  readonly #now: () => number;
  #refusals = 0;
  #closedUntil = 0;
  #fingerprint: string | undefined;
  #error: unknown;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A refusal came. Returns the instant (epoch milliseconds) before which no other request is sent. */
  refused(): number {
    this.#closedUntil = this.#now() + Math.min(firstStepMs * 2 ** this.#refusals, longestStepMs);
    this.#refusals++;
    return this.#closedUntil;
  }

  /** Keeps the error of the refusal, and whose it is, for those who come while it is closed. */
  keep(error: unknown, fingerprint: string): void {
    this.#error = error;
    this.#fingerprint = fingerprint;
  }

  /** @throws the stored error while closed; a changed key or secret opens it. */
  check(fingerprint: string): void {
    if (this.#refusals === 0) return;
    if (this.#fingerprint !== fingerprint) this.accepted();
    else if (this.#now() < this.#closedUntil) throw this.#error;
  }

  /** A token was had. */
  accepted(): void {
    this.#refusals = 0;
    this.#closedUntil = 0;
    this.#error = undefined;
    this.#fingerprint = undefined;
  }

  /** Epoch milliseconds; in the past when it is open. */
  get closedUntil(): number {
    return this.#closedUntil;
  }
}
