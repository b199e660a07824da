// An Auth for tests that returns token-1, and the next token after each invalidation.
import type { AccessToken, Auth, Variant } from "../../src/index.js";

export interface NumberedAuth<V extends Variant> extends Auth {
  readonly variant: V;
  /** The values of the tokens that were invalidated. */
  readonly invalidated: string[];
}

export interface NumberedAuthOptions<V extends Variant> {
  readonly variant: V;
  readonly baseUrl?: string;
  readonly tenantId?: string;
  /** The epoch milliseconds at which tokens are issued. Default: when they are requested. */
  readonly now: () => number;
}

export function numberedAuth<V extends Variant>({
  variant,
  baseUrl = "https://service.example/prefix",
  tenantId = "acme",
  now,
}: NumberedAuthOptions<V>): NumberedAuth<V> {
  let count = 1;
  let held: AccessToken | undefined;
  const invalidated: string[] = [];
  return {
    variant,
    baseUrl,
    tenantId,
    invalidated,
    async getAccessToken({ signal } = {}) {
      signal?.throwIfAborted();
      held ??= { value: `token-${count}`, issuedAt: now(), expiresAt: now() + 3_600_000 };
      return held;
    },
    invalidate(token) {
      invalidated.push(token.value);
      if (token.value !== held?.value) return;
      count++;
      held = undefined;
    },
  };
}
