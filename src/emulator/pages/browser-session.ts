// Who is signed in, in one browser, at the host application or at the authorization server; kept by a cookie.
import { createHash } from "node:crypto";
import { parse, serialize } from "hono/utils/cookie";
import type { Deployment, KeptSession, SignedIn } from "../state.js";
import type { SecretMap } from "../stores.js";

/** Milliseconds, fixed from the sign-in on; not shown. */
const SESSION_LIFETIME_MS = 12 * 3_600_000;

/** What the value of a session cookie stands for. */
export interface BrowserSession extends KeptSession {
  /** In every form and every request of a script: other sites can have the cookie sent along, but not this. */
  readonly formToken: string;
}

/** One place to be signed in at. */
export interface SessionPlace {
  readonly sessions: SecretMap<KeptSession>;
  readonly cookie: string;
  /** Under the base URL; the cookie is sent nowhere else. */
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
 * A new session in the place of the browser's old one: its value is never one that was known before the sign-in, so
 * nobody can plant it. `setCookie` is the header for the answer.
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
  // Who it is, and not the whole registration: that is looked up anew at each use.
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

/** Whether a page of this session sent the token along; a page of another site cannot know it. */
export function isOfSession(
  session: BrowserSession | undefined,
  formToken: unknown,
): session is BrowserSession {
  return session !== undefined && session.formToken === formToken;
}

/** The form token follows from the cookie and is kept nowhere: what is stored, or in a snapshot, cannot be presented. */
function sessionOf(value: string, kept: KeptSession): BrowserSession {
  return { ...kept, formToken: createHash("sha256").update(`form ${value}`).digest("base64url") };
}

/** Cookies know no ports: two emulators on one host would sign each other's people out. */
function cookieName({ cookie }: SessionPlace, { port }: URL): string {
  return port === "" ? cookie : `${cookie}-${port}`;
}

function cookieValue(place: SessionPlace, publicUrl: string, request: Request): string | undefined {
  const name = cookieName(place, new URL(publicUrl));
  return parse(request.headers.get("cookie") ?? "", name)[name];
}
