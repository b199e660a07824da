/** Names, reads and makes cookies. */
/** Browsers accept the prefix `__Host-` only over https, so a backend on http (loopback) leaves it out. */
export function cookieName(use: string, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}bivariant-${use}`;
}

function cookiePairs(request: Request): readonly string[] {
  return (request.headers.get("cookie") ?? "").split(/;[ \t]*/);
}

export function cookieNames(request: Request): readonly string[] {
  return [...new Set(cookiePairs(request).map((pair) => pair.slice(0, Math.max(0, pair.indexOf("=")))))];
}

/** Returns `undefined` if the cookie is empty, or if several have that name, because one may be planted. */
export function readCookie(request: Request, name: string): string | undefined {
  // Names must be equal byte for byte. `trim()` would accept a planted name after a no-break space.
  const found = cookiePairs(request).filter((pair) => pair.startsWith(`${name}=`));
  if (found.length !== 1) return undefined;
  return found[0]?.slice(name.length + 1).replace(/[ \t]+$/, "") || undefined;
}

/** A plugin's page is in an iframe of another site, where browsers keep only partitioned cookies. */
export const inIframes = "; SameSite=None; Secure; Partitioned";

/** Makes a value for `Set-Cookie` (RFC 6265bis section 4.1). An age of 0 removes the cookie. */
export function cookieHeader(name: string, value: string, maxAgeSeconds: number, attributes: string): string {
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly${attributes}`;
}
