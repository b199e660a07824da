/** The sessions that browsers hold, as they rest in the store: under a hash, with a fixed and an idle end. */
import { z } from "zod";
import type { Operator } from "../auth/access-token.js";
import type { TokenStore } from "../auth/token-store.js";
import { RelaunchRequiredError, type Variant } from "../errors.js";
import { SessionError } from "./error-answer.js";
import { areEqual, hashOf, isTokenShaped, Records, randomToken, tokenBoundTo } from "./records.js";
import { cookieName, isAllowedOrigin, isSecure, type OriginOptions, readCookie } from "./request-checks.js";

export interface SessionRecord extends SessionSubject {
  /** The fixed end, whatever happens; epoch milliseconds, as the next. */
  readonly expiresAt: number;
  readonly usedAt: number;
}

const schema: z.ZodType<SessionRecord> = z.intersection(
  subjectSchema,
  z.object({ expiresAt: z.number(), usedAt: z.number() }),
);

export interface SessionsOptions {
  readonly store: TokenStore;
  readonly now: () => number;
  readonly lifetimeMs: number;
  readonly idleMs: number;
  /** Told of a session that is presented after its end, so that its tokens go too. */
  readonly ended: (session: SessionRecord) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** That a session is used is written at most so often, to spare the store. */
const mostOftenMs = 60_000;
/** So long after its end a session is still known, so that whoever presents it is told that it expired. */
const rememberedMs = 24 * 3_600_000;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #records: Records<SessionRecord>;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#records = new Records(options.store, "session", schema);
  }

  /** Always under a new token, so that nobody can have known it before the person logged in. */
  async open(subject: SessionSubject): Promise<{ readonly token: string; readonly session: SessionRecord }> {
    const token = randomToken();
    const usedAt = this.#options.now();
    // A launch cannot be renewed: no session of it outlives its token.
    const end = Math.min(usedAt + this.#options.lifetimeMs, subject.launchEndsAt ?? Number.POSITIVE_INFINITY);
    const session = { ...subject, usedAt, expiresAt: end };
    await this.#records.write(await hashOf(token), session, { ifVersion: null, ...this.#kept(session) });
    return { token, session };
  }

  /**
   * @throws SessionError `session_unknown`, `session_expired`
   * @throws RelaunchRequiredError `launch_expired`
   */
  async find(token: string): Promise<SessionRecord> {
    const name = isTokenShaped(token) ? await hashOf(token) : undefined;
    const found = name === undefined ? undefined : await this.#records.read(name);
    if (name === undefined || found === undefined)
      throw new SessionError(
        "session_unknown",
        "This session is not known here, or was ended. Begin a new one.",
      );
    const session = found.value;
    const now = this.#options.now();
    if (now >= this.#endOf(session)) {
      await this.#options.ended(session);
      if (session.launchEndsAt !== undefined && now >= session.launchEndsAt)
        throw new RelaunchRequiredError("launch_expired", "The launch has expired. Open the plugin again.");
      throw new SessionError("session_expired", "This session is over. Begin a new one.");
    }
    if (now - session.usedAt >= Math.min(mostOftenMs, this.#options.idleMs / 10)) {
      const used = { ...session, usedAt: now };
      try {
        // Over the version that was read: a session that was ended meanwhile must not rise again.
        await this.#records.write(name, used, { ifVersion: found.version, ...this.#kept(used) });
      } catch (error) {
        this.#options.failed(error);
      }
    }
    return session;
  }

  async end(token: string): Promise<void> {
    await this.#records.delete(await hashOf(token));
  }

  #endOf({ expiresAt, usedAt }: SessionRecord): number {
    return Math.min(expiresAt, usedAt + this.#options.idleMs);
  }

  #kept(session: SessionRecord): { readonly expiresAt: number } {
    return { expiresAt: this.#endOf(session) + rememberedMs };
  }
}

/** Whose tokens a session stands for, and which deployment they are of. */
export interface SessionSubject {
  /** Under which name the person's tokens rest in the store. */
  readonly person: string;
  readonly variant: Variant;
  readonly tenantId: string;
  readonly baseUrl: string;
  /** Of a launch, as the next. */
  readonly hostOrigin?: string;
  /** When its token expires, epoch milliseconds. */
  readonly launchEndsAt?: number;
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
}

export const subjectSchema: z.ZodType<SessionSubject> = z.object({
  person: z.string(),
  variant: z.enum(["A", "B"]),
  tenantId: z.string(),
  baseUrl: z.string(),
  hostOrigin: z.string().exactOptional(),
  launchEndsAt: z.number().exactOptional(),
  operator: z
    .object({
      userId: z.string(),
      firstname: z.string().exactOptional(),
      lastname: z.string().exactOptional(),
    })
    .exactOptional(),
  roles: z.array(z.object({ name: z.string(), group: z.string().exactOptional() })).exactOptional(),
});

/** "Key per-operator state on it" (section 2.3 of the description): a userId counts only within its tenant. */
export function stateKeyOf({ operator, baseUrl, tenantId, person }: SessionSubject): string {
  const parts =
    operator === undefined ? ["session", person] : ["operator", baseUrl, tenantId, operator.userId];
  return JSON.stringify(parts);
}

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
