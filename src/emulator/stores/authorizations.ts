// What people allowed API clients: the family of a login's refresh tokens and access tokens, revoked as one.
import type { RandomSource } from "../random-source.js";
import { ExpiringMap } from "./expiring-map.js";

/** One login that was exchanged for tokens. */
export interface Authorization {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  /** What was granted; undefined: whatever the person has. */
  readonly scopes: ReadonlySet<string> | undefined;
  readonly revoked: boolean;
  /** Epoch milliseconds; from this instant on nothing is refreshed. */
  readonly endsAt: number;
}

interface Kept {
  readonly authorization: Authorization;
  readonly expiresAt: number;
}

export class Authorizations {
  readonly #byId = new ExpiringMap<Kept>();
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  /** Returns its id, which is no secret. It is known at least until `keepUntil` (epoch milliseconds). */
  open(authorization: Authorization, keepUntil: number, now: number): string {
    const id = this.#random.uuid();
    this.#byId.set(id, { authorization, expiresAt: keepUntil }, now);
    return id;
  }

  find(id: string): Authorization | undefined {
    return this.#byId.get(id)?.authorization;
  }

  /** Ends its refresh tokens and its access tokens. */
  revoke(id: string, now: number): void {
    const kept = this.#byId.get(id);
    if (kept === undefined) return;
    this.#byId.set(id, { ...kept, authorization: { ...kept.authorization, revoked: true } }, now);
  }

  /** The same of all that are meant. */
  revokeAll(isMeant: (authorization: Authorization) => boolean): void {
    this.#byId.revise((kept) =>
      isMeant(kept.authorization)
        ? { ...kept, authorization: { ...kept.authorization, revoked: true } }
        : kept,
    );
  }
}
