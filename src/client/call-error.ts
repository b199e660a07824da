/** Makes the error of a refused call; call-diagnosis.ts finds its words and its causes. */
import type { OperationEntry } from "../../generated/operations.js";
import type { AccessToken, Auth } from "../auth/auth.js";
import type { PersonRequiredError } from "../auth/person/stored-grant.js";
import {
  ApiError,
  type ApiErrorCode,
  isApiError,
  isLoginRequiredError,
  isRelaunchRequiredError,
} from "../errors.js";
import { cutNote, parseRetryAfterMs } from "../http/backoff.js";
import type { CallInit } from "./init.js";

export interface RefusedCall {
  readonly auth: Auth;
  readonly response: Response;
  /** The parsed body; `undefined` if it was empty. */
  readonly body: unknown;
  readonly now: number;
  readonly operationId: string;
  readonly operation: OperationEntry;
  /** The options of the call. */
  readonly given: CallInit;
  /**
   * Whether the token was renewed and the call sent again; `undefined` if the status does not
   * refuse a bearer.
   */
  readonly isReplayed: boolean | undefined;
  /** What was sent, if the message is to show the body. The answer may repeat it. */
  readonly sent:
    | {
        readonly tokens: readonly (AccessToken | undefined)[];
        readonly headers: Readonly<Record<string, string>>;
      }
    | undefined;
  readonly isIdempotent: boolean;
  /** Whether this operation succeeded with the same token before. */
  readonly hasWorked: boolean;
  /** Whether several operations in a row were answered like an unknown path, or one by a router. */
  readonly looksMoved: boolean;
  /**
   * What to ask the person for, because the token was older than 30 s or its renewal was refused.
   */
  readonly required?: PersonRequiredError | undefined;
}

export async function apiErrorOf(call: RefusedCall): Promise<ApiError> {
  const { response, body, operationId, required, auth } = call;
  const { variant } = auth;
  const { status, headers } = response;
  const code = apiErrorCodeOf(status, call.operation.failure.includes(status));
  const waitMs =
    status === 429 || status === 503 ? parseRetryAfterMs(headers, call.now) : undefined;
  // Loaded only for a refusal. If it cannot be loaded, the error has no causes and a shorter
  // message.
  const explained = await import("./call-diagnosis.js").then(
    ({ explainCall }) => explainCall(call, code),
    () => ({ text: `. ${required?.message ?? ""}`, causes: undefined, ending: "" }),
  );
  const retryAt = waitMs === undefined ? undefined : call.now + waitMs;
  const until = retryAt
    ? ` The answer asks to wait until ${new Date(retryAt).toISOString()} (retryAt).`
    : "";
  const message =
    `${operationId} was answered ${status}${explained.text}`.trimEnd() +
    until +
    cutNote(waitMs) +
    explained.ending;
  const { causes } = explained;
  const details = { variant, status, body, headers, operationId, causes, cause: required, retryAt };
  return new ApiError(code, message, details);
}

function apiErrorCodeOf(status: number, isDocumented: boolean): ApiErrorCode {
  if (status === 401) return "api_unauthorized";
  if (status === 403) return "api_forbidden";
  if (status === 429) return "api_rate_limited";
  if (status >= 500) return "api_failed";
  if (status >= 400 || isDocumented) return "api_refused";
  return "api_undocumented";
}

export function isPersonRequired(error: unknown): error is PersonRequiredError {
  return isRelaunchRequiredError(error) || isLoginRequiredError(error);
}

/**
 * Finds the error that says what the person must do: this error, or its cause if a call was
 * answered 401.
 */
export function personRequired(error: unknown): PersonRequiredError | undefined {
  return [error, isApiError(error) ? error.cause : undefined].find(isPersonRequired);
}
