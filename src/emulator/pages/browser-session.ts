// The session of one browser at the host application or at the authorization server, kept by a cookie.
import { createHash } from "node:crypto";
import { parse, serialize } from "hono/utils/cookie";
import type { Deployment, KeptSession, SignedIn } from "../state.js";
import type { SecretMap } from "../stores.js";

/** Milliseconds from the sign-in on. The description shows no limit. */
const SESSION_LIFETIME_MS = 12 * 3_600_000;

export interface BrowserSession extends KeptSession {
  /** In every form and every request of a script. Another site can have the cookie sent, but cannot read this token. */
  readonly formToken: string;
}

/** A site with sessions of its own. */
export interface SessionPlace {
  readonly sessions: SecretMap<KeptSession>;
  readonly cookie: string;
  /** The path of the cookie, under the base URL. */
  readonly path: string;
}

/** The session of the browser that sent the request. */
export function findSession(
  { clock, publicUrl }: Deployment,
  place: SessionPlace,
  request: Request,
): BrowserSession | undefined {
  const value = cookieValue(place, publicUrl(), request);
  if (value === undefined) return undefined;
  const kept = place.sessions.find(value);
  return kept !== undefined && clock() < kept.expiresAt ? sessionOf(value, kept) : undefined;
}

/**
 * Replaces the browser's session by a new one. Each sign-in gets a new cookie value, so that a planted cookie is
 * worthless afterwards (session fixation). `setCookie` is the header for the response.
 */
export function openSession(
  { clock, publicUrl }: Deployment,
  place: SessionPlace,
  request: Request,
  operator: SignedIn | undefined,
): { session: BrowserSession; setCookie: string } {
  const url = new URL(publicUrl());
  const old = cookieValue(place, publicUrl(), request);
  if (old !== undefined) place.sessions.delete(old);
  const now = clock();
  // Only the identity: the registration is looked up at each use.
  const signedIn = operator && { tenantId: operator.tenantId, userId: operator.userId };
  const kept = { operator: signedIn, expiresAt: now + SESSION_LIFETIME_MS };
  const value = place.sessions.mint(kept, kept.expiresAt, now);
  const setCookie = serialize(cookieName(place, url), value, {
    path: url.pathname.replace(/\/+$/, "") + place.path,
    httpOnly: true,
    sameSite: "Lax",
    secure: url.protocol === "https:",
  });
  return { session: sessionOf(value, kept), setCookie };
}

/** Whether a page of this session sent the token. */
export function isOfSession(
  session: BrowserSession | undefined,
  formToken: unknown,
): session is BrowserSession {
  return session !== undefined && session.formToken === formToken;
}

/** The form token is derived from the cookie, so that it need not be stored. */
function sessionOf(value: string, kept: KeptSession): BrowserSession {
  return { ...kept, formToken: createHash("sha256").update(`form ${value}`).digest("base64url") };
}

/** Cookies ignore ports: without the port in the name, two emulators on one host would sign each other's people out. */
function cookieName({ cookie }: SessionPlace, { port }: URL): string {
  return port === "" ? cookie : `${cookie}-${port}`;
}

function cookieValue(place: SessionPlace, publicUrl: string, request: Request): string | undefined {
  const name = cookieName(place, new URL(publicUrl));
  return parse(request.headers.get("cookie") ?? "", name)[name];
}
