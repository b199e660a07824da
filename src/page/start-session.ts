/**
 * Starts the session of a page: a launch in the host's frame (Variant A), a login on its own (Variant B).
 *
 * Requirements
 * 1. Nothing is posted but to one exact origin out of `hostOrigins`; never to "*". What is posted names the launch.
 * 2. Only the parent window is listened to, only at that origin, and only to its first `host:auth-code` after the
 *    challenge went out. Source, shape, origin, then state and tenant are checked, in this order: siblings, openers
 *    and other frames of the host's own origin are nobody, at every moment.
 * 3. Code and verifier go to the plugin's own backend, once, in a body: into no URL, no storage, no message, and along
 *    with no redirect (the description, section 4.1: the backend does the exchange).
 * 4. The session lives in memory. A page needs no cookie, no storage and no second window for a launch.
 * 5. The launch parameters leave the address as soon as they are read: no other script, referrer or bookmark gets them,
 *    and a reload does not post a launch again that the host has answered (section 3: codes are single-use), to wait
 *    in vain. It resumes where the backend keeps sessions in a cookie; else it says at once `opaque_code_missing`.
 * 6. A page that was opened on its own comes back from its login with a session or an error: never in circles.
 *
 * The protocol of a launch
 * 1. Refuse an opaque origin, an insecure context and wrong options.
 * 2. Read the launch parameters and take them out of the address.
 * 3. Find out which allowed origin embeds the page; a launch without a frame ends here. Make a code verifier and its
 *    S256 challenge.
 * 4. Listen; post `plugin:pkce-init` with the challenge and `opaque_code` to that origin of the parent window.
 * 5. Wait for `host:auth-code` with code, state and tenantId.
 * 6. Stop listening, whatever came.
 * 7. POST code, verifier, tenant and the host's origin to `{backend}/launch`; keep the session that it answers.
 *
 * The protocol of a login
 * 1. As above.
 * 2. Take `#login_error` out of the address too, and reject with it.
 * 3. POST tenant and mark to `{backend}/session`: there is one after this page's own login, or by its cookie.
 * 4. None: go to `{backend}/login`, which comes back here with a new mark in the address.
 */
import { type BackendClient, errorCodeOf, post } from "./backend-client.js";
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
import { PageError } from "./page-error.js";
import { openSession, type Session, type SessionEnd } from "./session.js";

export interface SessionOptions {
  /** Origins of the host applications that may launch this page, exactly: `["https://customer.example"]`. */
  readonly hostOrigins: readonly string[];
  /**
   * What the backend's routes are under, without a slash at its end: a path of this origin or, for another origin, a
   * whole URL. Cookies then stay behind: no login, and no sessions in cookies. Default: `/auth`.
   */
  readonly backend?: string | undefined;
  /** Names of the launch parameters. The description shows `opaque_code`; the rest is assumed. */
  readonly parameters?: { readonly opaqueCode?: string; readonly state?: string } | undefined;
  /** What `host:auth-code` must say, where it is known otherwise. Default: the launch parameter, if there is one. */
  readonly state?: string | undefined;
  /** The tenant, where the page knows which one it must be. */
  readonly tenantId?: string | undefined;
  /** The tenant to log in to. Default: `tenantId`; the backend's only one. */
  readonly tenant?: string | undefined;
  /** Whether a page opened on its own goes to log in; otherwise it rejects with `not_framed`. Default: true. */
  readonly login?: boolean | undefined;
  /** The message to the host, whose field names are not shown. Default: `{ type, challenge, opaque_code }`. */
  readonly initMessage?: ((challenge: string, opaqueCode: string) => unknown) | undefined;
  /** Reads the host's answer; `undefined` for other messages. Default: `{ type, code, state, tenantId }`. */
  readonly readAuthCode?: ((data: unknown) => AuthCode | undefined) | undefined;
  /** For the host's answer, and for each of the backend's. Default: 30 000. */
  readonly timeoutMs?: number | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Told once when the session is over: ask the person, once, for what `ask` says. */
  readonly onEnded?: ((end: SessionEnd) => void) | undefined;
}

/**
 * Starts a session with the page's own backend, whichever variant there is. Call it once when the page has loaded: a
 * launch is good for one attempt. While the browser goes to log in the promise stays pending.
 *
 * @throws PageError its `code` says what happened: `opaque_code_missing`, `relaunch_required`, `host_silent`,
 *   `login_denied`, ...
 * @see the description, sections 5.3 and 6
 * @example
 * const session = await startSession({
 *   hostOrigins: ["https://customer.example"],
 *   onEnded: ({ ask }) => show(ask === "relaunch" ? "Open the plugin again." : "Log in again."),
 * });
 * const devices = await (await session.fetch("/api/devices")).json();
 */
export function startSession(options: SessionOptions): Promise<Session>;
export async function startSession(
  {
    hostOrigins,
    backend = "/auth",
    parameters,
    login = true,
    initMessage = (challenge, opaque_code) => ({ type: "plugin:pkce-init", challenge, opaque_code }),
    readAuthCode: read = readAuthCode,
    timeoutMs = 30_000,
    fetch = self.fetch,
    onEnded,
    ...expected
  }: SessionOptions = {} as SessionOptions,
): Promise<Session> {
  if (self.origin === "null") throw new PageError("opaque_origin", "needs allow-same-origin");
  if (!crypto.subtle) throw new PageError("insecure_context");
  // A path is one of this origin, even "//evil.example": another origin has to be named with its scheme.
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
  const opaqueCode = take(parameters?.opaqueCode ?? "opaque_code");
  const launchState = opaqueCode && take(parameters?.state ?? "state");
  const returned = take(RETURN_MARK);
  const loginError = address.hash.split("#login_error=")[1];
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
    response = await post(client, "/session", { login: returned, tenant });
    if (response.status === 401 || response.status === 204) {
      if (login && !hostOrigin && !returned) return goToLogin(client.url, address, tenant);
      throw new PageError(hostOrigin ? "opaque_code_missing" : returned ? "session_missing" : "not_framed");
    }
  }
  return openSession(client, response, tenant, onEnded);
}

/**
 * In the address that a login comes back to, with a value of this login alone: the backend then knows which of the
 * browser's tabs asks. If there is no session, another login would not help.
 */
export const RETURN_MARK = "bivariant_login";

/** Stays pending while the browser goes. @throws PageError `session_missing` */
export function goToLogin(backend: URL, address: URL, tenant: string | undefined): Promise<never> {
  address.searchParams.set(RETURN_MARK, createVerifier());
  const query = { return_to: address.pathname + address.search, ...(tenant && { tenant }) };
  location.assign(`${backend}/login?${new URLSearchParams(query)}`);
  return new Promise((_, reject) => {
    // The person went back, and the browser had kept the page as it was.
    addEventListener("pageshow", ({ persisted }) => persisted && reject(new PageError("session_missing")));
  });
}
