/** The page's own error: why there is no session, or no longer. */

/** What the page itself finds, and what its backend says, each with what can be done; stable, lower snake case. */
export type PageErrorCode =
  /** `hostOrigins`, `backend`, `timeoutMs` or `fetch` is wrong: mend the page. */
  | "option_invalid"
  /** The frame has a `sandbox` without `allow-same-origin` (or the page is a local file): the host must change it. */
  | "opaque_origin"
  /** WebCrypto is missing: the page, and the host around it, must be served by https or from loopback. */
  | "insecure_context"
  /** Opened on its own, but with the parameters of a launch, or with `login: false`: open it from the host. */
  | "not_framed"
  /** Embedded by a page that is not in `hostOrigins`, or the browser does not tell by which of several. */
  | "host_origin_unknown"
  /** Embedded without a launch, or reloaded after one: open it again from the host. */
  | "opaque_code_missing"
  /** No `host:auth-code` came in time: open it again from the host. */
  | "host_silent"
  /** `host:auth-code` came from the host, but not with three strings of sensible length. */
  | "auth_code_invalid"
  /** `host:auth-code` answers another launch: open it again from the host. */
  | "state_mismatch"
  /** The launch or the session is for another tenant than `tenantId`. */
  | "tenant_mismatch"
  /** The backend did not answer, or nonsense. Nothing was sent twice. */
  | "backend_failed"
  /** The session is over; `reason` says how. */
  | "session_ended"
  /** The page: `session.fetch` goes to the backend's origin only. The backend: it does not know the page's. */
  | "origin_refused"
  /** This and the rest is said by the backend. It serves no deployment with this host and tenant. */
  | "host_unknown"
  /** This code was used before. */
  | "code_spent"
  /** The exchange failed (`reason`) or the session's token is over: open the plugin again from the host. */
  | "relaunch_required"
  /** The backend's credential is wrong: its own log says more. */
  | "exchange_failed"
  | "rate_limited"
  /** The person came back from the login without a session: by the back button, or cookies are blocked. */
  | "session_missing"
  | "login_denied"
  | "login_refused"
  | "login_expired"
  | "login_outcome_unknown";

/**
 * What `startSession` and the methods of a session reject with. Neither message nor `cause` holds a code, a verifier
 * or a session token.
 *
 * @example
 * startSession(options).catch((error) => {
 *   if (isPageError(error) && error.code === "opaque_code_missing") show("Open the plugin again from the sidebar.");
 * });
 */
export class PageError extends Error {
  override readonly name: string = "PageError";
  /** A backend newer than this page may send one that is not listed. */
  declare readonly code: PageErrorCode;
  /** More of the same: `launch_expired` beside `relaunch_required`; why a session ended. */
  declare readonly reason: string | undefined;

  constructor(
    code: PageErrorCode,
    message: string = code,
    more?: { readonly reason?: string; readonly cause?: unknown },
  ) {
    super(message, more);
    this.code = code;
    this.reason = more?.reason;
  }
}

/** Survives frames and two copies of this module on one page, which `instanceof` does not. */
export function isPageError(error: unknown): error is PageError {
  return (error as Error | undefined)?.name === "PageError";
}
