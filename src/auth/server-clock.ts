/** The server's clock, learnt from `Date` on the answers of its token endpoint and applied to assertions. */
import type { Answer } from "../http/exchange.js";

/** Below this the tolerance of the service (30 s, section 2.2) is left to do its work. */
const applyBeyondMs = 15_000;
/** Below this nobody needs to know. */
const tellBeyondMs = 5_000;

/**
 * By how much the server is ahead of this machine. Not learnt from a token's `iat`, which some servers back-date,
 * nor from an answer with `Age`, which a cache kept.
 */
export class ServerClock {
  #offsetMs: number | undefined;
  #errorMs = 0;
  /** The offset that was news last: a clock that drifts slowly is news once it has come far enough. */
  #newsMs = 0;
  #distrusted = false;
  #proven = false;

  /** Milliseconds; `undefined` while nothing was learnt, or when what was learnt proved wrong. */
  get offsetMs(): number | undefined {
    return this.#distrusted ? undefined : this.#offsetMs;
  }

  /** Half the round trip, plus the second that `Date` does not show. */
  get errorMs(): number {
    return this.#errorMs;
  }

  /** What to add to this machine's clock for an assertion: beyond 15 s, what the server's clock is ahead. */
  get appliedMs(): number {
    const offset = this.offsetMs ?? 0;
    return Math.abs(offset) > applyBeyondMs ? offset : 0;
  }

  /** Learns from an answer. Returns the offset when somebody should be told of it. */
  observe({
    headers,
    sentAt,
    receivedAt,
  }: Pick<Answer, "headers" | "sentAt" | "receivedAt">): number | undefined {
    if (headers.has("age")) return undefined;
    const date = Date.parse(headers.get("date") ?? "");
    if (Number.isNaN(date)) return undefined;
    // `Date` is cut to whole seconds: on average it is half a second old.
    const offset = date + 500 - (sentAt + receivedAt) / 2;
    const isNews = Math.abs(offset - this.#newsMs) > tellBeyondMs;
    if (isNews) {
      this.#newsMs = offset;
      this.#proven = false;
    }
    this.#offsetMs = offset;
    this.#errorMs = (receivedAt - sentAt) / 2 + 1_000;
    return isNews && !this.#distrusted && Math.abs(offset) > tellBeyondMs ? offset : undefined;
  }

  /**
   * Whether, by the learnt clock, an assertion was out of bounds when it was sent: `maybe` within the error bar of
   * a bound. `no` while nothing was learnt.
   */
  outOfBounds(issuedAtSeconds: number, sentAt: number, bounds: AssertionBounds): "yes" | "maybe" | "no" {
    if (this.offsetMs === undefined) return "no";
    const ageMs = sentAt + this.offsetMs - issuedAtSeconds * 1000;
    const beyondMs = Math.max(-bounds.aheadSeconds * 1000 - ageMs, ageMs - bounds.behindSeconds * 1000);
    if (beyondMs > this.#errorMs) return "yes";
    return beyondMs > -this.#errorMs ? "maybe" : "no";
  }

  /**
   * An assertion was accepted. If the learnt clock shows it to have been out of bounds, or one made by it was refused
   * just before, then `Date` is wrong (a proxy's, say) and not believed any more.
   */
  accepted({ issuedAtSeconds, sentAt, bounds, correctedByMs, isByOwnClock }: AcceptedAssertion): void {
    if (isByOwnClock || this.outOfBounds(issuedAtSeconds, sentAt, bounds) === "yes") this.#distrusted = true;
    else if (correctedByMs !== 0) this.#proven = true;
  }

  /** An assertion made by the applied clock was accepted once. */
  get isProven(): boolean {
    return this.#proven;
  }
}

export interface AcceptedAssertion {
  readonly issuedAtSeconds: number;
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly bounds: AssertionBounds;
  /** What had been added to this machine's clock. */
  readonly correctedByMs: number;
  /** It was made by this machine's clock because one made by the server's had been refused. */
  readonly isByOwnClock: boolean;
}

/** How far before and after its issue an assertion of ours is accepted. */
export interface AssertionBounds {
  readonly aheadSeconds: number;
  readonly behindSeconds: number;
}
