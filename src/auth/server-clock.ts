/** The server's clock, learnt from `Date` on the answers of its token endpoint and applied to assertions. */
import type { Answer } from "../http/exchange.js";

/** A smaller offset is left to the tolerance of the service (30 s, section 2.2 of the description). */
const applyBeyondMs = 15_000;
/** A smaller offset is not reported. */
const reportBeyondMs = 5_000;
/** Assertions are accepted from 30 s before their `iat` to 30 s after their `exp`, which is 60 s later (section 2.2). */
const acceptedAheadMs = 30_000;
const acceptedBehindMs = 90_000;

interface SentAssertion {
  readonly issuedAtSeconds: number;
  /** Epoch milliseconds. */
  readonly sentAt: number;
}

interface AcceptedAssertion extends SentAssertion {
  /** What had been added to this machine's clock. */
  readonly correctedByMs: number;
  /** Whether it was made by this machine's clock because one made by the server's was refused. */
  readonly isByOwnClock: boolean;
}

/**
 * Knows by how much the server is ahead of this machine. It does not learn from a token's `iat`, which some servers
 * back-date, or from an answer with `Age`, which comes from a cache.
 */
export class ServerClock {
  #offsetMs: number | undefined;
  #errorMs = 0;
  /** The offset that was reported last: a clock that drifts slowly is reported again once it has drifted far enough. */
  #reportedMs = 0;
  #isDistrusted = false;
  #isProven = false;

  /** Milliseconds; `undefined` while unknown, or when the learnt offset proved wrong. */
  get offsetMs(): number | undefined {
    return this.#isDistrusted ? undefined : this.#offsetMs;
  }

  /** Half the round trip, plus the second that `Date` does not show. */
  get errorMs(): number {
    return this.#errorMs;
  }

  /** What to add to this machine's clock for an assertion. */
  get appliedMs(): number {
    const offset = this.offsetMs ?? 0;
    return Math.abs(offset) > applyBeyondMs ? offset : 0;
  }

  /** Whether an assertion made by the applied clock was accepted. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Learns from an answer. Returns the offset if it should be reported. */
  observe(answer: Pick<Answer, "headers" | "sentAt" | "receivedAt">): number | undefined {
    const { headers, sentAt, receivedAt } = answer;
    const date = headers.has("age") ? Number.NaN : Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(date)) return undefined;
    // `Date` is cut to whole seconds: on average it is half a second old.
    const offset = date + 500 - (sentAt + receivedAt) / 2;
    const isNews = Math.abs(offset - this.#reportedMs) > reportBeyondMs;
    if (isNews) {
      this.#reportedMs = offset;
      this.#isProven = false;
    }
    this.#offsetMs = offset;
    this.#errorMs = (receivedAt - sentAt) / 2 + 1_000;
    return isNews && !this.#isDistrusted && Math.abs(offset) > reportBeyondMs ? offset : undefined;
  }

  /**
   * Whether an assertion was out of bounds when it was sent, by the learnt clock: `maybe` within the error of a bound,
   * `no` while the offset is unknown.
   */
  outOfBounds({ issuedAtSeconds, sentAt }: SentAssertion): "yes" | "maybe" | "no" {
    if (this.offsetMs === undefined) return "no";
    const ageMs = sentAt + this.offsetMs - issuedAtSeconds * 1000;
    const beyondMs = Math.max(-acceptedAheadMs - ageMs, ageMs - acceptedBehindMs);
    if (beyondMs > this.#errorMs) return "yes";
    return beyondMs > -this.#errorMs ? "maybe" : "no";
  }

  /**
   * Reports an accepted assertion. If the learnt clock shows it to have been out of bounds, or one made by the learnt
   * clock was refused just before, `Date` is wrong (a proxy's, perhaps) and is not trusted from now on.
   */
  accepted(assertion: AcceptedAssertion): void {
    if (assertion.isByOwnClock || this.outOfBounds(assertion) === "yes") this.#isDistrusted = true;
    else if (assertion.correctedByMs !== 0) this.#isProven = true;
  }
}
