/** The server's clock, learnt from `Date` on the answers of its token endpoint and applied to assertions. */
import type { Answer } from "../variants/exchange.js";

/** Below this the tolerance of the service (30 s, section 2.2) is left to do its work. */
const applyBeyondMs = 15_000;
/** Below this nobody needs to know. */
const tellBeyondMs = 5_000;

/**
 * By how much the server is ahead of this machine. Not learnt from a token's `iat`, which some servers back-date,
 * nor from an answer with `Age`, which a cache kept.
 */
export class ServerClock {
  readonly #now: () => number;
  #offsetMs: number | undefined;
  #errorMs = 0;
  #distrusted = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds; `undefined` while nothing was learnt, or when what was learnt proved wrong. */
  get offsetMs(): number | undefined {
    return this.#distrusted ? undefined : this.#offsetMs;
  }

  /** Half the round trip, plus the second that `Date` does not show. */
  get errorMs(): number {
    return this.#errorMs;
  }

  /** Epoch milliseconds for an assertion: the server's clock where it is known to be far from ours. */
  now(): number {
    return this.#now() + this.appliedMs;
  }

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
    const isNews = this.#offsetMs === undefined || Math.abs(offset - this.#offsetMs) > tellBeyondMs;
    this.#offsetMs = offset;
    this.#errorMs = (receivedAt - sentAt) / 2 + 1_000;
    return isNews && !this.#distrusted && Math.abs(offset) > tellBeyondMs ? offset : undefined;
  }

  /**
   * Whether, by the learnt clock, an assertion issued then was out of the bounds that the service accepts.
   * The error bar counts in the assertion's favour.
   */
  showsOutOfBounds(issuedAtSeconds: number, sentAt: number, bounds: AssertionBounds): boolean {
    if (this.#offsetMs === undefined) return false;
    const ageMs = sentAt + this.#offsetMs - issuedAtSeconds * 1000;
    return (
      ageMs < -bounds.aheadSeconds * 1000 - this.#errorMs ||
      ageMs > bounds.behindSeconds * 1000 + this.#errorMs
    );
  }

  /** An assertion was accepted that the learnt clock shows to be out of bounds: `Date` is wrong, not we. */
  distrust(): void {
    this.#distrusted = true;
  }
}

/** How far before and after its issue an assertion of ours is accepted. */
export interface AssertionBounds {
  readonly aheadSeconds: number;
  readonly behindSeconds: number;
}
