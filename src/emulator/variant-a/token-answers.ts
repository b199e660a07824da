// Variant A's answers at the token endpoint.

import { answerTo, type Refusal } from "../checks.js";
import { type JsonAnswer, jsonAnswer } from "../http/json-answer.js";
import type { Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugins.js";
import type { RuleAnswer } from "../rules/rule.js";
import type { Deployment, RetryAfter } from "../state.js";

/** RFC 6749 sections 5.1 and 5.2. */
const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" };

/** "error_description is always the same fixed text" (description, section 7.1). */
const FIXED_DESCRIPTION = "The token request was rejected";

/** The shape of section 2.3: `user` is "absent for a service plugin", and the roles are the caller's. */
export function tokenAnswer(
  { settings }: Deployment,
  plugin: Plugin,
  operator: Operator | undefined,
  accessToken: string,
): JsonAnswer {
  const user = operator && {
    userId: operator.userId,
    firstname: operator.firstname,
    lastname: operator.lastname,
  };
  const revo = { tenant: plugin.tenantId, user, roles: operator?.roles ?? plugin.roles };
  const body = {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: settings.tokenLifetimeSeconds,
    ...(settings.revoShape === "nested" ? { revo } : flat("revo", revo)),
  };
  return jsonAnswer(body, { headers: NOT_STORED });
}

/** Says nothing but the error code: the reason is for the customer's log. */
export function refusalAnswer({ settings, switches }: Deployment, refusal: Refusal): JsonAnswer {
  const { status, error } = answerTo(refusal);
  const fixed = FIXED_DESCRIPTION + (settings.fixedTextFullStop ? "." : "");
  const reason = `${refusal.rule}: expected ${refusal.expected}, got ${refusal.actual}`;
  const error_description = switches.isEnforced("token-request.opacity") ? fixed : reason;
  return jsonAnswer({ error, error_description }, { status, headers: NOT_STORED });
}

/** The refusal with the answer that options and switches make of it. */
export function asTold({ settings, switches }: Deployment, refusal: Refusal): Refusal {
  const { status, error } = answerTo(refusal);
  const isPlugins = refusal.rule === "plugin.registered" || refusal.rule === "plugin.enabled";
  const told: RuleAnswer = {
    status,
    ...(error && { error: isPlugins ? settings.refusedPluginError : error }),
  };
  const isStandard = !switches.isEnforced("token-request.failure-status") && told.error === "invalid_client";
  return { ...refusal, answer: isStandard ? { ...told, status: 401 } : told };
}

/** The body of the 429 is not shown: it is empty. `freesAt` and `now` are epoch milliseconds. */
export function rateLimitAnswer(freesAt: number, now: number, retryAfter: RetryAfter): JsonAnswer {
  const told = shownRetryAfter(freesAt, now, retryAfter);
  return { status: 429, headers: { ...NOT_STORED, ...(told && { "retry-after": told }) }, body: "" };
}

/** Rounded up to whole seconds: whoever honours the header is admitted. */
function shownRetryAfter(freesAt: number, now: number, retryAfter: RetryAfter): string | undefined {
  if (retryAfter === "seconds") return String(Math.ceil((freesAt - now) / 1000));
  if (retryAfter === "date") return new Date(Math.ceil(freesAt / 1000) * 1000).toUTCString();
  return undefined;
}

function flat(prefix: string, members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [`${prefix}.${name}`, member]));
}
