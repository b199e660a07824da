/** An Auth from one machine credential, without detection: its bundle contains only the variant of the credential. */
import type { Variant } from "../errors.js";
import { requireObject } from "../options.js";
import { parseTarget, type TargetOptions } from "../variants/target.js";
import type { Auth } from "./auth.js";
import { type AuthOptions, resolveAuthOptions } from "./auth-options.js";
import { driverOf, type MachineCredential } from "./credentials/credential.js";
import { MachineTokenSource } from "./machine-tokens.js";
import { TokenLifecycle } from "./token-lifecycle.js";
import { createTokenEndpointState } from "./token-request.js";

export interface CreateAuthOptions<V extends Variant = Variant> extends AuthOptions, TargetOptions {
  readonly credential: MachineCredential<V>;
}

/**
 * Creates an `Auth` for one credential. Nothing is read or sent before the first `getAccessToken`.
 *
 * @throws ConfigurationError `base_url_invalid`, `base_url_insecure`, `tenant_id_invalid`, `credential_invalid`, `option_invalid`
 * @example
 * const auth = createAuth({ baseUrl, tenantId: "acme", credential: servicePlugin({ clientId, privateKey }) });
 * const { value } = await auth.getAccessToken();
 */
export function createAuth<V extends Variant>(options: CreateAuthOptions<V>): Auth & { readonly variant: V } {
  requireObject("options", options);
  const driver = driverOf(options.credential);
  const { variant } = options.credential;
  const target = parseTarget(options, variant);
  const resolved = resolveAuthOptions(options);
  const state = createTokenEndpointState(variant, resolved);
  const source = new MachineTokenSource({ variant, target, driver, state, options: resolved });
  return new TokenLifecycle({ variant, target, options: resolved, source }) as TokenLifecycle & {
    readonly variant: V;
  };
}
