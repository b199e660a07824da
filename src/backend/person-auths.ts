/**
 * Keeps the Auths of people in memory, so that all requests of one person share one renewal, and
 * identifies people.
 */
import { z } from "zod";
import {
  type AccessToken,
  type CallSupport,
  callSupport,
  type Operator,
  type PersonAuth,
} from "../auth/auth.js";
import { personContext } from "../auth/person/person-context.js";
import type { PersonLifecycle } from "../auth/person/person-refresh.js";
import { RecentlyUsed } from "../auth/shared/recently-used.js";
import { personRequired } from "../client/call-error.js";
import {
  ConfigurationError,
  codeOf,
  isBivariantError,
  LoginRequiredError,
  locate,
  type Variant,
} from "../errors.js";
import { withTimeLimit } from "../http/exchange.js";
import { unknownMembers } from "../option-names.js";
import { invalidOption } from "../options.js";
import { type ResumeAuthOptions, resumeAuth } from "../people.js";
import type { Settings } from "./backend-options.js";
import { answerOf } from "./deployments.js";
import { Refusal, SessionError } from "./error-answer.js";

/** The person who has a session, and the deployment that issued the person's tokens. */
export interface SessionSubject {
  /** The name under which the person's tokens are in the store. */
  readonly person: string;
  readonly variant: Variant;
  readonly tenantId: string;
  readonly baseUrl: string;
  readonly hostOrigin?: string | undefined;
  /** When the token of a launch expires, in epoch milliseconds. */
  readonly launchEndsAt?: number;
  readonly operator?: Operator | undefined;
  readonly roles?: AccessToken["roles"];
  /**
   * The `generation` of the person's record when the login was completed, or when the session of
   * the launch was opened. Absent or null if there was no record.
   */
  readonly generation?: string | null | undefined;
}

export function isSubject({
  person,
  variant,
  tenantId,
  baseUrl,
}: Partial<SessionSubject>): boolean {
  return [person, variant, tenantId, baseUrl].every((field) => typeof field === "string");
}

/** Asks the option `identify`, whose answer is not checked yet. */
type Identify = (auth: PersonAuth) => unknown;

const name = z.string("must be a string").max(256, "must have at most 256 characters").nullish();
const userIdProblem = "must be a string of 1 to 256 characters (String(id) makes one of a number)";
const personSchema = z.strictObject(
  {
    userId: z.string(userIdProblem).min(1, userIdProblem).max(256, userIdProblem),
    firstname: name,
    lastname: name,
  },
  { error: (issue) => unknownMembers(issue) ?? "must be an object" },
);

interface Held {
  auth?: PersonAuth | undefined;
  resuming?: Promise<PersonAuth | undefined> | undefined;
}

export class PersonAuths {
  readonly #settings: Settings;
  readonly #held: RecentlyUsed<Held> = new RecentlyUsed(
    10_000,
    ({ resuming }) => resuming === undefined,
  );
  /** The Auth that made each error saying that the service no longer accepts a token. */
  readonly #refused = new WeakMap<object, PersonAuth>();

  readonly #identify: Identify | undefined;

  constructor(settings: Settings, identify?: Identify) {
    this.#settings = settings;
    this.#identify = identify;
  }

  /**
   * Keeps a new Auth, and calls `use` with the data for its session; `hostOrigin` is that of a
   * launch. If anything fails, forgets the tokens.
   */
  async add<T>(
    auth: PersonAuth,
    hostOrigin: string | undefined,
    use: (subject: SessionSubject) => Promise<T>,
  ): Promise<T> {
    const { person, variant, tenantId, baseUrl } = auth;
    this.#held.get(person, () => ({})).auth = this.#watched(auth);
    try {
      // Another process that has the session must find its tokens. No renewal is under way yet.
      await (auth as unknown as PersonLifecycle).flush();
      const token = await auth.getAccessToken();
      const { roles, expiresAt } = token;
      const operator = variant === "A" ? token.operator : await this.#identified(auth, token);
      return await use({
        person,
        variant,
        tenantId,
        baseUrl,
        operator,
        roles,
        ...(variant === "A" && { hostOrigin, launchEndsAt: expiresAt }),
      });
    } catch (error) {
      await auth.forget().catch(this.#settings.report);
      throw error;
    }
  }

  /**
   * Asks who logged in. Nothing that others wait for is held meanwhile.
   * @throws Refusal `identify_failed`
   */
  async #identified(auth: PersonAuth, token: AccessToken): Promise<Operator | undefined> {
    const identify = this.#identify;
    if (identify === undefined) return token.operator;
    try {
      const answer = await answerOf("identify", () => identify(auth), this.#settings);
      const parsed = personSchema.safeParse(answer);
      if (!parsed.success) {
        const problems = parsed.error.issues.map(({ path, message }) =>
          [...path, message].join(" "),
        );
        throw invalidOption("identify", `must return a person: ${problems.join("; ")}`);
      }
      const { userId, firstname, lastname } = parsed.data;
      return {
        userId,
        ...(firstname != null && { firstname }),
        ...(lastname != null && { lastname }),
      };
    } catch (error) {
      const message = "The function identify failed. Its error is the cause.";
      const own = { option: "identify", cause: error, known: [token.value] };
      const failure = isBivariantError(error)
        ? error
        : new ConfigurationError("option_invalid", message, own);
      const { variant, baseUrl, tenantId } = auth;
      throw new Refusal("identify_failed", {
        cause: locate(failure, { variant, baseUrl, tenantId }),
      });
    }
  }

  /**
   * Returns the Auth of a session.
   * @throws SessionError `session_unknown`, LoginRequiredError, StoreError
   */
  async of(subject: SessionSubject): Promise<PersonAuth> {
    const options = await this.#optionsFor(subject);
    const message = "The deployment of this session is not configured here.";
    if (options === undefined) throw new SessionError("session_unknown", message);
    const auth = await this.#resumed(options).catch((error: unknown) => {
      const isGone = codeOf(error) === "credential_missing";
      throw isGone ? new SessionError("session_unknown", message) : error;
    });
    if (auth !== undefined) return auth;
    if (subject.variant === "A")
      throw new SessionError("session_unknown", "This plugin has no launch for this session.");
    throw new LoginRequiredError("login_expired", "The login is over. Log in again.");
  }

  /** Forgets the tokens of a person if `error` says that the service no longer accepts them. */
  endRefused(error: unknown): void {
    const required = personRequired(error);
    const auth = required && this.#refused.get(required);
    if (auth === undefined) return;
    this.#settings.waitUntil(auth.forget().catch((fault) => this.#settings.report(fault)));
  }

  /**
   * Throws if only the person can replace the token. Without this, the page would start over for
   * ever.
   */
  async requireUsable(subject: SessionSubject): Promise<void> {
    const auth = await this.of(subject);
    try {
      const { variant, baseUrl: waitsFor } = auth;
      const limit = { ...this.#settings, variant, waitsFor };
      await withTimeLimit((signal) => auth.getAccessToken({ signal }), limit);
    } catch (error) {
      // Any other failure may be temporary.
      if (personRequired(error) !== undefined) throw error;
    }
  }

  /**
   * Forgets a person's tokens, in memory and in the store, even if the stored tokens cannot be
   * read.
   */
  async forget(subject: SessionSubject): Promise<void> {
    const options = await this.#optionsFor(subject);
    // The tokens of a deployment that is no longer configured cannot be used here. They expire in
    // the store.
    if (options === undefined) return;
    const auth = await this.#resumed(options);
    if (auth !== undefined) return auth.forget();
    await this.#settings.store.delete((await personContext(options)).key);
  }

  /** Returns `undefined` if the deployment has moved or is no longer configured. */
  async #optionsFor(subject: SessionSubject): Promise<ResumeAuthOptions | undefined> {
    const { variant, person, tenantId, baseUrl, hostOrigin } = subject;
    const purpose = variant === "A" ? "launch" : "login";
    const query = {
      purpose,
      tenantId,
      baseUrl,
      ...(hostOrigin !== undefined && { hostOrigin }),
    } as const;
    const credential = (await this.#settings.findDeployment(query))?.[purpose];
    return credential && { ...this.#settings.auth, baseUrl, tenantId, credential, person };
  }

  async #resumed(options: ResumeAuthOptions): Promise<PersonAuth | undefined> {
    const held = this.#held.get(options.person, () => ({}));
    if (held.auth !== undefined) return held.auth;
    if (options.shareInFlight !== false)
      // A failure is not kept, because the store may answer next time.
      held.resuming ??= this.#resume(options).finally(() => {
        held.resuming = undefined;
      });
    held.auth = await (held.resuming ?? this.#resume(options));
    return held.auth;
  }

  async #resume(options: ResumeAuthOptions): Promise<PersonAuth | undefined> {
    try {
      const auth = await resumeAuth(options);
      return auth && this.#watched(auth);
    } catch (error) {
      if (codeOf(error) !== "store_corrupt") throw error;
      // Tokens that cannot be read count as missing: the person launches or logs in again.
      this.#settings.report(error);
      return undefined;
    }
  }

  /** Makes `endRefused` recognise the errors that this Auth makes. */
  #watched(auth: PersonAuth): PersonAuth {
    const support = auth[callSupport] as { refused: NonNullable<CallSupport["refused"]> };
    const refused = support.refused.bind(support);
    support.refused = (token) => {
      const required = refused(token);
      this.#refused.set(required, auth);
      return required;
    };
    return auth;
  }
}
