/** Variant B: sending a person to the authorization endpoint, and what comes back from there. */

import type { PersonAuth, PersonAuthOptions } from "./auth/auth.js";
import { exchangeCode, requireCodeVerifier } from "./auth/code-exchange.js";
import type { PreparedApiClient } from "./auth/credentials/api-client.js";
import { lazy } from "./auth/lazy.js";
import { personContext } from "./auth/person-tokens.js";
import { ConfigurationError } from "./errors.js";
import { requireSignal } from "./options.js";
import { memoryStore } from "./stores/memory.js";

/** Loaded lazily: only a login needs it. */
const authorization = /* @__PURE__ */ lazy(() => import("./auth/authorization.js"));

/** What must be remembered between the two halves of a login, on the server and bound to the browser. Plain JSON; secret. */
export interface PendingLogin {
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
  readonly clientId: string;
}

export interface BegunLogin {
  /** Where to send the person. */
  readonly url: string;
  readonly login: PendingLogin;
}

export interface CompleteLoginOptions extends PersonAuthOptions<"B"> {
  /** The address that the person came back to, with its query. */
  readonly callbackUrl: string | URL;
  /** From `beginLogin`. */
  readonly login: PendingLogin;
  /** Ends the wait; an exchange that was sent runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Begins a login: makes `state`, a PKCE verifier and its S256 challenge, and the address to send the person to. Keep
 * `login` where only this browser's callback finds it: a cookie that names it, and a server that holds it.
 *
 * The authorization endpoint's parameters are not shown in the description: the standard ones are assumed, beside
 * `authorizationParameters`.
 *
 * @throws ConfigurationError
 * @see the description, section 5.8; RFC 6749 section 4.1.1; RFC 7636 section 4.3
 * @example
 * const { url, login } = await beginLogin({ baseUrl, credential: apiClient({ clientId, redirectUri, authorizationEndpoint }) });
 */
export async function beginLogin(options: PersonAuthOptions<"B">): Promise<BegunLogin> {
  const { prepared } = await loginContext(options);
  const { clientId, redirectUri } = prepared;
  const { authorizationRequest } = await authorization();
  const { url, state, codeVerifier } = await authorizationRequest(prepared);
  return { url, login: { state, codeVerifier, redirectUri, clientId } };
}

/**
 * Completes a login: checks `state` and the answer, and exchanges the code, once. What does not belong to this login
 * is refused before the code is sent. The refresh token renews the token without prompting, by way of the store: give
 * the same `store` and `person` to `resumeAuth` after a restart.
 *
 * @throws LoginRequiredError `state_mismatch`, `login_denied`, `login_refused`, `login_outcome_unknown`
 * @throws TokenRequestError when the client, not the code, was refused
 * @throws ConfigurationError, TransportError, StoreError, RateLimitedError before the code was sent
 * @see the description, sections 4.2 and 5.8; RFC 6749 sections 4.1.2 and 4.1.3
 * @example
 * const auth = await completeLogin({ baseUrl, credential, callbackUrl: request.url, login, store, person: sessionId });
 */
export async function completeLogin(options: CompleteLoginOptions): Promise<PersonAuth<"B">> {
  const context = await loginContext(options);
  const { prepared } = context;
  const { login } = options;
  if (typeof login?.state !== "string" || login.state === "")
    throw new ConfigurationError("option_invalid", "login is not what beginLogin gave.", {
      option: "login",
      variant: "B",
    });
  if (login.clientId !== prepared.clientId || login.redirectUri !== prepared.redirectUri)
    throw new ConfigurationError("option_invalid", "login was begun with another credential.", {
      option: "login",
      variant: "B",
    });
  const codeVerifier = requireCodeVerifier(login.codeVerifier);
  const signal = requireSignal(options.signal);
  const { readCallback } = await authorization();
  const code = readCallback(options.callbackUrl, login.state, prepared);
  return (await exchangeCode(context, { code, codeVerifier }, signal)) as PersonAuth<"B">;
}

async function loginContext(options: PersonAuthOptions<"B">) {
  const store = options?.store === undefined ? memoryStore({ now: options?.now }) : options.store;
  const context = await personContext({ ...options, store }, "B");
  return { ...context, prepared: context.prepared as PreparedApiClient };
}
