/**
 * Makes the browser's answer for an error. It says a stable code and what to do, and nothing else.
 */
import { personRequired } from "../client/call-error.js";
import {
  BivariantError,
  codeOf,
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
import type { Settings } from "./backend-options.js";

/**
 * The request has no valid session. `backend.connect` and `backend.session` throw this before they
 * call the service. `session_missing`: the request names no session. `session_unknown`: the session
 * is unknown here or was ended. `session_expired`: the session's time is over. `origin_refused` and
 * `csrf_refused`: sessions are in cookies, and another site may have sent the request.
 *
 * @example
 * async function devices(request: Request): Promise<Response> {
 *   try {
 *     return Response.json(await unwrap((await backend.connect(request)).call("listDevices")));
 *   } catch (error) {
 *     if (isSessionError(error)) console.log("no session:", error.code);
 *     return backend.answer(error);
 *   }
 * }
 */
export class SessionError extends BivariantError<SessionErrorCode> {
  constructor(code: SessionErrorCode, message: string) {
    super("SessionError", code, message);
  }
}

/**
 * Whether a value is a {@link SessionError}, from any realm and any copy of the package.
 *
 * @example
 * async function name(request: Request): Promise<string> {
 *   try {
 *     return (await backend.session(request)).operator?.firstname ?? "unknown";
 *   } catch (error) {
 *     if (isSessionError(error)) return "not logged in";
 *     throw error;
 *   }
 * }
 */
export function isSessionError(value: unknown): value is SessionError {
  return isBivariantError(value) && value.name === "SessionError";
}

/** The status and the sentence for each reason to refuse a request before anything is done. */
const refusals = {
  route_unknown: [
    404,
    "This route does not exist. The option path of the backend says where its routes are: under /auth by default.",
  ],
  method_not_allowed: [405, "This route does not accept this method."],
  type_not_supported: [415, "Send the body as application/json."],
  body_too_large: [413, "The body is too large. Send at most 64 KiB."],
  body_timeout: [408, "The body did not arrive in time. Send it at once."],
  request_invalid: [400, "The body is invalid. Send a JSON object in UTF-8."],
  cookies_too_large: [
    431,
    "The cookies are too large. Clear the cookies of this site, and try again.",
  ],
  origin_refused: [
    403,
    "This origin is not accepted. Set the backend's publicUrl (proxy) or origins.",
  ],
  login_not_configured: [
    404,
    "This backend has no login. Pass login: false to startSession, and open the page from the host application.",
  ],
  tenant_missing: [
    400,
    "Name the tenant, as in login?tenant=acme (the option tenant of startSession), or pass login: false for a page that is only launched.",
  ],
  tenant_unknown: [404, "No login is possible for this tenant."],
  login_unconfirmed: [
    403,
    "Another site led here. Log in only if you want to use this application.",
  ],
  return_to_refused: [
    400,
    "return_to must lead to a page of the application, in at most 2048 characters.",
  ],
  person_unknown: [
    409,
    "The service does not name the person of this session, so the person's other sessions cannot be found. Log out without everywhere.",
  ],
  rate_limited: [429, "Too many launches or logins at once. Try again later."],
  state_mismatch: [
    400,
    "This login is unknown here: another browser began it, it was lost, or cookies are blocked. Log in again, and allow cookies for this site.",
  ],
  login_expired: [400, "This login took too long. Log in again."],
  identify_failed: [
    502,
    "It could not be found out who logged in. Tell the administrator of this application, or log in again.",
  ],
  // No client is left to read this answer.
  client_gone: [499, "The browser went away."],
} as const;

export interface ErrorAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The code of the error, if `code` is `relaunch_required` or `login_required`. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The query of a link with which the person may open the same page again, percent-encoded as in a
   * URL.
   */
  readonly retryQuery?: string;
}

export class Refusal extends Error {
  readonly answer: ErrorAnswer;
  readonly code: string;

  /**
   * `message` replaces the usual sentence. It must not repeat anything from the request. `onError`
   * receives the `cause`, which the answer must not reveal.
   */
  constructor(
    code: keyof typeof refusals,
    { cause, ...options }: Partial<Omit<ErrorAnswer, "status" | "code">> & { cause?: unknown } = {},
  ) {
    const [status, message] = refusals[code];
    super(message, { cause });
    this.answer = { status, code, message, ...options };
    this.code = code;
  }
}

/**
 * Returns the answer for an error. `onError` receives the error if it says more than the answer.
 */
export function reportedAnswer(
  error: unknown,
  route: string,
  { clock, report }: Settings,
): ErrorAnswer {
  // A deployment without a credential for its tenant counts as not configured.
  const isMissing = codeOf(error) === "credential_missing";
  const answer = answerFor(isMissing ? new Refusal("tenant_unknown") : error, clock.now());
  // A callback sends its page the reason instead of the code.
  const code = (route === "callback" && answer.reason) || answer.code;
  const { status } = answer;
  const hidden = error instanceof Refusal ? error.cause : undefined;
  if (hidden !== undefined || !(error instanceof Refusal || isSessionError(error)))
    report(hidden ?? error, { status, code, route });
  return answer;
}

function answerFor(error: unknown, now: number): ErrorAnswer {
  if (error instanceof Refusal) return error.answer;
  // A 401 must name a scheme (RFC 9110 section 15.5.2).
  const unauthorized = { status: 401, headers: { "www-authenticate": "Bearer" } };
  if (isSessionError(error)) {
    const { code, message } = error;
    const isForbidden = code === "origin_refused" || code === "csrf_refused";
    return { ...(isForbidden ? { status: 403 } : unauthorized), code, message };
  }
  const required = personRequired(error);
  if (required !== undefined) {
    const [code, message] = isRelaunchRequiredError(required)
      ? ["relaunch_required", "Open the plugin again from the host application."]
      : ["login_required", "Log in again."];
    return { ...unauthorized, code, message, reason: required.code };
  }
  if (isRateLimitedError(error) || (isApiError(error) && error.code === "api_rate_limited")) {
    const { retryAt } = error;
    const headers = retryAt && {
      "retry-after": String(Math.max(1, Math.ceil((retryAt - now) / 1_000))),
    };
    const message = "Too many requests were sent to the service. Try again later.";
    return { status: 503, code: "rate_limited", message, ...(headers && { headers }) };
  }
  if (isApiError(error)) {
    const { code } = error;
    return code === "api_forbidden"
      ? { status: 403, code, message: "The service does not allow this operator to do that." }
      : { status: 502, code, message: "The service did not do what it was asked." };
  }
  const noToken = "The service did not issue a token. Tell the administrator of this application.";
  if (isTokenRequestError(error) || isUnexpectedResponseError(error) || isVariantError(error))
    return { status: 502, code: "exchange_failed", message: noToken };
  if (isTransportError(error)) {
    const next = error.retryable ? "Try again." : "Look what it did before you try again.";
    return {
      status: 503,
      code: "service_unreachable",
      message: `The service did not answer. ${next}`,
    };
  }
  if (isStoreError(error))
    return {
      status: 503,
      code: "store_unavailable",
      message: "The session store failed. Try again.",
    };
  return { status: 500, code: "backend_failed", message: "The backend failed. Its log says why." };
}

/**
 * Makes a page with a fixed sentence. It shows nothing from the request, and cannot be put in a
 * frame.
 */
export function errorPage({ status, code, message, headers, retryQuery }: ErrorAnswer): Response {
  const title = retryQuery === undefined ? "The login did not work" : "Log in?";
  const href = retryQuery?.replaceAll("&", "&amp;");
  const retry = href === undefined ? "" : `<p><a href="?${href}">Log in</a></p>\n`;
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<body>
<h1>${title}</h1>
<p>${message}</p>
${retry}<p><small>${code}</small></p>
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
