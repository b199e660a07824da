/**
 * Checks the base URL and the tenant id, and makes the token endpoints of both variants from them.
 */
import type { TargetOptions, TargetRules } from "../client-options.js";
import { ConfigurationError, type Variant } from "../errors.js";
import { isLoopback } from "../http/exchange.js";

/** A deployment and a tenant. `baseUrl` has no trailing slash. */
export interface Target {
  readonly baseUrl: string;
  readonly tenantId: string;
}

/**
 * Checks a base URL and a tenant id.
 * @throws ConfigurationError as `parseBaseUrl` and `parseTenantId` do
 */
export function parseTarget(
  { baseUrl, tenantId }: Pick<TargetOptions, "baseUrl" | "tenantId">,
  { allowInsecureHttp, tenantIdPattern, hasOwnFetch }: TargetRules,
  variant: Variant | undefined,
): Target {
  const isLocalKeyOnly = variant === "B" && tenantId === undefined;
  return {
    baseUrl: parseBaseUrl(baseUrl, allowInsecureHttp, hasOwnFetch),
    tenantId: isLocalKeyOnly ? "" : parseTenantId(tenantId, tenantIdPattern),
  };
}

/**
 * Checks a base URL and drops its trailing slashes. It may have a path prefix, but no credentials,
 * query or fragment. It must be https unless it names loopback or `allowInsecureHttp` is set.
 *
 * @throws ConfigurationError `base_url_invalid`, `base_url_insecure`
 */
export function parseBaseUrl(
  baseUrl: unknown,
  allowInsecureHttp = false,
  isOwnFetch = true,
): string {
  const invalid = (problem: string) =>
    new ConfigurationError(
      "base_url_invalid",
      `baseUrl ${problem}. Pass the address of the deployment, such as "https://customer.example".`,
      { option: "baseUrl" },
    );
  if (typeof baseUrl !== "string" || baseUrl.trim() === "")
    throw invalid("is missing or not a string");
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw invalid("must be an absolute URL");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw invalid("must begin with https or http");
  if (url.username !== "" || url.password !== "") throw invalid("must not contain credentials");
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(baseUrl))
    throw invalid("must not have a query or a fragment");
  if (/[{}]|%7b|%7d/i.test(url.hostname + url.pathname))
    throw invalid("still contains a placeholder in braces");
  if (url.protocol === "http:" && !allowInsecureHttp && !staysHere(url.hostname, isOwnFetch))
    throw new ConfigurationError(
      "base_url_insecure",
      "baseUrl is plain http to another machine, or to a name that Node asks DNS for. " +
        "Use https or localhost, or set allowInsecureHttp for a network you trust.",
      { option: "baseUrl" },
    );
  const normal = url.origin + url.pathname.replace(trailingSlashes, "$1");
  // The caller may pass one string for a hundred thousand tenants.
  return normal === baseUrl ? baseUrl : normal;
}

const atStart = globalThis.fetch;

/**
 * Whether a host name is resolved to this machine by whatever resolves it: browsers do so with all
 * names under localhost, but Node asks DNS, whose answer may be another machine. A fetch of the
 * caller or of a test tool resolves names itself.
 */
function staysHere(hostname: string, isOwnFetch: boolean): boolean {
  const asksDns = !isOwnFetch && globalThis.fetch === atStart && globalThis.process?.versions?.node;
  return isLoopback(hostname) && !(asksDns && hostname.endsWith(".localhost"));
}

const trailingSlashes = /^(.*[^/])?\/+$/;

/**
 * Whether a normalised URL is at or under a parsed base URL, the only place that the bearer is sent
 * to.
 */
export function isUnderBase(url: URL, baseUrl: string): boolean {
  const base = new URL(baseUrl);
  if (url.origin !== base.origin || url.username !== "" || url.password !== "") return false;
  const prefix = base.pathname.replace(trailingSlashes, "$1");
  if (prefix !== "" && hasDotSegment(url.pathname)) return false;
  return url.pathname === prefix || url.pathname.startsWith(`${prefix}/`);
}

const mostDecodings = 10;

/**
 * Whether a path has a segment `.` or `..`, as it is or after decoding, once or several times. URL
 * parsers fold `%2e%2e`, gateways fold `..%2f` (nginx) and `..;` (Tomcat), and each of several
 * gateways may decode once.
 */
export function hasDotSegment(path: string): boolean {
  let decoded = path;
  for (let last = "", rounds = 0; decoded !== last; rounds++) {
    // No honest path is encoded so often, and each round takes as long as the path is.
    if (rounds === mostDecodings) return true;
    last = decoded;
    decoded = last.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  // What follows the dots may also end the path for a server that decodes before it parses.
  return /(?:^|[/\\])\.{1,2}(?:$|[/\\;?#\0])/.test(decoded);
}

const defaultTenantIdPattern = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/;

/**
 * Checks a tenant id before it becomes part of a path.
 *
 * @throws ConfigurationError `tenant_id_invalid`
 */
export function parseTenantId(tenantId: unknown, pattern: RegExp = defaultTenantIdPattern): string {
  const invalid = (problem: string) =>
    new ConfigurationError(
      "tenant_id_invalid",
      `tenantId ${problem}. Pass the tenant's id as in the customer's URLs, such as "acme".`,
      { option: "tenantId" },
    );
  if (typeof tenantId !== "string" || tenantId === "") throw invalid("is missing or not a string");
  if (/^\{.*\}$/.test(tenantId))
    throw invalid("is a placeholder in braces that was never substituted");
  if (pattern === defaultTenantIdPattern && !pattern.test(tenantId))
    throw invalid("may hold only letters, digits and _ ~ - and, after the first character, dots");
  // `tenantIdPattern` may allow other characters, but none that would lead to another path.
  if (hasDotSegment(tenantId) || /[/\\?#%\p{Cc}\s]/u.test(tenantId))
    throw invalid("contains characters that would change the path");
  // A pattern with the flag g or y keeps a position between calls, which `search` ignores.
  if (tenantId.search(pattern) === -1) throw invalid("does not match tenantIdPattern");
  return tenantId;
}

/**
 * The token endpoint of Variant A (section 4.1 of the description). The tenant id must have been
 * checked.
 */
export function tokenEndpointOfA({ baseUrl, tenantId }: Target): string {
  return `${baseUrl}/api/v1/${tenantId}/external-plugin/oauth/token`;
}

/**
 * The token endpoint of Variant B (section 4.2 of the description): its path does not contain the
 * tenant.
 */
export function tokenEndpointOfB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/token`;
}
