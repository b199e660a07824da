// The paths that more than one module needs. All are under the base URL.
import { getPath } from "hono/utils/url";

/** Description, section 4.1. */
export const TOKEN_PATH_A = "/api/v1/{tenantId}/external-plugin/oauth/token";
/** Description, section 4.2. */
export const TOKEN_PATH_B = "/v1/auth/token";
/**
 * Variant B's authorization endpoint and the targets of its forms: the description shows none, so
 * the emulator chose them.
 */
export const AUTHORIZATION_PATH = "/v1/auth/authorize";
export const LOGIN_PATH = "/v1/auth/login";
export const CONSENT_PATH = "/v1/auth/consent";

/**
 * Returns a function that reads a request's path under the public URL, and returns undefined for
 * any other path. `prefix` is the path of the public URL, without a trailing slash. Paths are
 * decoded as far as routing needs it, so that every spelling of the prefix is the same (RFC 3986
 * section 6.2.2: /%7Euser and /~user are one path).
 */
export function pathUnder(prefix: string): (request: Request) => string | undefined {
  if (prefix === "") return getPath;
  const decoded = getPath({ url: `http://emulator.localhost${prefix}` } as Request);
  return (request) => {
    const path = getPath(request);
    return path.startsWith(`${decoded}/`) ? path.slice(decoded.length) : undefined;
  };
}
