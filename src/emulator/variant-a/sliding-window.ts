// The rate limit of the token endpoint: "per tenant, on the token endpoint; sliding window"
// (description, section 8).
import type { RateLimit } from "../options.js";
import { type Ending, ExpiringMap } from "../state/expiring-map.js";

export class SlidingWindow {
  /** The instants (epoch milliseconds) of the admitted requests of each tenant. */
  readonly #windows: ExpiringMap<Ending & { readonly admitted: readonly number[] }>;

  constructor(clock: () => number) {
    this.#windows = new ExpiringMap({ clock, memoryMs: 0 });
  }

  /**
   * An admitted request occupies a slot from its instant until just before the instant
   * `windowSeconds` later. A refused one occupies none, so it suffices to wait for the instant that
   * is returned, at which a slot becomes free.
   */
  takeSlot(tenantId: string, limit: RateLimit, now: number): number | undefined {
    const windowMs = limit.windowSeconds * 1000;
    // If the clock was set back, instants that are now in the future do not count.
    const isCounted = (at: number) => at <= now && now < at + windowMs;
    const admitted = (this.#windows.find(tenantId)?.admitted ?? []).filter(isCounted);
    const [oldest] = admitted;
    if (oldest !== undefined && admitted.length >= limit.requests) return oldest + windowMs;
    this.#windows.set(tenantId, { admitted: [...admitted, now], expiresAt: now + windowMs });
    return undefined;
  }
}
