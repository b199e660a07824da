// The jti values that plugins have used. "A repeat is refused" (description, section 2.2), however
// late it comes, so that a client whose jti is not unique is found out when its token is renewed.
import type { PluginIdentity } from "../registrations/keys.js";
import { type Ending, ExpiringMap } from "../state/expiring-map.js";

/** If there are more, the oldest are forgotten: at 2,500 assertions per second, after 400 s. */
const MOST = 1_000_000;

export class JtiMemory {
  readonly #used: ExpiringMap<Ending>;

  constructor(clock: () => number) {
    this.#used = new ExpiringMap({ clock, memoryMs: 0 }, MOST);
  }

  /** Returns whether the plugin may use it, once. Two plugins, or two tenants, may use the same. */
  use({ tenantId, clientId }: PluginIdentity, jti: string): boolean {
    const key = JSON.stringify([tenantId, clientId, jti]);
    if (this.#used.find(key) !== undefined) return false;
    this.#used.set(key, { expiresAt: Number.POSITIVE_INFINITY });
    return true;
  }
}
