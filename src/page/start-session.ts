/**
 * Starts the session of a page by a launch in the host's frame (Variant A) or by a login (Variant
 * B).
 *
 * Requirements
 * 1. Messages are posted only to one exact origin of `hostOrigins`, never to "*". The message names
 *   the launch.
 * 2. Only the parent window at that origin is listened to, and only its first `host:auth-code`
 *    after the challenge was posted. Source, shape, origin, state and tenant are checked, in this
 *    order. Siblings, openers and other frames of the host's own origin are ignored at all times.
 * 3. Code and verifier are sent only to the plugin's own backend, once, in a body. They are in no
 *    URL, storage or message, and follow no redirect (the description, section 4.1: the backend
 *    exchanges the code).
 * 4. The session is in memory. A launch needs no cookie, no storage and no second window.
 * 5. The launch parameters leave the address as soon as they are read, so that no other script,
 *    referrer or bookmark has them. A reload then does not post a launch again that the host has
 *    answered (section 3: codes are single-use). It resumes where the backend keeps sessions in a
 *    cookie and the browser names the embedding host, because another host of the same site has the
 *    same cookies. Otherwise it rejects with `opaque_code_missing`.
 * 6. A page that was opened on its own comes back from its login with a session or an error, and
 *   never goes in circles.
 */
import {
  type AuthCode,
  areOrigins,
  challengeOf,
  createVerifier,
  hostOriginOf,
  readAuthCode,
  shakeHands,
  urlOf,
} from "./handshake.js";
import { PageError, requireNames } from "./page-error.js";
import {
  type BackendClient,
  errorCodeOf,
  openSession,
  post,
  type Session,
  type SessionEnd,
} from "./session.js";

/**
 * The parameter that marks a login in the address to which it returns. From it the backend knows
 * which tab asks for its session, and the page knows that another login would not help.
 */
const returnMark = "bivariant_login";

/** The options of {@link startSession}. */
export interface StartSessionOptions {
  /**
   * The exact origins of the host applications that may launch this page:
   * `["https://customer.example"]`. Default: none, for a page that people only log in to.
   */
  readonly hostOrigins?: readonly string[] | undefined;
  /**
   * Where the backend's routes are, without a slash at the end: a path of this origin, or a whole
   * URL for another origin. Cookies are not sent to another origin, so logins and sessions in
   * cookies do not work there. Default: `/auth`.
   */
  readonly backend?: string | undefined;
  /**
   * Names of the launch parameters. The description shows only `opaque_code`; `state` is an
   * assumption.
   */
  readonly parameters?: { readonly opaqueCode?: string; readonly state?: string } | undefined;
  /**
   * The `state` that `host:auth-code` must have, if it is known otherwise. Default: the launch
   * parameter, if any.
   */
  readonly state?: string | undefined;
  /** The tenant of the session, if the page knows it. */
  readonly tenantId?: string | undefined;
  /** The tenant to log in to. Default: `tenantId`, else the backend's only tenant. */
  readonly tenant?: string | undefined;
  /**
   * If false, a page opened on its own rejects with `not_framed` instead of a login. Default: true.
   */
  readonly login?: boolean | undefined;
  /**
   * Makes the message to the host; its field names are an assumption. Default:
   * `{ type, challenge, opaque_code }`.
   */
  readonly initMessage?: ((challenge: string, opaqueCode: string) => unknown) | undefined;
  /**
   * Reads the host's answer, and returns `undefined` for other messages. Default:
   * `{ type, code, state, tenantId }`.
   */
  readonly readAuthCode?: ((data: unknown) => AuthCode | undefined) | undefined;
  /** The time limit for the host's answer, and for each answer of the backend. Default: 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Is called once when the session ends, with what to ask the person to do. */
  readonly onEnded?: ((end: SessionEnd) => void) | undefined;
}

/**
 * Starts a session with the page's own backend, for either variant. Call it once when the page has
 * loaded: a launch allows one attempt. The promise stays pending while the browser goes to the
 * login.
 *
 * @throws PageError whose `code` says what happened: `opaque_code_missing`, `relaunch_required`,
 *   `host_silent`, `login_denied`, ...
 * @see the description, sections 5.3 and 6
 * @example
 * const session = await startSession({
 *   hostOrigins: ["https://customer.example"],
 *   onEnded: ({ ask }) => show(ask === "relaunch" ? "Open the plugin again." : "Log in again."),
 * });
 * const devices = await (await session.fetch("/api/devices")).json();
 */
export async function startSession(options: StartSessionOptions = {}): Promise<Session> {
  requireNames(options, {
    hostOrigins: 1,
    backend: 1,
    parameters: 1,
    state: 1,
    tenantId: 1,
    tenant: 1,
    login: 1,
    initMessage: 1,
    readAuthCode: 1,
    timeoutMs: 1,
    fetch: 1,
    onEnded: 1,
  });
  const {
    hostOrigins = [],
    backend = "/auth",
    parameters = {},
    login = true,
    initMessage = (challenge, opaque_code) => ({
      type: "plugin:pkce-init",
      challenge,
      opaque_code,
    }),
    readAuthCode: read = readAuthCode,
    timeoutMs = 30_000,
    fetch = self.fetch,
    onEnded,
    ...expected
  } = options;
  requireNames(parameters, { opaqueCode: 1, state: 1 });
  if (self.origin === "null") throw new PageError("opaque_origin", "needs allow-same-origin");
  if (!crypto.subtle) throw new PageError("insecure_context");
  // A path is relative to this origin, even "//evil.example". Another origin must be given with its
  // scheme.
  const url = urlOf(/^\//.test(backend) ? location.origin + backend : backend);
  if (!(areOrigins(hostOrigins) && url && timeoutMs > 0 && fetch?.call))
    throw new PageError("option_invalid");
  const client: BackendClient = {
    url,
    fetch: (url, init) => fetch(url, { ...init, redirect: "error" }),
    timeoutMs,
  };

  const address = new URL(location.href);
  const take = (name: string): string | null => {
    const value = address.searchParams.get(name);
    address.searchParams.delete(name);
    return value;
  };
  const opaqueCode = take(parameters.opaqueCode ?? "opaque_code");
  const launchState = opaqueCode && take(parameters.state ?? "state");
  const returned = take(returnMark);
  const [, loginError] = address.hash.split("#login_error=");
  if (loginError) address.hash = "";
  if (opaqueCode || returned || loginError) history.replaceState(history.state, "", address);
  if (loginError) throw new PageError(errorCodeOf(loginError));

  const hostOrigin = hostOriginOf(hostOrigins);
  const tenant = (!hostOrigin && expected.tenant) || expected.tenantId;
  let response: Response;
  if (opaqueCode) {
    if (!hostOrigin) throw new PageError("not_framed");
    const codeVerifier = createVerifier();
    const answer = await shakeHands(
      hostOrigin,
      initMessage(await challengeOf(codeVerifier), opaqueCode),
      read,
      timeoutMs,
      expected.state ?? launchState,
      tenant,
    );
    response = await post(client, "/launch", { ...answer, codeVerifier, hostOrigin });
  } else {
    // A referrer is no proof of who embeds the page, because it names the page that navigated this
    // frame.
    response = await post(client, "/session", {
      login: returned,
      tenant,
      hostOrigin: hostOrigin && String(location.ancestorOrigins?.[0]),
    });
    if (response.status === 204) {
      if (hostOrigin) throw new PageError("opaque_code_missing");
      if (returned) throw new PageError("session_missing");
      if (!login) throw new PageError("not_framed");
      return goToLogin(client.url, address, tenant);
    }
  }
  return openSession(client, response, tenant, onEnded);
}

/** Goes to the backend's login, and stays pending meanwhile. @throws PageError `session_missing` */
function goToLogin(backend: URL, address: URL, tenant: string | undefined): Promise<never> {
  address.searchParams.set(returnMark, createVerifier());
  const query = { return_to: address.href, ...(tenant && { tenant }) };
  location.href = `${backend}/login?${new URLSearchParams(query)}`;
  return new Promise((_, reject) => {
    // The person went back, and the browser restored the page as it was.
    addEventListener(
      "pageshow",
      ({ persisted }) => persisted && reject(new PageError("session_missing")),
    );
  });
}
