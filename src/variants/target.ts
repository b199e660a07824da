/** What every part of the core knows of a variant: where its token endpoint is and what it is bound to. */
import { ConfigurationError, type Variant } from "../errors.js";

export type { Variant };

/** The deployment and the tenant that something is about. `baseUrl` is parsed: no trailing slash. */
export interface Target {
  readonly baseUrl: string;
  readonly tenantId: string;
}

/** One client: fetch is always called with a string and a RequestInit, so that undici's own fetch works. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * Checks a base URL and drops its trailing slashes. It may have a path prefix; it has no credentials, query or
 * fragment, and is https unless it names loopback or `allowInsecureHttp` is set.
 *
 * @throws ConfigurationError `base_url_invalid`, `base_url_insecure`
 */
export function parseBaseUrl(baseUrl: unknown, allowInsecureHttp = false): string {
  const invalid = (why: string) =>
    new ConfigurationError(
      "base_url_invalid",
      `baseUrl ${why}. Give the address of the deployment, such as "https://customer.example".`,
      { option: "baseUrl" },
    );
  if (typeof baseUrl !== "string" || baseUrl.trim() === "") throw invalid("is missing");
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw invalid("is no absolute URL");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") throw invalid("is neither https nor http");
  if (url.username !== "" || url.password !== "") throw invalid("holds credentials; remove them");
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(baseUrl))
    throw invalid("holds a query or a fragment");
  if (/[{}]|%7b|%7d/i.test(url.hostname + url.pathname)) throw invalid("still holds a placeholder in braces");
  if (url.protocol === "http:" && !allowInsecureHttp && !isLoopback(url.hostname))
    throw new ConfigurationError(
      "base_url_insecure",
      "baseUrl is plain http to another machine, where tokens could be read on the way. Use https, or set allowInsecureHttp for a network you trust.",
      { option: "baseUrl" },
    );
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** Whether a URL, after normalisation, lies at or under a parsed base URL: only there does the bearer go. */
export function isUnderBase(url: URL, baseUrl: string): boolean {
  const base = new URL(baseUrl);
  if (url.origin !== base.origin || url.username !== "" || url.password !== "") return false;
  const prefix = base.pathname.replace(/\/+$/, "");
  // A server may decode `%2f` and `%5c` and fold the dots behind them: such a path may lead out of the prefix.
  if (prefix !== "" && /%(?:25)*(?:2f|5c)/i.test(url.pathname) && /\.|%(?:25)*2e/i.test(url.pathname))
    return false;
  // So do some with `..;`, whose parameters they take off before they fold it.
  if (prefix !== "" && /\/(?:\.|%(?:25)*2e){1,2}(?:;|%(?:25)*3b)/i.test(url.pathname)) return false;
  return url.pathname === prefix || url.pathname.startsWith(`${prefix}/`);
}

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

/** Section 4.1 of the description. The tenant id must have been checked. */
export function tokenEndpointOfA({ baseUrl, tenantId }: Target): string {
  return `${baseUrl}/api/v1/${tenantId}/external-plugin/oauth/token`;
}

/** The only accepted value (section 4.1; RFC 7523 section 2.2). */
export const clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** The errors of section 7.1. Every failure of the token endpoint is a 400 with one of them. */
export const errorsOfA = [
  "invalid_client",
  "invalid_grant",
  "unsupported_grant_type",
  "invalid_request",
] as const;

/** "error_description is always the same fixed text" (section 7.1); shown with and without the full stop. */
export function isFixedDescriptionOfA(description: unknown): boolean {
  return (
    description === "The token request was rejected." || description === "The token request was rejected"
  );
}

/** Section 4.2 of the description: the path holds no tenant. */
export function tokenEndpointOfB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/token`;
}

/** A path that no deployment serves: a gateway that answers everything alike answers this one alike too. */
export function siblingOfTokenEndpointB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/bivariant-detect`;
}
