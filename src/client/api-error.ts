/** A refused call as an error that is never falsy, with the causes that the description names. */
import {
  ApiError,
  type ApiErrorCode,
  type Cause,
  type LoginRequiredError,
  type RelaunchRequiredError,
  type Variant,
} from "../errors.js";
import { parseRetryAfterMs } from "../http/exchange.js";

export interface RefusedCall {
  readonly variant: Variant;
  readonly response: Response;
  /** The parsed body; `undefined` when it was empty. */
  readonly body: unknown;
  readonly now: number;
  readonly isDocumented: boolean;
  readonly operationId?: string | undefined;
  /** There is no other token without the person. */
  readonly needsPerson: boolean;
  /** What to ask them for: the token was older than 30 s, or its renewal was refused. */
  readonly required?: RelaunchRequiredError | LoginRequiredError | undefined;
}

export function apiErrorOf(call: RefusedCall): ApiError {
  const { variant, response, body, operationId, required } = call;
  const { status } = response;
  const code = codeOf(call);
  const waitMs = status === 429 || status === 503 ? parseRetryAfterMs(response.headers, call.now) : undefined;
  const causes = causesOf(call);
  const next = required?.message ?? (causes === undefined ? renewing(call) : causes[0]?.remedy);
  return new ApiError(
    code,
    `${operationId === undefined ? "The call" : operationId} was answered ${status}${texts[code]}${next === undefined ? "" : ` ${next}`}`,
    {
      variant,
      status,
      body,
      operationId,
      causes,
      cause: required,
      retryAt: waitMs === undefined ? undefined : call.now + waitMs,
    },
  );
}

function renewing({ response: { status }, needsPerson }: RefusedCall): string | undefined {
  if (status !== 401 || needsPerson) return undefined;
  return "(A token older than 30 s is renewed and the call sent once more before this is told.)";
}

function causesOf({ variant, response, body, required }: RefusedCall): readonly Cause[] | undefined {
  const { status } = response;
  if (required !== undefined) return causesOfPerson401(required);
  return variant === "A" && status === 403 && body === undefined ? causesOfEmpty403 : undefined;
}

function codeOf({ response: { status }, isDocumented }: RefusedCall): ApiErrorCode {
  if (status === 401) return "api_unauthorized";
  if (status === 403) return "api_forbidden";
  if (status === 429) return "api_rate_limited";
  if (status >= 500) return "api_failed";
  if (status >= 400 || isDocumented) return "api_refused";
  return "api_undocumented";
}

const texts: Readonly<Record<ApiErrorCode, string>> = {
  api_unauthorized:
    ": the token was refused. The route may take no such token, or the plugin or account may have been disabled.",
  api_forbidden:
    ": the token does not reach this. Look at the scopes of the plugin (Settings, Tenant Settings, External Plugins) or the roles of the service account (the admin area, Service accounts).",
  api_rate_limited: ": a rate limit was hit; wait until retryAt where it is given.",
  api_refused: ": look at the body of the error.",
  api_failed: ": the server failed; try again later.",
  api_undocumented: ", which the description does not know for this operation.",
};

const pluginSettings = "Settings, Tenant Settings, External Plugins";

/** "HTTP 403 with an empty body has exactly three causes" (section 7.2 of the description). */
const causesOfEmpty403: readonly Cause[] = Object.freeze([
  {
    id: "scope_missing",
    summary: "The token lacks the scope of the endpoint",
    evidence:
      "A 403 with an empty body. A scope granted after the token was minted reaches only the next token.",
    remedy:
      "Let the customer grant the scope under Settings, Tenant Settings, External Plugins; then drop the token, so that the next one carries it: service.auth.invalidate(await service.auth.getAccessToken()).",
  },
  {
    id: "grant_narrowed",
    summary: "The customer narrowed the grant after the token was minted",
    evidence:
      "A 403 with an empty body. The registration is re-checked on each call, without the token changing.",
    remedy: "Let the customer look at the granted scopes under Settings, Tenant Settings, External Plugins.",
  },
  {
    id: "device_restricted",
    summary: "The plugin is restricted to specific devices, and the request named another",
    evidence: "A 403 with an empty body. It fits only a call that names a device.",
    remedy:
      "Let the customer look at the device restriction under Settings, Tenant Settings, External Plugins.",
  },
]);

/** The status for a bearer that is foreign, disabled or on the wrong route is not shown: a 401 leaves all three open. */
function causesOfPerson401({ variant, code }: RelaunchRequiredError | LoginRequiredError): readonly Cause[] {
  const [what, again, route, where] =
    variant === "A"
      ? ["launch", "open the plugin again from the host application", "plugin token", pluginSettings]
      : ["login", "log in again", "token of this client", "the admin area under API clients"];
  return [
    {
      id: `${what}_over`,
      summary: `The service takes the token of this ${what} no longer`,
      evidence: `A 401 on a token older than 30 s, which only a new ${what} replaces (${code}).`,
      remedy: `Ask the person to ${again}.`,
    },
    {
      id: "route_refuses_token",
      summary: `The route takes no ${route}, or the ${variant === "A" ? "plugin" : "client"} was disabled`,
      evidence: `Both may be answered in the same way: that is not shown. Then a new ${what} does not help.`,
      remedy: `See whether another operation succeeds with the same token; if none does, let the customer look under ${where}.`,
    },
  ];
}
