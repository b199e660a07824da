// The jti values that plugins have used. "A repeat is refused" (description, section 2.2), also
// after the first assertion has expired, so that a client whose jti is not unique is noticed at a
// renewal.
import type { PluginIdentity } from "../registrations/keys.js";
import { type Ending, ExpiringMap } from "../state/expiring-map.js";

const MEMORY_MS = 86_400_000;
/** If there are more, the oldest are forgotten: at 2,500 assertions per second, after 400 s. */
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
