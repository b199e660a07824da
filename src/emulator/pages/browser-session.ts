// The session of one browser at the host application or at the authorization server, kept by a
// cookie.
import { parse, serialize } from "hono/utils/cookie";
import type { Arrival } from "../http/operation.js";
import type { OperatorIdentity } from "../registrations/operators.js";
import type { KeptSession } from "../state/deployment.js";
import { sha256 } from "../state/expiring-map.js";
import { readText } from "./page.js";

/** Milliseconds after the sign-in. The description shows no limit. */
const SESSION_LIFETIME_MS = 12 * 3_600_000;

export interface SessionPlace {
  readonly sessions: "hostSessions" | "loginSessions";
  readonly cookie: string;
  /** The path of the cookie, under the base URL. */
  readonly path: string;
  /** The rule that a request of a page must carry the token of its session. */
  readonly rule: "launch.form" | "login.form";
}

export interface BrowserSession extends KeptSession {
  /**
   * Every form and script request has it. Another site can have the cookie sent, but cannot read
   * this token.
   */
  readonly formToken: string;
  /** The Set-Cookie header of the response that begins the session. */
  readonly setCookie?: string;
}

/** A request of a browser. */
export interface Visit extends Arrival {
  readonly place: SessionPlace;
  /** The browser's session at the place, if it has one. */
  readonly session: BrowserSession | undefined;
}

export function visitAt(place: SessionPlace, arrival: Arrival): Visit {
  const { deployment } = arrival;
  const value = cookieValue({ ...arrival, place });
  const kept = deployment[place.sessions].find(value);
  const isOpen = value !== undefined && kept !== undefined && deployment.clock() < kept.expiresAt;
  const session = isOpen ? { ...kept, formToken: formTokenOf(value) } : undefined;
  return { ...arrival, place, session };
}

/**
 * Replaces the browser's session by a new one. Each sign-in gets a new cookie value, so that a
 * planted cookie is worthless afterwards (session fixation).
 */
export function openSession(visit: Visit, person?: OperatorIdentity): BrowserSession {
  const { deployment, place } = visit;
  const { clock, publicUrl } = deployment;
  const sessions = deployment[place.sessions];
  const url = new URL(publicUrl());
  const old = cookieValue(visit);
  if (old !== undefined) sessions.delete(old);
  // Only the identity is kept, because the registration is looked up at each use.
  const operator = person && { tenantId: person.tenantId, userId: person.userId };
  const kept = { operator, expiresAt: clock() + SESSION_LIFETIME_MS };
  const value = sessions.mint(kept);
  const setCookie = serialize(cookieName(place, url), value, {
    path: url.pathname.replace(/\/$/, "") + place.path,
    httpOnly: true,
    sameSite: "Lax",
    secure: url.protocol === "https:",
  });
  return { ...kept, formToken: formTokenOf(value), setCookie };
}

/** Returns whether the token is that of the session. It always is while the rule is off. */
export function isOwnToken({ deployment, place, session }: Visit, formToken: unknown): boolean {
  return (
    !deployment.switches.isEnforced(place.rule) ||
    (session !== undefined && session.formToken === formToken)
  );
}

/**
 * Reads a form that comes from this browser's own page; resolves with undefined for any other
 * request.
 */
export async function readOwnForm(visit: Visit): Promise<URLSearchParams | undefined> {
  const text = await readText(visit.request, "application/x-www-form-urlencoded");
  const form = new URLSearchParams(text);
  return text !== undefined && isOwnToken(visit, form.get("form_token")) ? form : undefined;
}

/** The token is derived from the cookie, so that it need not be stored. */
function formTokenOf(value: string): string {
  return sha256(`form ${value}`);
}

/**
 * The name contains the port, because cookies ignore ports and one host may run several emulators.
 */
function cookieName({ cookie }: SessionPlace, { port }: URL): string {
  return port === "" ? cookie : `${cookie}-${port}`;
}

function cookieValue({ deployment, request, place }: Omit<Visit, "session">): string | undefined {
  const name = cookieName(place, new URL(deployment.publicUrl()));
  return parse(request.headers.get("cookie") ?? "", name)[name];
}
