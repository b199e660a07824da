/** The sessions that browsers hold, as they rest in the store: under a hash, with a fixed and an idle end. */
import { z } from "zod";
import type { TokenStore } from "../auth/token-store.js";
import { RelaunchRequiredError } from "../errors.js";
import { hashOf, isTokenShaped, randomToken } from "./random-token.js";
import { Records } from "./records.js";
import { SessionError } from "./session-error.js";
import { type SessionSubject, subjectSchema } from "./session-subject.js";

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
