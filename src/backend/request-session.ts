/** The session token of a request: from its one place, and with cookies only from our own pages. */
import { cookieName, readCookie } from "./cookies.js";
import { areEqual, tokenBoundTo } from "./random-token.js";
import { isAllowedOrigin, isSecure, type OriginOptions } from "./request-origin.js";
import { SessionError } from "./session-error.js";

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const safeMethods = ["GET", "HEAD", "OPTIONS"];
export const csrfHeader = "x-bivariant-csrf";

/** The CSRF token of a session: made of its token, so that only its own page is ever given it. */
export function csrfTokenOf(sessionToken: string): Promise<string> {
  return tokenBoundTo(sessionToken, "bivariant csrf");
}

/** @throws SessionError `session_missing` */
export function bearerToken(request: Request): string {
  const [, token] = /^bearer +(\S.*)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (token === undefined)
    throw new SessionError("session_missing", "The request names no session: send it as a bearer token.");
  return token;
}

/** The token in the cookie, whoever sent it; `undefined` when there is none or more than one. */
export function cookieToken(request: Request, options: OriginOptions): string | undefined {
  return readCookie(request, cookieName("session", isSecure(request, options)));
}

/**
 * The token in the cookie of a request that our own page sent: browsers add cookies to what any site sends.
 *
 * @throws SessionError `session_missing`, `session_unknown`, `origin_refused`, `csrf_refused`
 */
export async function guardedCookieToken(request: Request, options: OriginOptions): Promise<string> {
  const origin = request.headers.get("origin");
  const isSafe = safeMethods.includes(request.method);
  if (origin === null ? !isSafe : !isAllowedOrigin(origin, request, options))
    throw new SessionError("origin_refused", "Requests of this origin are not accepted.");
  const token = cookieToken(request, options);
  if (token === undefined)
    throw new SessionError("session_missing", "The request names no session: its cookie is missing.");
  const csrf = request.headers.get(csrfHeader);
  // Where it is not needed too: the cookie is the whole browser's, and a tab whose session another launch or login has
  // replaced must not be shown what belongs to that one.
  if (isSafe && csrf === null) return token;
  if (areEqual(csrf ?? "", await csrfTokenOf(token))) return token;
  if (isSafe)
    throw new SessionError("session_unknown", "Another session has taken this one's place. Begin a new one.");
  throw new SessionError("csrf_refused", `Send the session's CSRF token in the header ${csrfHeader}.`);
}
