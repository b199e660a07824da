/** The Auths of the people who are there, held in memory so that all requests of one person share one renewal. */
import type { PersonAuth } from "../auth/person-auth.js";
import { RecentlyUsed } from "../auth/recently-used.js";
import { LoginRequiredError } from "../errors.js";
import { resumeAuth } from "../resume-auth.js";
import type { BackendDeployment } from "./backend-deployment.js";
import type { Settings } from "./backend-options.js";
import { SessionError } from "./session-error.js";
import type { SessionSubject } from "./session-subject.js";

interface Held {
  auth?: PersonAuth | undefined;
  resuming?: Promise<PersonAuth | undefined> | undefined;
}

/** People beyond these are read from the store again. */
const mostHeld = 10_000;

export class PersonAuths {
  readonly #settings: Settings;
  readonly #held: RecentlyUsed<Held> = new RecentlyUsed(mostHeld, ({ resuming }) => resuming === undefined);

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  hold(auth: PersonAuth): void {
    this.#held.get(auth.person, () => ({})).auth = auth;
  }

  /**
   * The Auth behind a session.
   *
   * @throws SessionError `session_unknown` when its deployment is not configured any more, or its launch is not ours
   * @throws LoginRequiredError when its tokens are gone
   */
  async of(session: SessionSubject): Promise<PersonAuth> {
    const deployment = await this.#settings.deployments.ofSession(session);
    if (deployment === undefined)
      throw new SessionError("session_unknown", "The deployment of this session is not configured here.");
    const auth = await this.#resumed(session, deployment);
    if (auth !== undefined) return auth;
    if (session.variant === "A")
      throw new SessionError("session_unknown", "This session leads to no launch of this plugin.");
    // A refresh token that was refused is forgotten in the store.
    throw new LoginRequiredError("login_expired", "The login is over. Log in again.");
  }

  /** Forgets a person's tokens, here and in the store. */
  async forget(session: SessionSubject): Promise<void> {
    const deployment = await this.#settings.deployments.ofSession(session);
    // Of a deployment that is not configured any more nobody can use them: they wait for their end in the store.
    const auth = deployment && (await this.#resumed(session, deployment));
    await auth?.forget();
  }

  async #resumed(session: SessionSubject, deployment: BackendDeployment): Promise<PersonAuth | undefined> {
    const held = this.#held.get(session.person, () => ({}));
    if (held.auth !== undefined) return held.auth;
    if (this.#settings.auth.shareInFlight === false) {
      held.auth = await this.#resume(session, deployment);
      return held.auth;
    }
    // Not kept when it fails: what the store could not give now, it may give next time.
    held.resuming ??= this.#resume(session, deployment).finally(() => {
      held.resuming = undefined;
    });
    held.auth = await held.resuming;
    return held.auth;
  }

  async #resume(
    { variant, person }: SessionSubject,
    { baseUrl, tenantId, launch, login }: BackendDeployment,
  ): Promise<PersonAuth | undefined> {
    const credential = variant === "A" ? launch : login;
    if (credential === undefined) return undefined;
    return resumeAuth({ ...this.#settings.auth, baseUrl, tenantId, credential, person });
  }
}
