/** A refused token request or call: what was seen, and whose it is to mend, in the words of their settings page. */

import { personRequired } from "../../client/refused-call.js";
import {
  type ApiError,
  type BivariantError,
  type Cause,
  isApiError,
  isConfigurationError,
  isLoginRequiredError,
  isRateLimitedError,
  isTokenRequestError,
  isTransportError,
  isUnexpectedResponseError,
  type Variant,
} from "../../errors.js";
import { whereToSet } from "../settings/setting-table.js";
import { type Finding, fail } from "./finding.js";

interface Sent {
  readonly variant: Variant | undefined;
  /** What was added to this machine's clock for the assertion. */
  readonly correctionMs: number;
  /** Whether a stored login asked. */
  readonly isLogin: boolean;
}

const whereOfA = "Settings, Tenant Settings, External Plugins";

function whereOfB(isLogin: boolean): string {
  return `in the admin area under ${isLogin ? "API clients" : "Service accounts"}`;
}

export function explainRefusal(check: "token" | "api_call", error: BivariantError, sent: Sent): Finding {
  const causes = (error as { causes?: readonly Cause[] }).causes ?? [];
  const finding = fail(check, evidenceOf(error, causes, sent), remedyOf(error, causes, sent));
  return causes.length === 0 ? finding : { ...finding, causes };
}

function evidenceOf(error: BivariantError, causes: readonly Cause[], { correctionMs }: Sent): string {
  if (isRateLimitedError(error))
    return `${error.code}: The tenant's rate limit at the token endpoint was hit; it opens at ${instant(error.retryAt)}.`;
  const [first, ...others] = causes;
  if (first === undefined) {
    const issues = isUnexpectedResponseError(error) ? error.issues.map((issue) => ` ${issue}.`).join("") : "";
    return `${error.code}: ${error.message}${issues}`;
  }
  const rest = others.map(({ summary }) => summary);
  if (isApiError(error) && error.status === 403)
    return `${error.code}: A 403 with an empty body, which has exactly ${causes.length} causes: ${[first.summary, ...rest].join("; ")}.`;
  const corrected =
    correctionMs === 0
      ? ""
      : " The assertion was made by the server's Date; should that be wrong, it fails too.";
  const less = rest.length === 0 ? "" : ` Less likely: ${rest.join("; ")}.`;
  return `${error.code}: ${first.summary}. ${first.evidence}${less}${corrected}`;
}

function remedyOf(error: BivariantError, causes: readonly Cause[], { variant, isLogin }: Sent): string {
  if (isLoginRequiredError(personRequired(error))) return "Run bivariant login.";
  if (isApiError(error)) return remedyOfCall(error, variant, isLogin);
  const [first] = causes;
  if (first !== undefined) return first.remedy;
  if (isTokenRequestError(error))
    return variant === "B"
      ? `Let an administrator compare the client id and the client secret with those ${whereOfB(isLogin)}.`
      : "Look for a proxy that changes requests: the client sends exactly what the description asks for.";
  if (isRateLimitedError(error))
    return "Wait until then. The limit counts the token requests of the whole tenant: look for who else sends them.";
  if (isTransportError(error))
    return "Try again; if it stays so, look at the network and at proxies on the way.";
  if (isConfigurationError(error))
    return whereToSet(error) ?? "Correct the settings; see bivariant doctor --help.";
  return "Something else answers there: a proxy's page, a login page or another server. Check the base URL and the tenant id.";
}

function remedyOfCall({ status, retryAt }: ApiError, variant: Variant | undefined, isLogin: boolean): string {
  const who =
    variant === "B"
      ? `Let an administrator look at ${isLogin ? "what whoever logged in may do, and at the client" : "the role of the service account"}, ${whereOfB(isLogin)}.`
      : `Let the customer look at the plugin under ${whereOfA}`;
  if (status === 401) return variant === "B" ? who : `${who}: it must be enabled.`;
  if (status === 403)
    return variant === "B"
      ? who
      : `${who}: its granted scopes (listDevices reads devices) and its device restriction. A scope granted now reaches the next token.`;
  if (status === 429)
    return retryAt === undefined ? "Try again later." : `Try again after ${instant(retryAt)}.`;
  if (status === 404 || status === 405)
    return "Check the base URL: its path prefix may be missing, or lead elsewhere.";
  if (status >= 500) return "The server failed: try again later, or tell whoever runs the deployment.";
  return "The description does not know this answer: ask whoever runs the deployment.";
}

function instant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
