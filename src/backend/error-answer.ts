/** What the browser is told of an error: a stable code, what to do, and nothing else of it. */
import { personRequired } from "../client/refused-call.js";
import {
  isApiError,
  isBivariantError,
  isRateLimitedError,
  isRelaunchRequiredError,
  isStoreError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  isVariantError,
} from "../errors.js";
import { Refusal } from "./refusal.js";
import { isSessionError } from "./session-error.js";

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
