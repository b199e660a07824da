/**
 * Gets a person's tokens from the code of a launch (Variant A) or of a login (Variant B), or from
 * the store.
 */
import type { PersonAuth } from "./auth/auth.js";
import type { PreparedApiClient } from "./auth/credentials/clients.js";
import { requireText } from "./auth/credentials/credential.js";
import { exchangeCode } from "./auth/person/code-exchange.js";
import {
  type PersonAuthOptions,
  type PersonContext,
  personContext,
} from "./auth/person/person-context.js";
import { PersonLifecycle } from "./auth/person/person-refresh.js";
import { readGrant } from "./auth/person/stored-grant.js";
import type { TokenStore } from "./auth/shared/token-store.js";
import { ownAuthNames } from "./client-options.js";
import { locate, type Variant } from "./errors.js";
import { isLoopback, untilAborted } from "./http/exchange.js";
import { lazy } from "./http/lazy.js";
import type { NamesOf } from "./option-names.js";
import {
  invalidOption,
  requireCode,
  requireCodeVerifier,
  requireOptions,
  requireSignal,
} from "./options.js";
import { memoryStore } from "./stores/memory.js";

/** The module is loaded lazily, because only a login needs it. */
const authorization = /* @__PURE__ */ lazy(() => import("./auth/person/authorization.js"));

const personNames: NamesOf<PersonAuthOptions> = { ...ownAuthNames, person: true };

/** The options of {@link redeemLaunch}. */
export interface RedeemLaunchOptions extends PersonAuthOptions<"A"> {
  /** The tenant id is part of the path that the code is sent to. */
  readonly tenantId: string;
  /** The `code` of `host:auth-code`. */
  readonly code: string;
  /** The PKCE verifier for the challenge sent at launch. */
  readonly codeVerifier: string;
  /** Ends the wait; an exchange that was sent runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Exchanges the code of a launch. Call it at once, since a code expires after two minutes, and on
 * the server. The first attempt uses the code up; processes that share a `store` never send it
 * twice.
 *
 * The token cannot be renewed: after its expiry `getAccessToken` rejects with `launch_expired`.
 *
 * @throws RelaunchRequiredError `launch_refused`, `launch_outcome_unknown`
 * @throws TokenRequestError with ranked `causes` if the plugin, not the code, was refused
 * @throws ConfigurationError, TransportError, StoreError, RateLimitedError before the code was sent
 * @see the description, sections 3, 4.1 and 5.3; RFC 7636 section 4.5
 * @example
 * const credential = userInterfacePlugin({ clientId, privateKey });
 * const auth = await redeemLaunch({ baseUrl, tenantId, credential, code, codeVerifier });
 * const service = createService(auth);
 */
export async function redeemLaunch(options: RedeemLaunchOptions): Promise<PersonAuth<"A">> {
  requireOptions("redeemLaunch", options, {
    ...personNames,
    code: true,
    codeVerifier: true,
    signal: true,
  });
  const signal = requireSignal(options.signal);
  const context = await untilAborted(contextOf(options, "A"), signal);
  const code = requireCode(options.code);
  const codeVerifier = requireCodeVerifier(options.codeVerifier);
  return (await exchangeCode(context, { code, codeVerifier }, signal)) as PersonAuth<"A">;
}

/**
 * Data to keep between the two halves of a login, on the server and bound to the browser. Plain
 * JSON; secret.
 */
export interface PendingLogin {
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
  readonly clientId: string;
  /** The issuer that the callback must name, if the credential has one. */
  readonly issuer?: string | undefined;
}

/** `redirectUri` is for a credential that has none. */
type LoginOptions = PersonAuthOptions<"B"> & { readonly redirectUri?: string | undefined };

/**
 * A login that {@link beginLogin} began: where to send the person, and what to keep until the
 * callback.
 */
export interface BegunLogin {
  /** Where to send the person. */
  readonly url: string;
  readonly login: PendingLogin;
}

/**
 * Begins a login: makes `state`, a PKCE verifier and its S256 challenge, and the URL to send the
 * person to. Keep `login` on the server under a name that a cookie holds, so that only this
 * browser's callback finds it.
 *
 * The description does not show the parameters of the authorization endpoint: the standard ones are
 * assumed, together with `authorizationParameters`.
 *
 * @throws ConfigurationError
 * @see the description, section 5.8; RFC 6749 section 4.1.1; RFC 7636 section 4.3
 * @example
 * const credential = apiClient({ clientId, redirectUri, authorizationEndpoint });
 * // Send the person to url, and keep login.
 * const { url, login } = await beginLogin({ baseUrl, credential });
 */
export async function beginLogin(options: LoginOptions): Promise<BegunLogin> {
  requireOptions("beginLogin", options, { ...personNames, redirectUri: true });
  const prepared = (await contextOf(options, "B")).prepared as PreparedApiClient;
  const { clientId, issuer } = prepared;
  const redirectUri = requireText(prepared.redirectUri, "redirectUri", "B");
  const { protocol, hostname } = new URL(redirectUri);
  // RFC 9700 section 2.6 forbids it, since the code could be read on the way.
  if (protocol === "http:" && !isLoopback(hostname) && !options.allowInsecureHttp)
    throw invalidOption("redirectUri", "must not be plain http to another machine", "Use https.");
  const { authorizationRequest } = await authorization();
  const { url, state, codeVerifier } = await authorizationRequest({ ...prepared, redirectUri });
  return { url, login: { state, codeVerifier, redirectUri, clientId, ...(issuer && { issuer }) } };
}

/** The options of {@link completeLogin}. */
export interface CompleteLoginOptions extends PersonAuthOptions<"B"> {
  /** The URL that the person came back to, with its query. */
  readonly callbackUrl: string | URL;
  /** From `beginLogin`. */
  readonly login: PendingLogin;
  /** Ends the wait; an exchange that was sent runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Completes a login: checks `state` and the authorization response, and exchanges the code, once.
 * The stored refresh token renews the token without prompting: pass the same `store` and `person`
 * to `resumeAuth` after a restart.
 *
 * @throws LoginRequiredError `state_mismatch`, `login_denied`, `login_refused`,
 * `login_outcome_unknown`
 * @throws TokenRequestError if the client, not the code, was refused
 * @throws ConfigurationError, TransportError, StoreError, RateLimitedError before the code was sent
 * @see the description, sections 4.2 and 5.8; RFC 6749 sections 4.1.2 and 4.1.3
 * @example
 * const credential = apiClient({ clientId, redirectUri, authorizationEndpoint });
 * const { url, login } = await beginLogin({ baseUrl, credential });
 * const callbackUrl = await visit(url); // where the person comes back
 * const auth = await completeLogin({
 *   baseUrl,
 *   credential,
 *   callbackUrl,
 *   login,
 *   store,
 *   person: sessionId,
 * });
 */
export async function completeLogin(options: CompleteLoginOptions): Promise<PersonAuth<"B">> {
  const { login } = requireOptions("completeLogin", options, {
    ...personNames,
    callbackUrl: true,
    login: true,
    signal: true,
  });
  const signal = requireSignal(options.signal);
  if (typeof login?.state !== "string" || login.state === "")
    throw invalidOption("login", "must be the login that beginLogin returned");
  const begun: LoginOptions = { ...options, redirectUri: login.redirectUri };
  const context = await untilAborted(contextOf(begun, "B"), signal);
  const prepared = context.prepared as PreparedApiClient;
  // The issuer is compared too: without it, a callback of another deployment could be taken for
  // this one's.
  if (
    (["clientId", "redirectUri", "issuer"] as const).some(
      (field) => login[field] !== prepared[field],
    )
  )
    throw invalidOption(
      "login",
      "was begun with another credential",
      "Pass the credential that began it.",
    );
  const codeVerifier = requireCodeVerifier(login.codeVerifier);
  const { readCallback } = await untilAborted(authorization(), signal);
  let code: string;
  try {
    code = readCallback(options.callbackUrl, login.state, prepared);
  } catch (error) {
    throw located(error, context);
  }
  return (await exchangeCode(context, { code, codeVerifier }, signal)) as PersonAuth<"B">;
}

/** The options of {@link resumeAuth}. */
export interface ResumeAuthOptions<V extends Variant = Variant> extends PersonAuthOptions<V> {
  /**
   * The name that was passed to `redeemLaunch` or `completeLogin`, or that their `PersonAuth` has.
   */
  readonly person: string;
  /** The store that was passed to them. */
  readonly store: TokenStore;
}

/**
 * Finds a person's tokens again, after a restart or in another process. Resolves with `undefined`
 * if nothing is stored under that name: the person must launch or log in. Sends nothing; an expired
 * token is renewed by its refresh token on the next `getAccessToken`.
 *
 * @throws ConfigurationError, StoreError
 * @see the description, sections 4.2 and 5.9; RFC 6749 section 6
 * @example
 * const credential = apiClient({ clientId, redirectUri, authorizationEndpoint });
 * const auth = await resumeAuth({ baseUrl, tenantId, credential, store, person: sessionId });
 */
export async function resumeAuth<V extends Variant>(
  options: ResumeAuthOptions<V>,
): Promise<PersonAuth<V> | undefined> {
  if (requireOptions("resumeAuth", options, personNames).person === undefined)
    throw invalidOption("person", "is missing", "Pass the name that the tokens were stored under.");
  if (options.store === undefined)
    throw invalidOption("store", "is missing", "Pass the store that the tokens were written to.");
  const context = await personContext(options);
  const grant = await readGrant(context).catch((error) => {
    throw located(error, context);
  });
  if (grant === undefined) return undefined;
  return new PersonLifecycle(context, grant, true) as unknown as PersonAuth<V>;
}

function located<E>(error: E, { variant, target, prepared: { clientId } }: PersonContext): E {
  return locate(error, { ...target, variant }, { clientId });
}

/** Checks the options and adds a store in memory if there is none. */
function contextOf<V extends Variant>(
  options: PersonAuthOptions<V>,
  variant: V,
): Promise<PersonContext> {
  const { store, clock } = options;
  const given = store === undefined ? memoryStore({ clock }) : store;
  return personContext({ ...options, store: given }, variant);
}
