/** Which of the allowed origins is the host's: the only one that is written to and listened to. */
import { PageError } from "./page-error.js";

function originOf(url: string | undefined): string | undefined {
  try {
    return new URL(url as string).origin;
  } catch {
    return undefined;
  }
}

/** Exact origins only: no "*", no path, not even a trailing slash; and at least one. */
export function checkOrigins(origins: readonly string[]): void {
  if (!origins?.[0] || origins.some((origin) => origin !== originOf(origin)))
    throw new PageError("option_invalid", "hostOrigins");
}

/** The parent's, if it is allowed; `undefined` if there is no parent. @throws PageError `host_origin_unknown` */
export function hostOriginOf(hostOrigins: readonly string[]): string | undefined {
  if (parent === window) return undefined;
  // The list starts with the parent and ends with the top; not all browsers have it, and "null" is one withheld.
  // A hint either way: what counts is to which window an origin delivers, and which origin answers.
  const told = originOf(location.ancestorOrigins?.[0]) ?? originOf(document.referrer);
  // Told nothing (a host with "Referrer-Policy: no-referrer"): the browser delivers to the only one, or to nobody.
  const [origin, other] = new Set(hostOrigins.filter((allowed) => allowed === (told ?? allowed)));
  if (!origin || other) throw new PageError("host_origin_unknown", told);
  return origin;
}
