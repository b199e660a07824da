/**
 * What the tokens of one person are made from: the checked options, the credential and the grant's
 * place in the store.
 */
import { type AuthOptions, resolveAuthOptions, type TargetOptions } from "../../client-options.js";
import type { Variant } from "../../errors.js";
import { invalidOption } from "../../options.js";
import { parseTarget } from "../../variants/target.js";
import {
  type PersonCredential,
  type PersonEndpointState,
  type PreparedPersonCredential,
  personDriverOf,
  type SentRefreshTokens,
} from "../credentials/credential.js";
import { TokenEndpointState } from "../request/rate-limit-gate.js";
import type { TokenEndpoint } from "../request/token-request.js";
import { SharedState } from "../shared/shared-state.js";
import { type TokenStore, withStoreErrors } from "../shared/token-store.js";

/** The person, the tenant of a deployment and the credential that tokens are for. */
export interface PersonAuthOptions<V extends Variant = Variant> extends AuthOptions, TargetOptions {
  readonly credential: PersonCredential<V>;
  /**
   * A name for the person, unique in the store, for instance the id of your own session. Do not
   * pass a user id alone, since one login would then replace another. Default: random.
   */
  readonly person?: string | undefined;
}

/** The checked options of a person's Auth, with the credential read. */
export interface PersonContext extends Omit<TokenEndpoint, "emit"> {
  /** That of the options, with time limits and only errors of this package. */
  readonly store: TokenStore;
  readonly state: PersonEndpointState;
  readonly sentRefreshTokens: SentRefreshTokens;
  readonly prepare: () => Promise<PreparedPersonCredential>;
  readonly prepared: PreparedPersonCredential;
  readonly person: string;
  /** The key of the grant in the store. */
  readonly key: string;
}

/** @throws ConfigurationError when an option, the credential or the key is wrong */
export async function personContext<V extends Variant>(
  options: PersonAuthOptions<V> & { readonly store: TokenStore; readonly redirectUri?: string },
  expected?: V,
): Promise<PersonContext> {
  const driver = personDriverOf(options.credential, expected);
  const { variant } = options.credential;
  const resolved = resolveAuthOptions(options);
  const store = withStoreErrors(options.store, resolved.timeoutMs, resolved.clock);
  const target = parseTarget(options, resolved, variant);
  const { person = crypto.randomUUID() } = options;
  if (typeof person !== "string" || person === "")
    throw invalidOption("person", "must be a string that is not empty");
  const prepare = () => driver.prepare(target, { ...resolved, redirectUri: options.redirectUri });
  const prepared = await prepare();
  const { baseUrl, tenantId } = target;
  return {
    variant,
    target,
    options: resolved,
    store,
    shared: new SharedState({ ...resolved, store }, true),
    state: driver.states.get(JSON.stringify([baseUrl, tenantId]), () =>
      Object.assign(new TokenEndpointState(variant, target, resolved), { spentCodes: new Map() }),
    ),
    sentRefreshTokens: driver.sentRefreshTokens,
    prepare,
    prepared,
    person,
    key: JSON.stringify(["grant", variant, baseUrl, tenantId, prepared.clientId, person]),
  };
}
