/**
 * The sessions of browsers, with their records in the store, their tokens in requests and their
 * routes.
 */
import { z } from "zod";
import { isConfigurationError, RelaunchRequiredError } from "../errors.js";
import type { Settings } from "./backend-options.js";
import { Refusal, SessionError } from "./error-answer.js";
import type { LimitedExchange } from "./exchange-limits.js";
import type { PendingLogins } from "./pending-logins.js";
import { isSubject, type PersonAuths, type SessionSubject } from "./person-auths.js";
import { csrfTokenOf, hashOf, isToken, Records, randomToken } from "./records.js";
import {
  bearerToken,
  cookieHeader,
  cookieName,
  cookieToken,
  guardedCookieToken,
  readJson,
  refuseCrossSite,
} from "./request-checks.js";

export interface Context {
  readonly settings: Settings;
  readonly people: PersonAuths;
  readonly sessions: Sessions;
  readonly logins: PendingLogins;
  readonly limited: LimitedExchange;
}

export interface SessionRecord extends SessionSubject {
  /** When the session ends at the latest. This and `usedAt` are in epoch milliseconds. */
  readonly expiresAt: number;
  readonly usedAt: number;
}

/**
 * Written when a person logs out everywhere. The sessions of that person that have another
 * generation, or none, are over. Generations are random and only compared, so that the clocks of
 * the replicas do not matter.
 */
interface PersonRecord {
  readonly generation: string;
}

interface SessionWithToken {
  readonly token: string;
  readonly session: SessionRecord;
}

/** A session stays known for this long after its end, so that its page is told that it expired. */
const rememberedMs = 24 * 3_600_000;

export class Sessions {
  readonly #settings: Settings;
  readonly #people: PersonAuths;
  readonly #records: Records<SessionRecord>;
  readonly #persons: Records<PersonRecord>;

  constructor(settings: Settings, people: PersonAuths) {
    this.#settings = settings;
    this.#people = people;
    this.#records = new Records(
      settings,
      "session",
      (record) =>
        isSubject(record) && Number.isFinite(record.expiresAt) && Number.isFinite(record.usedAt),
    );
    this.#persons = new Records(
      settings,
      "person",
      ({ generation }) => typeof generation === "string",
    );
  }

  /**
   * Opens a session under a new token, which thus cannot have been planted (no session fixation).
   */
  async open(subject: SessionSubject): Promise<SessionWithToken> {
    const token = randomToken();
    const usedAt = this.#settings.clock.now();
    const longest = usedAt + this.#settings.session.lifetimeMs;
    // The token of a launch cannot be renewed, so the session ends with it.
    const expiresAt = Math.min(longest, subject.launchEndsAt ?? longest);
    // It is read before the session is written, so that a logout meanwhile ends the session.
    const { generation = await this.generationOf(subject) } = subject;
    const session = { ...subject, usedAt, expiresAt, generation };
    await this.#write(token, session, null);
    return { token, session };
  }

  /**
   * @throws SessionError `session_unknown`, `session_expired`, RelaunchRequiredError
   * `launch_expired`
   */
  async find(token: string): Promise<SessionRecord> {
    const found = await this.#records.read(token);
    const unknown = "This session is unknown or was ended. Start a new session.";
    if (found === undefined) {
      if (isToken(token)) this.#settings.reportUnknown("session_unknown");
      throw new SessionError("session_unknown", unknown);
    }
    const session = found.value;
    const now = this.#settings.clock.now();
    if (now >= this.#endOf(session)) {
      await this.#people.forget(session).catch(this.#settings.report);
      if (session.launchEndsAt !== undefined && now >= session.launchEndsAt)
        throw new RelaunchRequiredError(
          "launch_expired",
          "The launch has expired. Open the plugin again.",
        );
      throw new SessionError("session_expired", "This session has expired. Start a new session.");
    }
    if (((await this.generationOf(session)) ?? session.generation) !== session.generation) {
      await this.end(token, session).catch(this.#settings.report);
      throw new SessionError("session_unknown", unknown);
    }
    // The use is written at most once a minute, to save writes to the store.
    if (now - session.usedAt >= Math.min(60_000, this.#settings.session.idleMs / 10))
      // The version must be the one that was read, or a session that was ended meanwhile would come
      // back.
      await this.#write(token, { ...session, usedAt: now }, found.version).catch(
        this.#settings.report,
      );
    return session;
  }

  /**
   * The session ends last. If something fails before, it still exists, and the person can log out
   * again. Without a credential the tokens cannot be forgotten, and expire in the store.
   */
  async end(token: string, session: SessionRecord, everywhere = false): Promise<void> {
    if (everywhere) {
      const person = await personOf(session);
      if (person === undefined) throw new Refusal("person_unknown");
      const { clock, session: settings } = this.#settings;
      // Then no session is left that was opened before.
      const expiresAt = clock.now() + settings.lifetimeMs + rememberedMs;
      await this.#persons.write(person, { generation: randomToken() }, { expiresAt });
    }
    await this.#people.forget(session).catch((error: unknown) => {
      if (!isConfigurationError(error)) throw error;
      this.#settings.report(error);
    });
    await this.#records.delete(token);
  }

  /**
   * Ends the session of a cookie that is about to be replaced, because no page can use it
   * afterwards.
   */
  async endReplaced(token: string): Promise<void> {
    try {
      await this.#people.forget(await this.find(token)).catch(this.#settings.report);
      await this.#records.delete(token);
    } catch {
      // The session is unknown or over.
    }
  }

  /**
   * The session that a request names, and its token.
   * @throws SessionError, RelaunchRequiredError, StoreError
   */
  async ofRequest(request: Request): Promise<SessionWithToken> {
    const token = this.#settings.session.cookie
      ? await guardedCookieToken(request, this.#settings)
      : bearerToken(request);
    return { token, session: await this.find(token) };
  }

  /** The `generation` of the person's record now. */
  async generationOf(subject: SessionSubject): Promise<string | undefined> {
    const person = await personOf(subject);
    return person && (await this.#persons.read(person))?.value.generation;
  }

  #endOf({ expiresAt, usedAt }: SessionRecord): number {
    return Math.min(expiresAt, usedAt + this.#settings.session.idleMs);
  }

  #write(token: string, session: SessionRecord, ifVersion: string | null): Promise<boolean> {
    return this.#records.write(token, session, {
      ifVersion,
      expiresAt: this.#endOf(session) + rememberedMs,
    });
  }
}

/** The name of a person's record, or `undefined` if the service did not say who the person is. */
async function personOf({
  variant,
  baseUrl,
  tenantId,
  operator,
}: SessionSubject): Promise<string | undefined> {
  return operator && hashOf(JSON.stringify([variant, baseUrl, tenantId, operator.userId]));
}

/** Opens a session and answers with it. The answer holds none of the service's tokens. */
export async function openSession(
  request: Request,
  { settings, sessions }: Context,
  subject: SessionSubject,
): Promise<Response> {
  // No client is left to receive the session, so a login stays for the next request.
  if (request.signal.aborted) throw new Refusal("client_gone");
  const replaced = cookieToken(request, settings);
  const { token, session } = await sessions.open(subject);
  if (!settings.session.cookie) return Response.json({ session: token, ...shownTo(session) });
  if (replaced !== undefined) await sessions.endReplaced(replaced);
  return continueSession(token, session, {
    "set-cookie": sessionCookie(request, settings, token),
  });
}

async function continueSession(
  token: string,
  session: SessionRecord,
  headers = {},
): Promise<Response> {
  return Response.json({ csrf: await csrfTokenOf(token), ...shownTo(session) }, { headers });
}

function shownTo({ variant, tenantId, operator, expiresAt }: SessionRecord): object {
  return { variant, tenantId, operator, expiresAt };
}

/** With the value "" the browser removes the cookie. */
function sessionCookie(request: Request, settings: Settings, value: string): string {
  // A plugin's page is in an iframe of another site, where browsers keep only partitioned cookies.
  const inIframes = "; SameSite=None; Secure; Partitioned";
  const name = cookieName("session", request, settings);
  return cookieHeader(name, value, settings.session.lifetimeMs, inIframes);
}

const sessionBody = z.object({
  login: z.string().max(256).nullish(),
  tenant: z.string().max(256).nullish(),
  /** The host application around the page. Absent for a page that is not in a frame. */
  hostOrigin: z.string().max(512).optional(),
});

/**
 * POST session: answers with the session from a login that completed in this browser, or from the
 * cookie. All hosts of one site share these cookies, so a launch continues only in a frame of its
 * host, and a login only outside of frames.
 */
export async function answerSession(request: Request, context: Context): Promise<Response> {
  const { settings, people, sessions, logins } = context;
  if (settings.session.cookie) refuseCrossSite(request);
  const { login, tenant, hostOrigin } = await readJson(request, sessionBody, settings);
  if (hostOrigin === undefined) {
    const opened = await logins.fetch(request, { mark: login, tenantId: tenant }, (subject) =>
      openSession(request, context, subject),
    );
    if (opened !== undefined) return opened;
  }
  const token = cookieToken(request, settings);
  const session = token && (await sessions.find(token));
  // The page did not ask for a session of another tenant, so it must start its own.
  const isOther = session && (tenant ?? session.tenantId) !== session.tenantId;
  if (!token || !session || isOther || hostOrigin !== session.hostOrigin)
    throw new SessionError("session_missing", "There is no session here. Start a new session.");
  await people.requireUsable(session);
  return continueSession(token, session);
}

/** GET me: answers with the person who has the session. */
export async function answerMe(request: Request, { sessions, people }: Context): Promise<Response> {
  const { session } = await sessions.ofRequest(request);
  await people.of(session);
  return Response.json({ ...shownTo(session), roles: session.roles });
}

const logoutBody = z.object({ everywhere: z.boolean().optional() });

/**
 * POST logout: ends the session and forgets its tokens. With `everywhere`, all sessions of the
 * person end.
 */
export async function answerLogout(
  request: Request,
  { settings, sessions }: Context,
): Promise<Response> {
  const { everywhere } = await readJson(request, logoutBody, settings);
  const { token, session } = await sessions.ofRequest(request);
  await sessions.end(token, session, everywhere);
  const headers = new Headers();
  if (settings.session.cookie) headers.set("set-cookie", sessionCookie(request, settings, ""));
  return new Response(null, { status: 204, headers });
}
