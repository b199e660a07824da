/** Variant A: the code of a launch, exchanged for a token of the operator who launched the plugin. */

import type { PersonAuth, PersonAuthOptions } from "./auth/auth.js";
import { exchangeCode, requireCode, requireCodeVerifier } from "./auth/code-exchange.js";
import { personContext } from "./auth/person-tokens.js";
import { requireSignal } from "./options.js";
import { memoryStore } from "./stores/memory.js";

export interface RedeemLaunchOptions extends PersonAuthOptions<"A"> {
  /** Part of the path that the code is sent to. */
  readonly tenantId: string;
  /** The `code` of `host:auth-code`. */
  readonly code: string;
  /** The PKCE verifier that belongs to the challenge sent at launch. */
  readonly codeVerifier: string;
  /** Ends the wait; an exchange that was sent runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Exchanges the code of a launch, at once and once: a code lives two minutes and is spent on the first attempt. To be
 * called on the server. With a `store` that processes share, a code that any of them sent is not sent again.
 *
 * The token cannot be renewed: after its expiry `getAccessToken` rejects with `launch_expired`.
 *
 * @throws RelaunchRequiredError `launch_refused`, `launch_outcome_unknown`
 * @throws TokenRequestError with ranked `causes` when the plugin, not the code, was refused
 * @throws ConfigurationError, TransportError, StoreError, RateLimitedError before the code was sent
 * @see the description, sections 3, 4.1 and 5.3; RFC 7636 section 4.5
 * @example
 * const auth = await redeemLaunch({ baseUrl, tenantId, credential: userInterfacePlugin({ clientId, privateKey }), code, codeVerifier });
 * const service = createService(auth);
 */
export async function redeemLaunch(options: RedeemLaunchOptions): Promise<PersonAuth<"A">> {
  const context = await personContext(
    { ...options, store: options?.store === undefined ? memoryStore({ now: options?.now }) : options.store },
    "A",
  );
  const code = requireCode(options.code);
  const codeVerifier = requireCodeVerifier(options.codeVerifier);
  const signal = requireSignal(options.signal);
  return (await exchangeCode(context, { code, codeVerifier }, signal)) as PersonAuth<"A">;
}
