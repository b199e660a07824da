// The jti values that plugins have used, each remembered for as long as an assertion with it can be
// accepted.
import type { PluginIdentity } from "../registrations/keys.js";
import { type Ending, ExpiringMap } from "../state/expiring-map.js";

/**
 * An assertion is accepted from 30 s before its iat until 330 s after it; 30 s are added against
 * rounding.
 */
const MEMORY_MS = 390_000;
/** This suffices for 2,500 assertions per second. */
const MOST = 1_000_000;

export class JtiMemory {
  /** A repeat is refused until the end of each. */
  readonly #used: ExpiringMap<Ending>;

  constructor(clock: () => number) {
    this.#used = new ExpiringMap({ clock, memoryMs: 0 }, MOST);
  }

  /** Returns whether the plugin may use it, once. Two plugins, or two tenants, may use the same. */
  use({ tenantId, clientId }: PluginIdentity, jti: string, now: number): boolean {
    const key = JSON.stringify([tenantId, clientId, jti]);
    const used = this.#used.find(key);
    if (used !== undefined && now < used.expiresAt) return false;
    this.#used.set(key, { expiresAt: now + MEMORY_MS });
    return true;
  }
}
