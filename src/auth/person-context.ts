/** What every way to a person's Auth begins with: options checked, credential read, the place in the store known. */
import { ConfigurationError, type Variant } from "../errors.js";
import type { Target } from "../variants/target.js";
import { resolveAuthOptions } from "./auth-options.js";
import { createTokenEndpointState, parseTarget } from "./create-auth.js";
import type { PersonAuthOptions } from "./person-auth.js";
import {
  type PersonEndpointState,
  type PreparedPersonCredential,
  personDriverOf,
} from "./person-credential.js";
import type { PersonTokenSourceContext } from "./person-token-source.js";
import { grantKey } from "./stored-grant.js";
import type { TokenStore } from "./token-store.js";

export interface PersonContext extends PersonTokenSourceContext {
  readonly person: string;
  readonly prepared: PreparedPersonCredential;
  readonly state: PersonEndpointState;
}

/**
 * @throws ConfigurationError for a wrong option, credential or key
 */
export async function personContext<V extends Variant>(
  options: PersonAuthOptions<V> & { readonly store: TokenStore },
  variant?: V,
): Promise<PersonContext> {
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("option_invalid", "The options are missing.", { option: "options" });
  const driver = personDriverOf(options.credential, variant);
  const spoken = options.credential.variant;
  const target: Target = parseTarget(options, spoken);
  const resolved = { ...resolveAuthOptions(options), store: options.store };
  const person = options.person ?? crypto.randomUUID();
  if (typeof person !== "string" || person === "")
    throw new ConfigurationError("option_invalid", "person is no text.", { option: "person" });
  const prepare = () => driver.prepare(target, resolved);
  const prepared = await prepare();
  return {
    variant: spoken,
    target,
    options: resolved,
    state: driver.state(target, () => createTokenEndpointState(spoken, resolved)),
    prepare,
    prepared,
    person,
    key: grantKey(spoken, target, prepared.clientId, person),
  };
}
