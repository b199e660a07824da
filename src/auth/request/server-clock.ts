/**
 * Learns by how much the clock of the server is ahead of this machine, for the instants of client
 * assertions.
 */
import { parseHttpDate } from "../../http/backoff.js";
import type { Answer } from "../../http/exchange.js";

/**
 * Smaller offsets are within the tolerance of the service (30 s, section 2.2 of the description).
 */
const applyBeyondMs = 15_000;
/**
 * A larger offset is reported, and not applied: a server could otherwise have assertions signed for
 * a time years ahead. A clock that is set to the wrong day or time zone is still corrected.
 */
const applyUpToMs = 24 * 3_600_000;
/** A smaller offset is not reported: `Date` has whole seconds, and an answer may take some. */
const reportBeyondMs = 5_000;
/**
 * Assertions are accepted from 30 s before `iat` to 30 s after `exp` (section 2.2), which is 60 s
 * after `iat`.
 */
const acceptedAheadMs = 30_000;
const acceptedBehindMs = 90_000;

export interface SentAssertion {
  readonly issuedAtSeconds: number;
  /** Epoch milliseconds. */
  readonly sentAt: number;
  /** The milliseconds that were added to this machine's clock for it. */
  readonly correctedByMs: number;
  /** Whether the learnt clock was left out of account. */
  readonly isByOwnClock: boolean;
}

/**
 * Knows by how much the server is ahead of this machine. It does not learn from a token's `iat`,
 * which some servers back-date, or from an answer with `Age`, which comes from a cache.
 */
export class ServerClock {
  #offsetMs: number | undefined;
  /** Half the round trip, plus the second that `Date` does not show. */
  errorMs = 0;
  /**
   * The offset that was reported last. A clock that drifts is reported again when it has moved far
   * enough from it.
   */
  #reportedMs = 0;
  #isDistrusted = false;
  /** When the request of the latest answer was sent. The answer itself may hold a token. */
  #latestSentAt: number | undefined;
  /** Whether an assertion made by the applied clock was accepted. */
  isProven = false;

  /** Milliseconds; `undefined` while the offset is unknown, and after it proved wrong. */
  get offsetMs(): number | undefined {
    return this.#isDistrusted ? undefined : this.#offsetMs;
  }

  /** What to add to this machine's clock for an assertion. */
  get appliedMs(): number {
    const offset = this.offsetMs ?? 0;
    return Math.abs(offset) > applyBeyondMs && !this.isTooFarOff ? offset : 0;
  }

  /** Whether the offset is too large to be applied. */
  get isTooFarOff(): boolean {
    return Math.abs(this.offsetMs ?? 0) > applyUpToMs + this.errorMs;
  }

  /** Learns the offset from an answer. Returns it if it should be reported. */
  observe({
    headers,
    sentAt,
    receivedAt,
  }: Pick<Answer, "headers" | "sentAt" | "receivedAt">): number | undefined {
    this.#latestSentAt = sentAt;
    const date = headers.has("age") ? Number.NaN : parseHttpDate(headers.get("date"));
    if (Number.isNaN(date)) return undefined;
    // `Date` is cut to whole seconds, so on average it is half a second old.
    const offset = date + 500 - (sentAt + receivedAt) / 2;
    const isNews = Math.abs(offset - this.#reportedMs) > reportBeyondMs;
    if (isNews) {
      this.#reportedMs = offset;
      this.isProven = false;
    }
    this.#offsetMs = offset;
    // The answer is received before it was sent if this machine's clock was set back meanwhile.
    this.errorMs = Math.abs(receivedAt - sentAt) / 2 + 1_000;
    return isNews && !this.#isDistrusted && Math.abs(offset) > reportBeyondMs ? offset : undefined;
  }

  /** Takes over the offset that another process has learnt, until this one has learnt its own. */
  adopt(offsetMs: number): void {
    if (this.#offsetMs !== undefined) return;
    this.#offsetMs = offsetMs;
    this.#reportedMs = offsetMs;
    this.errorMs = 1_000;
  }

  /**
   * Whether an assertion was out of bounds by the learnt clock when it was sent. The answer is
   * `maybe` within the error of a bound, and `no` while the offset is unknown.
   */
  outOfBounds({ issuedAtSeconds, sentAt }: SentAssertion): "yes" | "maybe" | "no" {
    if (this.offsetMs === undefined) return "no";
    const ageMs = sentAt + this.offsetMs - issuedAtSeconds * 1000;
    const beyondMs = Math.max(-acceptedAheadMs - ageMs, ageMs - acceptedBehindMs);
    if (beyondMs > this.errorMs) return "yes";
    return beyondMs > -this.errorMs ? "maybe" : "no";
  }

  /**
   * Reports an accepted assertion. `Date` is wrong (a proxy's, perhaps) and no longer trusted if
   * the assertion was out of bounds by the learnt clock, or if one made by the learnt clock was
   * refused just before (`isByOwnClock`). What was learnt from a later answer is not held against
   * it: this machine's clock may have been set meanwhile.
   */
  accepted(assertion: SentAssertion): void {
    const isOutOfBounds =
      this.#latestSentAt === assertion.sentAt && this.outOfBounds(assertion) === "yes";
    if (assertion.isByOwnClock || isOutOfBounds) this.#isDistrusted = true;
    else if (assertion.correctedByMs !== 0) this.isProven = true;
  }
}
