/** Makes the error of a refused call, with the possible causes, and with what the person must do, if anything. */
import type { PersonRequiredError } from "../auth/stored-grant.js";
import {
  ApiError,
  type ApiErrorCode,
  type Cause,
  isApiError,
  isLoginRequiredError,
  isRelaunchRequiredError,
  type Variant,
} from "../errors.js";
import { parseRetryAfterMs } from "../http/backoff.js";

interface RefusedCall {
  readonly variant: Variant;
  readonly response: Response;
  /** The parsed body; `undefined` if it was empty. */
  readonly body: unknown;
  readonly now: number;
  readonly isDocumented: boolean;
  readonly operationId: string;
  readonly needsPerson: boolean;
  /** What to ask the person for, because the token was older than 30 s or its renewal was refused. */
  readonly required?: PersonRequiredError | undefined;
}

export function apiErrorOf(call: RefusedCall): ApiError {
  const { variant, response, body, operationId, required } = call;
  const { status } = response;
  const code = codeOf(status, call.isDocumented);
  const waitMs = status === 429 || status === 503 ? parseRetryAfterMs(response.headers, call.now) : undefined;
  const isEmpty403OfA = variant === "A" && status === 403 && body === undefined;
  const causes = required ? causesOfPerson401(required) : isEmpty403OfA ? causesOfEmpty403 : undefined;
  const renewed =
    status === 401 && !call.needsPerson
      ? "(If the token was older than 30 s, it was renewed and the call was sent once more.)"
      : "";
  const next = required?.message ?? causes?.[0]?.remedy ?? renewed;
  const message = `${operationId} was answered ${status}${texts[code]} ${next}`.trimEnd();
  const retryAt = waitMs === undefined ? undefined : call.now + waitMs;
  const details = { variant, status, body, operationId, causes, cause: required, retryAt };
  return new ApiError(code, message, details);
}

function codeOf(status: number, isDocumented: boolean): ApiErrorCode {
  if (status === 401) return "api_unauthorized";
  if (status === 403) return "api_forbidden";
  if (status === 429) return "api_rate_limited";
  if (status >= 500) return "api_failed";
  if (status >= 400 || isDocumented) return "api_refused";
  return "api_undocumented";
}

const pluginSettings = "Settings, Tenant Settings, External Plugins";

const texts: Readonly<Record<ApiErrorCode, string>> = {
  api_unauthorized:
    ": the token was refused. The route may not accept such tokens, or the plugin or account may have been disabled.",
  api_forbidden: `: the token does not permit this call. Check the scopes of the plugin (${pluginSettings}) or the roles of the service account (the admin area, Service accounts).`,
  api_rate_limited: ": a rate limit was exceeded. Wait until retryAt, if the error has it.",
  api_refused: ": read the body of the error.",
  api_failed: ": the server failed. Try again later.",
  api_undocumented: ", which the description does not list for this operation.",
};

const empty403 = "A 403 with an empty body.";
/** "HTTP 403 with an empty body has exactly three causes" (section 7.2 of the description). */
const causesOfEmpty403: readonly Cause[] = Object.freeze([
  {
    id: "scope_missing",
    summary: "The token lacks the scope of the endpoint",
    evidence: `${empty403} A scope granted after the token was minted reaches only the next token.`,
    remedy: `Ask the customer to grant the scope under ${pluginSettings}. Then drop the token, so that the next one carries the scope: service.auth.invalidate(await service.auth.getAccessToken()).`,
  },
  {
    id: "grant_narrowed",
    summary: "The customer narrowed the grant after the token was minted",
    evidence: `${empty403} The service checks the registration on each call, without changing the token.`,
    remedy: `Ask the customer to check the granted scopes under ${pluginSettings}.`,
  },
  {
    id: "device_restricted",
    summary: "The plugin is restricted to specific devices, and the request named another",
    evidence: `${empty403} Possible only for a call that names a device.`,
    remedy: `Ask the customer to check the device restriction under ${pluginSettings}.`,
  },
]);

/** The description does not say which status a disabled plugin or a wrong route gets, so a 401 may mean either. */
function causesOfPerson401({ variant, code }: PersonRequiredError): readonly Cause[] {
  const [event, action, client, place] =
    variant === "A"
      ? ["launch", "open the plugin again from the host application", "plugin", pluginSettings]
      : ["login", "log in again", "client", "the admin area under API clients"];
  return [
    {
      id: `${event}_over`,
      summary: `The service no longer accepts the token of this ${event}`,
      evidence: `A 401 for a token older than 30 s, which only a new ${event} can replace (${code}).`,
      remedy: `Ask the person to ${action}.`,
    },
    {
      id: "route_refuses_token",
      summary: `The route does not accept tokens of this ${client}, or the ${client} was disabled`,
      evidence: `The description does not show the status for either. A new ${event} would not help.`,
      remedy: `Check whether another operation succeeds with the same token. If none does, ask the customer to look under ${place}.`,
    },
  ];
}

export function isPersonRequired(error: unknown): error is PersonRequiredError {
  return isRelaunchRequiredError(error) || isLoginRequiredError(error);
}

/** Finds the error that says what the person must do: this error, or its cause if a call was answered 401. */
export function personRequired(error: unknown): PersonRequiredError | undefined {
  return [error, isApiError(error) ? error.cause : undefined].find(isPersonRequired);
}
