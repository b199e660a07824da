/** Which of the allowed origins is the host's: the only one that is written to and listened to. */
import { PageError } from "./page-error.js";

/** `undefined` for what is no absolute URL. */
export function urlOf(text: unknown): URL | undefined {
  try {
    return new URL(text as string);
  } catch {
    // Said by giving none.
  }
}

/** Exact origins only: no "*", no path, not even a trailing slash; and at least one. */
export function areOrigins(origins: readonly string[]): unknown {
  return origins?.[0] && origins.every?.((origin) => origin === urlOf(origin)?.origin);
}

/** The parent's, if it is allowed; `undefined` if there is no parent. @throws PageError `host_origin_unknown` */
export function hostOriginOf(hostOrigins: readonly string[]): string | undefined {
  if (parent === self) return undefined;
  // The list starts with the parent and ends with the top; not all browsers have it, and "null" is one withheld.
  // A hint either way: what counts is to which window an origin delivers, and which origin answers.
  const told = (urlOf(location.ancestorOrigins?.[0]) ?? urlOf(document.referrer))?.origin;
  // Told nothing (a host with "Referrer-Policy: no-referrer"): the browser delivers to the only one, or to nobody.
  const [origin, other] = new Set(hostOrigins.filter((allowed) => !told || allowed === told));
  if (!origin || other) throw new PageError("host_origin_unknown", told);
  return origin;
}
