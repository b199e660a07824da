/** The Auths of the people who are there, held in memory so that all requests of one person share one renewal. */

import type { Auth } from "../auth/auth.js";
import type { PersonAuth } from "../auth/person-auth.js";
import { personContext } from "../auth/person-context.js";
import { RecentlyUsed } from "../auth/recently-used.js";
import { isStoreError, LoginRequiredError, type RelaunchRequiredError, type Variant } from "../errors.js";
import { type ResumeAuthOptions, resumeAuth } from "../resume-auth.js";
import type { Settings } from "./backend-options.js";
import type { BackendDeployment } from "./deployments.js";
import { SessionError } from "./error-answer.js";
import type { SessionSubject } from "./sessions.js";

interface Held {
  auth?: PersonAuth | undefined;
  resuming?: Promise<PersonAuth | undefined> | undefined;
}

/** People beyond these are read from the store again. */
const mostHeld = 10_000;

export class PersonAuths {
  readonly #settings: Settings;
  readonly #failed: (error: unknown) => void;
  readonly #held: RecentlyUsed<Held> = new RecentlyUsed(mostHeld, ({ resuming }) => resuming === undefined);

  /** `failed` is told of what no answer shows. */
  constructor(settings: Settings, failed: (error: unknown) => void) {
    this.#settings = settings;
    this.#failed = failed;
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

  /** Forgets a person's tokens, here and in the store; also what cannot be read there. */
  async forget(session: SessionSubject): Promise<void> {
    const deployment = await this.#settings.deployments.ofSession(session);
    const options = deployment && this.#optionsOf(session, deployment);
    // Of a deployment that is not configured any more nobody can use them: they wait for their end in the store.
    if (deployment === undefined || options === undefined) return;
    const auth = await this.#resumed(session, deployment);
    if (auth !== undefined) return auth.forget();
    await options.store.delete((await personContext(options)).key);
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

  async #resume(session: SessionSubject, deployment: BackendDeployment): Promise<PersonAuth | undefined> {
    const options = this.#optionsOf(session, deployment);
    if (options === undefined) return undefined;
    try {
      return await resumeAuth(options);
    } catch (error) {
      if (!isStoreError(error) || error.code !== "store_corrupt") throw error;
      // Whoever has tokens that nobody can read has none: the way on is another launch or login.
      this.#failed(error);
      return undefined;
    }
  }

  #optionsOf(
    { variant, person }: SessionSubject,
    { baseUrl, tenantId, launch, login }: BackendDeployment,
  ): ResumeAuthOptions | undefined {
    const credential = variant === "A" ? launch : login;
    return credential && { ...this.#settings.auth, baseUrl, tenantId, credential, person };
  }
}

export function watchedAuth(
  auth: PersonAuth,
  watch: (required: RelaunchRequiredError | LoginRequiredError) => void,
): Auth & { readonly variant: Variant } {
  const { variant, baseUrl, tenantId, inherited } = auth;
  return {
    ...{ variant, baseUrl, tenantId, inherited },
    // Not copied: a refresh token that is refused leaves a person whom nothing but a login helps.
    get needsPerson() {
      return auth.needsPerson;
    },
    getAccessToken: (options) => auth.getAccessToken(options),
    invalidate: (token) => auth.invalidate(token),
    refused(token) {
      const required = auth.refused(token);
      watch(required);
      return required;
    },
  };
}
