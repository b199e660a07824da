/** What the routes work with: the settings, and everything that is remembered between two requests. */
import { z } from "zod";
import type { AccessToken } from "../auth/access-token.js";
import type { Auth } from "../auth/auth.js";
import type { PersonAuth } from "../auth/person-auth.js";
import { personRequired } from "../client/person-required.js";
import type { Variant } from "../errors.js";
import type { Settings } from "./backend-options.js";
import type { BackendDeployment } from "./deployments.js";
import { LoginBrowsers } from "./pending-logins.js";
import { PersonAuths, watchedAuth } from "./person-auths.js";
import { hashOf, Records } from "./records.js";
import {
  bearerToken,
  guardedCookieToken,
  type SessionRecord,
  type SessionSubject,
  Sessions,
} from "./sessions.js";

/** Far beyond the two minutes that a code is valid (section 3 of the description). */
const spentForMs = 600_000;

export class Context {
  readonly settings: Settings;
  readonly sessions: Sessions;
  readonly browsers: LoginBrowsers;
  readonly auths: PersonAuths;
  readonly #spentCodes: Records<true>;
  /** Whose token the service took no longer, by the error that says what to ask them for. */
  readonly #refused: WeakMap<object, PersonAuth> = new WeakMap();

  constructor(settings: Settings) {
    const { store, now, session } = settings;
    this.settings = settings;
    this.auths = new PersonAuths(settings, (error) => this.failed(error));
    this.browsers = new LoginBrowsers(settings);
    this.sessions = new Sessions({
      ...{ store, now, lifetimeMs: session.lifetimeMs, idleMs: session.idleMs },
      ended: (ended) => this.forget(ended),
      failed: (error) => this.failed(error),
    });
    this.#spentCodes = new Records(store, "code", z.literal(true));
  }

  /** The session of a request, and its token. @throws SessionError */
  async sessionOf(request: Request): Promise<{ readonly token: string; readonly session: SessionRecord }> {
    const token = this.settings.session.cookie
      ? await guardedCookieToken(request, this.settings)
      : bearerToken(request);
    return { token, session: await this.sessions.find(token) };
  }

  /**
   * The session of a request and the Auth behind it: a session that leads to no tokens, because they were forgotten
   * or because another plugin began it, is none.
   *
   * @throws SessionError, RelaunchRequiredError, LoginRequiredError, StoreError
   */
  async personOf(request: Request): Promise<{ readonly session: SessionRecord; readonly auth: PersonAuth }> {
    const { session } = await this.sessionOf(request);
    return { session, auth: await this.auths.of(session) };
  }

  /** The Auth for the calls of a request: what comes of its token is known again when it is answered. */
  async authOf(request: Request): Promise<Auth & { readonly variant: Variant }> {
    const { auth } = await this.personOf(request);
    return watchedAuth(auth, (required) => this.#refused.set(required, auth));
  }

  /**
   * Whether a session that its cookie names can still do anything: one whose person has to launch or log in again would
   * end at its first call, and begin here again, in circles.
   *
   * @throws SessionError, RelaunchRequiredError, LoginRequiredError, StoreError
   */
  async requirePerson(session: SessionRecord): Promise<void> {
    const auth = await this.auths.of(session);
    try {
      await auth.getAccessToken({ signal: AbortSignal.timeout(this.settings.timeoutMs) });
    } catch (error) {
      // Anything else may go by.
      if (personRequired(error) !== undefined) throw error;
    }
  }

  /** A browser is told that its person has to launch or log in again: a token that was refused leads nowhere else. */
  endBehind(error: unknown): void {
    const required = personRequired(error);
    const auth = required && this.#refused.get(required);
    if (auth === undefined) return;
    this.settings.waitUntil(auth.forget().catch((fault) => this.failed(fault)));
  }

  /** Whether a code was never seen before, in any process: of two at once only one is. */
  async spend(deployment: BackendDeployment, code: string): Promise<boolean> {
    return this.#spentCodes.write(await codeName(deployment, code), true, {
      ifVersion: null,
      expiresAt: this.settings.now() + spentForMs,
    });
  }

  /** Takes that back: the code was surely not sent. */
  async unspend(deployment: BackendDeployment, code: string): Promise<void> {
    await this.#spentCodes.delete(await codeName(deployment, code));
  }

  /** Whom a new Auth stands for; from now on it is found by its name. */
  async subjectOf(auth: PersonAuth, deployment: BackendDeployment): Promise<SessionSubject> {
    this.auths.hold(auth);
    const { operator, roles, expiresAt }: AccessToken = await auth.getAccessToken();
    const { tenantId, baseUrl, hostOrigin } = deployment;
    return {
      ...{ person: auth.person, variant: auth.variant, tenantId, baseUrl },
      ...(auth.variant === "A" && hostOrigin !== undefined && { hostOrigin, launchEndsAt: expiresAt }),
      ...(operator !== undefined && { operator }),
      ...(roles !== undefined && { roles }),
    };
  }

  /** Forgets tokens that nobody will ask for again; a failure there is told and harms nobody. */
  async forget(subject: SessionSubject): Promise<void> {
    try {
      await this.auths.forget(subject);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Tells of an error that no answer shows. */
  failed(error: unknown): void {
    this.told(error, { status: 200, code: "none", route: "session" });
  }

  told(...told: Parameters<Settings["onError"]>): void {
    try {
      const result: unknown = this.settings.onError(...told);
      if (result instanceof Promise) result.catch(() => {});
    } catch {
      // A listener's fault is not the browser's.
    }
  }
}

function codeName({ baseUrl, tenantId }: BackendDeployment, code: string): Promise<string> {
  return hashOf(baseUrl, tenantId, code);
}
