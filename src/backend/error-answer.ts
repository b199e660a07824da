/** Which answer the browser receives for an error: a stable code and what to do, and nothing else about the error. */
import { personRequired } from "../client/refused-call.js";
import {
  BivariantError,
  isApiError,
  isBivariantError,
  isRateLimitedError,
  isRelaunchRequiredError,
  isStoreError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
  type SessionErrorCode,
} from "../errors.js";

/**
 * The request carries no valid session. Thrown by `backend.connect` and `backend.session` before anything is sent to the
 * service; `backend.answer` turns it into the 401 or 403 that the page understands.
 *
 * `session_missing`: the request names no session. `session_unknown`: this backend does not know the session, or it was
 * ended. `session_expired`: its time is over. `origin_refused`, `csrf_refused`: with sessions in cookies, another site
 * may have sent the request.
 *
 * @example
 * try { return handle(await backend.connect(request)); } catch (error) { return backend.answer(error); }
 */
export class SessionError extends BivariantError<SessionErrorCode> {
  constructor(code: SessionErrorCode, message: string) {
    super("SessionError", code, message);
  }
}

/** Whether a value is a `SessionError`, from any realm and any copy of the package. */
export function isSessionError(value: unknown): value is SessionError {
  return isBivariantError(value) && value.name === "SessionError";
}

/** Why a route refuses a request before it does anything: the status and the sentence for each code. */
const refusals = {
  route_unknown: [404, "There is no such route."],
  method_not_allowed: [405, "This route does not accept this method."],
  type_not_supported: [415, "Send the body as application/json."],
  body_too_large: [413, "The body is too large. Send at most 64 KiB."],
  request_invalid: [400, "The body is invalid. Send a JSON object in UTF-8."],
  origin_refused: [
    403,
    "Requests from this origin are not accepted. It must be the backend's own origin or be listed in its option origins.",
  ],
  host_unknown: [403, "No deployment is configured for this host application and tenant."],
  tenant_missing: [
    400,
    "The tenant is missing, and there is not exactly one deployment with a login. Name it, as in login?tenant=acme (the option tenant of startSession).",
  ],
  tenant_unknown: [404, "No deployment with a login is configured for this tenant."],
  return_to_refused: [
    400,
    "return_to must lead to a page of the application, with at most 2048 characters including its origin.",
  ],
  code_spent: [409, "This code was sent before. Open the plugin again."],
  state_mismatch: [400, "This login was not started in this browser. Log in again."],
  login_expired: [400, "This login took too long. Log in again."],
  // No client is left to read this answer.
  client_gone: [499, "The browser went away."],
} as const;

/** A request that a route refuses. */
export class Refusal extends Error {
  readonly code: keyof typeof refusals;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /** `message` replaces the usual sentence. It must not repeat anything of the request. */
  constructor(
    code: keyof typeof refusals,
    options: { readonly headers?: Readonly<Record<string, string>>; readonly message?: string } = {},
  ) {
    const [status, message] = refusals[code];
    super(options.message ?? message);
    this.name = "Refusal";
    this.code = code;
    this.status = status;
    this.headers = options.headers ?? {};
  }
}

export interface ErrorAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The code of the error, beside `relaunch_required` and `login_required`. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A 401 must name a scheme (RFC 9110 section 15.5.2). */
const challenge = { "www-authenticate": "Bearer" };

/** @param now epoch milliseconds, for `Retry-After` */
export function errorAnswer(error: unknown, now: number): ErrorAnswer {
  if (error instanceof Refusal) {
    const { status, code, message, headers } = error;
    return { status, code, message, headers };
  }
  if (isSessionError(error)) {
    const { code, message } = error;
    const isForbidden = code === "origin_refused" || code === "csrf_refused";
    return isForbidden ? { status: 403, code, message } : { status: 401, code, message, headers: challenge };
  }
  const required = personRequired(error);
  if (required !== undefined) {
    const [code, message] = isRelaunchRequiredError(required)
      ? ["relaunch_required", "Open the plugin again from the host application."]
      : ["login_required", "Log in again."];
    return { status: 401, code, message, reason: required.code, headers: challenge };
  }
  if (isRateLimitedError(error) || (isApiError(error) && error.code === "api_rate_limited")) {
    const seconds = Math.max(1, Math.ceil(((error.retryAt ?? now) - now) / 1_000));
    const headers: Record<string, string> =
      error.retryAt === undefined ? {} : { "retry-after": String(seconds) };
    const message = "The service accepts no more requests now. Wait.";
    return { status: 503, code: "rate_limited", message, headers };
  }
  if (isApiError(error) && error.code === "api_forbidden")
    return { status: 403, code: error.code, message: "The service does not allow this operator to do that." };
  if (isApiError(error))
    return { status: 502, code: error.code, message: "The service did not do what it was asked." };
  const [status, code, message] =
    isTokenRequestError(error) || isUnexpectedResponseError(error) || isVariantError(error)
      ? [
          502,
          "exchange_failed",
          "The service did not issue a token. Tell the administrator of this application.",
        ]
      : isTransportError(error)
        ? [503, "service_unreachable", "The service was not reached. Try again."]
        : isStoreError(error)
          ? [503, "store_unavailable", "The session store failed. Try again."]
          : [500, "backend_failed", "The backend failed. Its log says why."];
  return { status, code, message };
}

/** Whether an error holds more than its answer says, so that `onError` should receive it. */
export function isWorthReporting(error: unknown): boolean {
  return !(error instanceof Refusal) && !isSessionError(error);
}

/** Whether a person will look at the answer. */
export function wantsPage(request: Request): boolean {
  return (request.headers.get("accept") ?? "").toLowerCase().includes("text/html");
}

/** A page with a fixed sentence. It repeats nothing of the request. */
export function errorPage({ status, code, message, headers }: ErrorAnswer): Response {
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The login did not work</title>
<body>
<h1>The login did not work</h1>
<p>${message}</p>
<p><small>${code}</small></p>
</body>
</html>
`;
  return new Response(page, {
    status,
    headers: {
      ...headers,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
      "referrer-policy": "no-referrer",
    },
  });
}
