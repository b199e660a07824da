// The jti values that were used, per plugin, for as long as an assertion carrying one could still be accepted.
import { createHash } from "node:crypto";
import { ExpiringMap } from "./expiring-map.js";

/** Each is remembered for at most six minutes and a half: 2,500 accepted assertions a second. */
const CAPACITY = 1_000_000;

/** "A repeat is refused" (description, section 2.2). */
export class UsedAssertionIds {
  readonly #uses = new ExpiringMap<{ expiresAt: number }>(CAPACITY);

  /**
   * Marks the jti as used; false if it already was. Synchronous, so that of concurrent posts of one assertion exactly
   * one gets true. Two plugins, or two tenants, may use the same jti.
   */
  use(id: { tenantId: string; clientId: string; jti: string }, expiresAt: number, now: number): boolean {
    // Hashed: a jti may be as long as a request body, and belongs to an assertion, which is kept nowhere.
    const key = createHash("sha256")
      .update(JSON.stringify([id.tenantId, id.clientId, id.jti]))
      .digest("base64url");
    const earlier = this.#uses.get(key);
    if (earlier !== undefined && now < earlier.expiresAt) return false;
    this.#uses.set(key, { expiresAt }, now);
    return true;
  }
}
