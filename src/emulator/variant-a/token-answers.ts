// Variant A's answers at the token endpoint.
import type { RetryAfter } from "../deployment.js";
import type { Refusal } from "../refusal.js";
import type { Operator } from "../registrations/operators.js";
import type { Plugin } from "../registrations/plugin.js";
import { rules } from "../rules.js";

/** RFC 6749 sections 5.1 and 5.2. */
const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" };

/** "error_description is always the same fixed text" (description, section 7.1); here with the full stop. */
const FIXED_DESCRIPTION = "The token request was rejected.";

/** The shape of section 2.3: `revo` nested; `user` is "absent for a service plugin", and the roles are the caller's. */
export function tokenAnswer(
  plugin: Plugin,
  operator: Operator | undefined,
  accessToken: string,
  lifetimeSeconds: number,
): Response {
  const user = operator && {
    userId: operator.userId,
    firstname: operator.firstname,
    lastname: operator.lastname,
  };
  const body = {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: lifetimeSeconds,
    revo: { tenant: plugin.tenantId, user, roles: operator?.roles ?? plugin.roles },
  };
  return Response.json(body, { headers: NOT_STORED });
}

/** Says nothing but the error code: the reason is for the customer's log. */
export function refusalAnswer(refusal: Refusal): Response {
  const { status, error } = rules[refusal.rule].answer;
  return Response.json({ error, error_description: FIXED_DESCRIPTION }, { status, headers: NOT_STORED });
}

/** The body of the 429 is not shown: it is empty. `freesAt` and `now` are epoch milliseconds. */
export function rateLimitAnswer(freesAt: number, now: number, retryAfter: RetryAfter): Response {
  const headers = new Headers(NOT_STORED);
  // Rounded up to whole seconds: whoever honours the header is admitted.
  if (retryAfter === "seconds") headers.set("retry-after", String(Math.ceil((freesAt - now) / 1000)));
  if (retryAfter === "date") {
    headers.set("retry-after", new Date(Math.ceil(freesAt / 1000) * 1000).toUTCString());
  }
  return new Response(null, { status: 429, headers });
}
