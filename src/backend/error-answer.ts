/** What the browser is told of an error: a stable code, what to do, and nothing else of it. */
import { personRequired } from "../client/person-required.js";
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

export interface ErrorAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Beside `relaunch_required` and `login_required`: the code of the error. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** RFC 9110 section 15.5.2: a 401 names a scheme. */
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
  if (isRateLimitedError(error) || (isApiError(error) && error.code === "api_rate_limited"))
    return {
      ...{ status: 503, code: "rate_limited", message: "The service takes no more requests now. Wait." },
      headers: retryAfter(error.retryAt, now),
    };
  if (isApiError(error) && error.code === "api_forbidden")
    return { status: 403, code: error.code, message: "The service does not allow this operator to do that." };
  if (isApiError(error))
    return { status: 502, code: error.code, message: "The service did not do what it was asked." };
  if (isTokenRequestError(error) || isUnexpectedResponseError(error) || isVariantError(error))
    return {
      status: 502,
      code: "exchange_failed",
      message: "The service gave no token. Tell whoever runs this application.",
    };
  if (isTransportError(error))
    return { status: 503, code: "service_unreachable", message: "The service was not reached. Try again." };
  if (isStoreError(error))
    return { status: 503, code: "store_unavailable", message: "The session store failed. Try again." };
  return { status: 500, code: "backend_failed", message: "The backend failed; its log says why." };
}

/** Whether there is more to tell about an error than its answer says. */
export function isWorthTelling(error: unknown): boolean {
  return !(error instanceof Refusal) && !(isBivariantError(error) && isSessionError(error));
}

function retryAfter(retryAt: number | undefined, now: number): Readonly<Record<string, string>> {
  if (retryAt === undefined) return {};
  return { "retry-after": String(Math.max(1, Math.ceil((retryAt - now) / 1_000))) };
}

export type RefusalCode =
  | "route_unknown"
  | "method_not_allowed"
  | "type_not_supported"
  | "body_too_large"
  | "request_invalid"
  | "origin_refused"
  | "host_unknown"
  | "tenant_missing"
  | "tenant_unknown"
  | "return_to_refused"
  | "code_spent"
  | "state_mismatch"
  | "login_expired"
  | "client_gone";

const kinds: Readonly<Record<RefusalCode, { readonly status: number; readonly message: string }>> = {
  route_unknown: { status: 404, message: "There is no such route." },
  method_not_allowed: { status: 405, message: "This route takes another method." },
  type_not_supported: { status: 415, message: "Send the body as application/json." },
  body_too_large: { status: 413, message: "Send a shorter body." },
  request_invalid: { status: 400, message: "Send a JSON object, in UTF-8." },
  origin_refused: {
    status: 403,
    message:
      "Requests of this origin are not accepted: it is neither the backend's own nor one of its origins.",
  },
  host_unknown: { status: 403, message: "No deployment is configured for this host application and tenant." },
  tenant_missing: {
    status: 400,
    message:
      "No tenant is named, and not exactly one has a login: name it, as login?tenant=acme (the option tenant of startSession).",
  },
  tenant_unknown: { status: 404, message: "No deployment with a login is configured for this tenant." },
  return_to_refused: {
    status: 400,
    message:
      "return_to must be a path of the application itself, of at most 2048 characters with its origin.",
  },
  code_spent: { status: 409, message: "This code was sent before. Open the plugin again." },
  state_mismatch: { status: 400, message: "This login was not begun in this browser. Log in again." },
  // Nobody reads this one.
  client_gone: { status: 499, message: "The browser went away." },
  login_expired: { status: 400, message: "This login took too long. Log in again." },
};

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /** `message`: in place of the usual one; nothing of the request may be in it, for it is shown to whoever asked. */
  constructor(
    code: RefusalCode,
    {
      headers = {},
      message = kinds[code].message,
    }: { readonly headers?: Readonly<Record<string, string>>; readonly message?: string } = {},
  ) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.status = kinds[code].status;
    this.headers = headers;
  }
}

/**
 * A request without a session that counts, thrown by `backend.connect` and `backend.session`. `backend.answer` makes
 * of it the 401 or 403 that the page understands. No request to the service was sent.
 *
 * `session_missing`: none was given. `session_unknown`: it is none of this backend's, or it was ended.
 * `session_expired`: its time is over. `origin_refused`, `csrf_refused`: with sessions in cookies, a request that
 * another site may have sent.
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
