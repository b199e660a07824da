/** The page's own error: why there is no session, or why it ended. */

/** The codes of the page and of its backend, and what to do about them. They are stable. */
export type PageErrorCode =
  /** `hostOrigins`, `backend`, `timeoutMs` or `fetch` is wrong: correct the page. */
  | "option_invalid"
  /**
   * The frame has a `sandbox` without `allow-same-origin` (or the page is a local file): the host
   * must change it.
   */
  | "opaque_origin"
  /**
   * WebCrypto is missing: the page, and the host around it, must be served by https or from
   * loopback.
   */
  | "insecure_context"
  /**
   * The page was opened on its own, but with launch parameters or `login: false`: open it from the
   * host.
   */
  | "not_framed"
  /** The host is not in `hostOrigins`, or the browser does not say which of several it is. */
  | "host_origin_unknown"
  /** The page was embedded without a launch, or reloaded after one: open it again from the host. */
  | "opaque_code_missing"
  /** No `host:auth-code` came in time: open it again from the host. */
  | "host_silent"
  /** The host's `host:auth-code` does not hold three strings of sensible length. */
  | "auth_code_invalid"
  /** The host's `host:auth-code` belongs to another launch: open it again from the host. */
  | "state_mismatch"
  /** The launch or the session is for another tenant than `tenantId`. */
  | "tenant_mismatch"
  /** The backend did not answer, or its answer is invalid. Nothing was sent twice. */
  | "backend_failed"
  /** The session is over; `reason` says how. */
  | "session_ended"
  /**
   * `session.fetch` was called with another origin than the backend's, or the backend does not
   * allow the page's.
   */
  | "origin_refused"
  /**
   * The exchange failed (see `reason`), or the session's token has expired: open it again from the
   * host. This code and all below come from the backend.
   */
  | "relaunch_required"
  /** The backend received no token: its log says why. */
  | "exchange_failed"
  /** The backend could not find out who logged in: its log says why. */
  | "identify_failed"
  | "rate_limited"
  /** The deployment did not answer the backend. */
  | "service_unreachable"
  /** The deployment of the login is not configured any more. */
  | "tenant_unknown"
  /** `backend` is not the `path` of the backend. */
  | "route_unknown"
  /** What the page sent did not arrive in time. */
  | "body_timeout"
  /** The backend's store failed: try again. A session that was open continues. */
  | "store_unavailable"
  /**
   * The person came back from the login without a session: with the back button, or cookies are
   * blocked.
   */
  | "session_missing"
  | "login_denied"
  | "login_refused"
  | "login_expired"
  | "login_outcome_unknown";

/**
 * The error of `startSession` and of the methods of a session. Neither message nor `cause` holds a
 * code, a verifier or a session token.
 *
 * @example
 * startSession({ hostOrigins: ["https://customer.example"] }).catch((error) => {
 *   if (isPageError(error) && error.code === "opaque_code_missing")
 *     show("Open the plugin again from the sidebar.");
 * });
 */
export class PageError extends Error {
  override readonly name: string = "PageError";
  /** A backend that is newer than this page may send a code that is not listed. */
  declare readonly code: PageErrorCode;
  /** More detail, such as `launch_expired` with `relaunch_required`, or why a session ended. */
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

/** The names of the options `T`, so that an option without its name does not compile. */
type NamesOf<T> = { readonly [Name in keyof T]-?: 1 };

/**
 * @throws PageError `option_invalid` with all names for one that is not among them: finding the
 * likeliest costs too much
 */
export function requireNames<T extends object>(options: T, names: NamesOf<T>): void {
  const unknown = Object.keys(options).find((name) => names[name as keyof T] !== 1);
  if (unknown) throw new PageError("option_invalid", `${unknown} is none of ${Object.keys(names)}`);
}

/**
 * Whether an error is a {@link PageError}. Works across frames and with two copies of this module
 * on one page, where `instanceof` does not.
 *
 * @example
 * try {
 *   await startSession({ hostOrigins: ["https://customer.example"] });
 * } catch (error) {
 *   if (isPageError(error)) show(error.code);
 *   else throw error;
 * }
 */
export function isPageError(error: unknown): error is PageError {
  return (error as Error | undefined)?.name === "PageError";
}
