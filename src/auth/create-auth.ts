/** An Auth from one credential, without detection: whoever knows the variant needs nothing of the other. */
import { ConfigurationError, type Variant } from "../errors.js";
import { parseBaseUrl, parseTenantId, type Target } from "../variants/target.js";
import type { Auth } from "./auth.js";
import { type AuthOptions, type ResolvedAuthOptions, resolveAuthOptions } from "./auth-options.js";
import { driverOf, type MachineCredential } from "./credentials/credential.js";
import { MachineTokenSource } from "./machine-tokens.js";
import { RateLimitGate } from "./rate-limit-gate.js";
import { ServerClock } from "./server-clock.js";
import { TokenLifecycle } from "./token-lifecycle.js";
import type { TokenEndpointState } from "./token-request.js";

export interface CreateAuthOptions<V extends Variant = Variant> extends AuthOptions {
  readonly baseUrl: string;
  /** With a credential of Variant B a local key only, which may be left out. */
  readonly tenantId?: string | undefined;
  readonly credential: MachineCredential<V>;
}

/**
 * Gives an `Auth` for one credential. Nothing is asked, sent or read yet: the first `getAccessToken` does.
 *
 * @throws ConfigurationError `base_url_invalid`, `base_url_insecure`, `tenant_id_invalid`, `credential_invalid`, `option_invalid`
 * @example
 * const auth = createAuth({ baseUrl, tenantId: "acme", credential: servicePlugin({ clientId, privateKey }) });
 * const { value } = await auth.getAccessToken();
 */
export function createAuth<V extends Variant>(options: CreateAuthOptions<V>): Auth & { readonly variant: V } {
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("option_invalid", "The options are missing.", { option: "options" });
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

/** Checks where tokens are asked for. @throws ConfigurationError */
export function parseTarget(
  options: Pick<CreateAuthOptions, "baseUrl" | "tenantId" | "allowInsecureHttp" | "tenantIdPattern">,
  variant: Variant | undefined,
): Target {
  const baseUrl = parseBaseUrl(options.baseUrl, options.allowInsecureHttp);
  const isLocalKeyOnly = variant === "B" && options.tenantId === undefined;
  return {
    baseUrl,
    tenantId: isLocalKeyOnly ? "" : parseTenantId(options.tenantId, options.tenantIdPattern),
  };
}

/** The gate and the clock of one token endpoint. */
export function createTokenEndpointState(
  variant: Variant,
  options: Pick<ResolvedAuthOptions, "now" | "timeoutMs" | "shareInFlight">,
): TokenEndpointState {
  return { gate: new RateLimitGate(variant, options), clock: new ServerClock() };
}
