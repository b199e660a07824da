// The access tokens that were issued, by hash: what is stored cannot be presented.
import { createHash, randomBytes } from "node:crypto";
import { ExpiringMap } from "./expiring-map.js";

/** 256 bits, beyond the 160 that RFC 6749 section 10.10 asks for. */
const TOKEN_BYTES = 32;

/** What a token stands for; fixed when it is minted. */
export interface IssuedToken {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** "The token carries the scopes granted to the registration" (description, section 5.6); undefined reaches all. */
  readonly scopes: ReadonlySet<string> | undefined;
  /** Epoch milliseconds; from this instant on the token is refused. */
  readonly expiresAt: number;
}

/** Tokens are opaque random strings, so nobody can come to depend on what is inside one. */
export class AccessTokens {
  readonly #byHash = new ExpiringMap<IssuedToken>();

  /** Issues a token and returns the only copy of its value. */
  mint(token: IssuedToken, now: number): string {
    const value = randomBytes(TOKEN_BYTES).toString("base64url");
    this.#byHash.set(hash(value), token, now);
    return value;
  }

  find(value: string): IssuedToken | undefined {
    return this.#byHash.get(hash(value));
  }
}

function hash(value: string): string {
  return createHash("sha256").update(value).digest("base64url");
}
