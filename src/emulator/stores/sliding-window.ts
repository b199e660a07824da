// The per-tenant rate limit of the token endpoint: a true sliding window, not fixed buckets.
import { createHash } from "node:crypto";
import { ExpiringMap } from "./expiring-map.js";

/** Characters; a digest has one more, so that no tenant is called like the digest of another. */
const LONGEST_KEY = 42;

/** A tenant's admitted requests (epoch milliseconds, oldest first) and when the last of them leaves the window. */
interface Admitted {
  readonly instants: number[];
  expiresAt: number;
}

/**
 * Admits `requests` in any span of `windowSeconds`. A slot frees exactly `windowSeconds` after the request that took
 * it. A request that is not admitted takes no slot, so waiting until a slot frees is enough.
 */
export class SlidingWindow {
  readonly #requests: number;
  readonly #windowMs: number;
  readonly #tenants = new ExpiringMap<Admitted>();

  constructor(limit: { requests: number; windowSeconds: number }) {
    this.#requests = limit.requests;
    this.#windowMs = limit.windowSeconds * 1000;
  }

  /**
   * Takes a slot and returns undefined; or returns the instant (epoch milliseconds) at which one frees. `isFixed`: as a
   * server does that counts in windows which begin anew each time their length has passed.
   */
  take(tenantId: string, now: number, isFixed = false): number | undefined {
    const key = keyOf(tenantId);
    const admitted = this.#tenants.get(key) ?? { instants: [], expiresAt: 0 };
    const { instants } = admitted;
    dropAfter(instants, now);
    while (instants[0] !== undefined && instants[0] + this.#windowMs <= now) instants.shift();
    const beganAt = Math.floor(now / this.#windowMs) * this.#windowMs;
    const counted = isFixed ? instants.filter((instant) => instant >= beganAt) : instants;
    const oldest = counted[0];
    if (oldest !== undefined && counted.length >= this.#requests) {
      return (isFixed ? beganAt : oldest) + this.#windowMs;
    }
    instants.push(now);
    admitted.expiresAt = now + this.#windowMs;
    this.#tenants.set(key, admitted, now);
    return undefined;
  }
}

/** After a step back of the clock: what was admitted then has not been yet, and the order stays that of time. */
function dropAfter(instants: number[], now: number): void {
  for (let last = instants.at(-1); last !== undefined && last > now; last = instants.at(-1)) instants.pop();
}

/** The tenant of a path is whatever an anonymous caller wrote there, as long as a path may be. */
function keyOf(tenantId: string): string {
  return tenantId.length <= LONGEST_KEY
    ? tenantId
    : createHash("sha256").update(tenantId).digest("base64url");
}
