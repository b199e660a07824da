// Variant A's rate limit: "per tenant, on the token endpoint; sliding window" (description, section 8).

import type { JsonAnswer } from "../http/json-answer.js";
import type { Deployment } from "../state.js";
import { rateLimitAnswer } from "./token-answers.js";

/** No tenant id is empty: the slots of all tenants together, while the rule that keeps them apart is off. */
const EVERY_TENANT = "";

/** Takes a slot, or answers 429. */
export function checkRate(
  { clock, customerLog, rateLimit, switches }: Deployment,
  tenantId: string,
): JsonAnswer | undefined {
  if (rateLimit === undefined || !switches.isEnforced("token-request.rate-limit")) return undefined;
  const now = clock();
  const whose = switches.isEnforced("rate-limit.tenant") ? tenantId : EVERY_TENANT;
  const freesAt = rateLimit.window.take(whose, now, !switches.isEnforced("rate-limit.sliding"));
  if (freesAt === undefined) return undefined;
  const actual = `one frees in ${freesAt - now} ms`;
  const finding = { expected: "a free slot in the tenant's window", actual };
  customerLog.record(now, { tenantId }, { rule: "token-request.rate-limit", ...finding });
  return rateLimitAnswer(freesAt, now, rateLimit.retryAfter);
}
