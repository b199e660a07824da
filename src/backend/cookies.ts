/** The backend's cookies: read so that a second one of the same name counts for nothing, written so that they stay home. */

/** What a cookie is for. */
export type CookieUse = "login" | "session";

/**
 * The `__Host-` prefix makes the browser refuse one that another host or a plain http page set. A browser takes the
 * prefix only over https: on loopback, for development, the name goes without.
 */
export function cookieName(use: CookieUse, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}bivariant-${use}`;
}

/**
 * The value under a name; `undefined` too when it is empty, or when there are several, for then somebody planted one.
 *
 * The name counts byte for byte. A browser lets another host of the site set a cookie whose name only looks like ours,
 * with a no-break space before it for instance: `trim()` would make it ours, past all that `__Host-` promises.
 */
export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/;[ \t]*/);
  const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
  if (found.length !== 1) return undefined;
  return found[0]?.slice(name.length + 1).replace(/[ \t]+$/, "") || undefined;
}

export interface CookieToSet {
  readonly use: CookieUse;
  readonly isSecure: boolean;
  readonly value: string;
  /** 0 takes the cookie back. */
  readonly maxAgeSeconds: number;
}

/** A value for `Set-Cookie` (RFC 6265bis section 4.1). */
export function cookieHeader({ use, isSecure, value, maxAgeSeconds }: CookieToSet): string {
  return [
    `${cookieName(use, isSecure)}=${value}`,
    `Max-Age=${maxAgeSeconds}`,
    "Path=/",
    "HttpOnly",
    ...siteAttributes(use, isSecure),
  ].join("; ");
}

function siteAttributes(use: CookieUse, isSecure: boolean): readonly string[] {
  // A login is a navigation of the whole window: no other site's page needs this cookie.
  if (use === "login") return ["SameSite=Lax", ...(isSecure ? ["Secure"] : [])];
  // The plugin's page lives in another site's iframe: only a partitioned cookie gets there. Browsers take Secure from
  // loopback over plain http too, and without it they refuse SameSite=None.
  return ["SameSite=None", "Secure", "Partitioned"];
}
