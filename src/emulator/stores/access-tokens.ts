// The access tokens that were issued.
import type { RandomSource } from "../random-source.js";
import { SecretMap } from "./secret-map.js";

/** What a token stands for; fixed when it is minted. */
export interface IssuedToken {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person for whom the client acts: the launching operator or whoever logged in; undefined for a machine. */
  readonly userId?: string | undefined;
  /** What a person allowed an API client (Variant B): revoking that ends the token. */
  readonly authorizationId?: string | undefined;
  /** "The token carries the scopes granted to the registration" (description, section 5.6); undefined reaches all. */
  readonly scopes: ReadonlySet<string> | undefined;
  /** Epoch milliseconds; from this instant on the token is refused. */
  readonly expiresAt: number;
  /** Whose registration was taken away: the token is refused for good, whoever is registered under that name later. */
  readonly unregistered?: Unregistered | undefined;
}

export type Unregistered = "plugin" | "service account" | "operator";

export class AccessTokens {
  readonly #tokens: SecretMap<IssuedToken>;

  constructor(random: RandomSource) {
    this.#tokens = new SecretMap(random);
  }

  /** Issues a token and returns the only copy of its value. */
  mint(token: IssuedToken, now: number): string {
    return this.#tokens.mint(token, token.expiresAt, now);
  }

  find(value: string): IssuedToken | undefined {
    return this.#tokens.find(value);
  }

  /** What is meant is refused from now on, and still known: the log can tell why. */
  end(unregistered: Unregistered, isMeant: (token: IssuedToken) => boolean): void {
    this.#tokens.revise((token) =>
      token.unregistered === undefined && isMeant(token) ? { ...token, unregistered } : token,
    );
  }
}
