/** Tenant ids and path parameters: what may stand in a path without leading elsewhere. */
import { ConfigurationError } from "../errors.js";

const defaultTenantIdPattern = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/;

/**
 * Checks a tenant id before it goes into a path.
 *
 * @throws ConfigurationError `tenant_id_invalid`, `option_invalid` for a pattern that is none
 */
export function parseTenantId(tenantId: unknown, pattern: RegExp = defaultTenantIdPattern): string {
  const invalid = (why: string) =>
    new ConfigurationError(
      "tenant_id_invalid",
      `tenantId ${why}. Give the tenant's id as it stands in the customer's URLs, such as "acme".`,
      { option: "tenantId" },
    );
  if (!(pattern instanceof RegExp))
    throw new ConfigurationError("option_invalid", "tenantIdPattern is no regular expression.", {
      option: "tenantIdPattern",
    });
  if (typeof tenantId !== "string" || tenantId === "") throw invalid("is missing");
  if (/^\{.*\}$/.test(tenantId)) throw invalid("is a placeholder in braces that was never substituted");
  // `tenantIdPattern` may widen what a tenant id looks like, never where it leads.
  if (foldsAway(tenantId) || /[/\\?#%\p{Cc}\s]/u.test(tenantId))
    throw invalid("holds what would change the path");
  if (!matches(pattern, tenantId)) throw invalid("does not match tenantIdPattern");
  return tenantId;
}

function matches(pattern: RegExp, tenantId: string): boolean {
  // With the flag g or y a pattern keeps a position between calls.
  const isStateful = pattern.global || pattern.sticky;
  const stateless = isStateful ? new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")) : pattern;
  return stateless.test(tenantId);
}

/** `.` and `..` vanish in every URL parser, and so do their encoded forms. */
export function foldsAway(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}
