/** A person's Auth again, from the store: after a restart, or in another process. */
import type { PersonAuth, PersonAuthOptions } from "./auth/auth.js";
import { PersonLifecycle, personContext } from "./auth/person-tokens.js";
import { readGrant } from "./auth/stored-grant.js";
import type { TokenStore } from "./auth/token-store.js";
import { ConfigurationError, type Variant } from "./errors.js";

export interface ResumeAuthOptions<V extends Variant = Variant> extends PersonAuthOptions<V> {
  /** As it was given to `redeemLaunch` or `completeLogin`, or as their `PersonAuth` told it. */
  readonly person: string;
  /** The one that they wrote to. */
  readonly store: TokenStore;
}

/**
 * Finds a person's tokens again. `undefined` when nothing rests under that name: the person must launch or log in.
 * Nothing is sent; an expired token is renewed by its refresh token when it is asked for.
 *
 * @throws ConfigurationError, StoreError
 * @example
 * const auth = await resumeAuth({ baseUrl, tenantId, credential, store, person: sessionId });
 */
export async function resumeAuth<V extends Variant>(
  options: ResumeAuthOptions<V>,
): Promise<PersonAuth<V> | undefined> {
  for (const option of ["person", "store"] as const)
    if (options?.[option] === undefined)
      throw new ConfigurationError("option_invalid", `${option} is missing.`, { option });
  const context = await personContext(options);
  const stored = await readGrant(options.store, context.key);
  if (stored === undefined) return undefined;
  return new PersonLifecycle(context, stored.grant, true) as unknown as PersonAuth<V>;
}
