/** What every way to a person's Auth begins with: options checked, credential read, the place in the store known. */
import {
  ConfigurationError,
  isBivariantError,
  isStoreError,
  LoginRequiredError,
  type RelaunchRequiredError,
  StoreError,
  TokenRequestError,
  type TransportError,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import { wasNotSent } from "../http/time-limit.js";
import type { Target } from "../variants/target.js";
import { type AccessToken, createAccessToken, type PersonAuth, type PersonAuthOptions } from "./auth.js";
import { type ResolvedAuthOptions, resolveAuthOptions } from "./auth-options.js";
import { createTokenEndpointState, parseTarget } from "./create-auth.js";
import {
  fingerprintOf,
  type PersonEndpointState,
  type PreparedPersonCredential,
  personDriverOf,
} from "./credentials/credential.js";
import { type EventBody, emitter } from "./events.js";
import { sleep } from "./rate-limit-gate.js";
import { RefusalBackoff } from "./refusal-backoff.js";
import {
  grantKey,
  type PersonGrant,
  type PersonRequiredError,
  type StoredGrant,
  StoredGrantHandle,
} from "./stored-grant.js";
import { type Renewal, TokenLifecycle, type TokenSource } from "./token-lifecycle.js";
import { type Answered, attemptToken, type TokenAttemptContext } from "./token-request.js";
import { parseRefreshToken, parseTokenAnswer } from "./token-response.js";
import type { TokenStore } from "./token-store.js";

export interface PersonContext extends PersonTokenSourceContext {
  readonly person: string;
  readonly prepared: PreparedPersonCredential;
  readonly state: PersonEndpointState;
}

/**
 * @throws ConfigurationError for a wrong option, credential or key
 */
export async function personContext<V extends Variant>(
  options: PersonAuthOptions<V> & { readonly store: TokenStore },
  variant?: V,
): Promise<PersonContext> {
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("option_invalid", "The options are missing.", { option: "options" });
  const driver = personDriverOf(options.credential, variant);
  const spoken = options.credential.variant;
  const target: Target = parseTarget(options, spoken);
  const resolved = { ...resolveAuthOptions(options), store: options.store };
  const person = options.person ?? crypto.randomUUID();
  if (typeof person !== "string" || person === "")
    throw new ConfigurationError("option_invalid", "person is no text.", { option: "person" });
  const prepare = () => driver.prepare(target, resolved);
  const prepared = await prepare();
  return {
    variant: spoken,
    target,
    options: resolved,
    state: driver.state(target, () => createTokenEndpointState(spoken, resolved)),
    prepare,
    prepared,
    person,
    key: grantKey(spoken, target, prepared.clientId, person),
  };
}

export interface PersonTokenSourceContext extends Omit<TokenAttemptContext, "tell"> {
  readonly options: ResolvedAuthOptions & { readonly store: TokenStore };
  readonly prepare: () => Promise<PreparedPersonCredential>;
  /** Under which the grant rests in the store. */
  readonly key: string;
}

/** Errors that say that the client, not the person's grant, is refused (RFC 6749 section 5.2). */
const clientErrors = [
  "invalid_client",
  "unauthorized_client",
  "invalid_request",
  "unsupported_grant_type",
  "invalid_scope",
];

/** How often another process may be found to have renewed just now before that is taken for a fault. */
const mostTurns = 10;
/** How often it is looked whether another process has stored the answer that it waits for. */
const lookEveryMs = 200;
/** An answer that was in time is stored within this. */
const storedWithinMs = 1_000;

export class PersonTokenSource implements TokenSource {
  readonly #context: PersonTokenSourceContext;
  readonly #closing: RefusalBackoff;
  readonly #tell: (event: EventBody) => void;
  readonly #resting: StoredGrantHandle;

  /** `isSaved` false: the grant is not in the store yet. */
  constructor(context: PersonTokenSourceContext, grant: PersonGrant, isSaved: boolean) {
    const { variant, target, options, key } = context;
    this.#context = context;
    this.#closing = new RefusalBackoff(options.now);
    this.#tell = emitter({ variant, ...target }, options);
    this.#resting = new StoredGrantHandle(
      { variant, store: options.store, key, tell: this.#tell },
      grant,
      isSaved,
    );
  }

  get needsPerson(): boolean {
    return this.#resting.held.refreshToken === undefined;
  }

  /** What to ask the person for when the API takes the token no longer. Nothing ends by it: the call alone failed. */
  refused(): PersonRequiredError {
    return (
      this.#resting.over ?? this.#resting.expired("seems to be over: the service takes its token no longer")
    );
  }

  /** @throws RelaunchRequiredError, LoginRequiredError once there will be no other token */
  requireAlive(): void {
    this.#resting.requireAlive();
  }

  /** Ends it here and in the store. */
  async forget(): Promise<void> {
    await this.#resting.forget();
  }

  async renew(renewal: Renewal): Promise<AccessToken> {
    const { options, state } = this.#context;
    // `keep` may be called only after an await.
    const prepared = await this.#context.prepare();
    const deadlineAt = options.now() + (renewal.isBackground ? 0 : options.rateLimitDeadlineMs);
    for (let turn = 0; turn < mostTurns; turn++) {
      this.#resting.requireAlive();
      const { refreshToken } = this.#resting.held;
      if (refreshToken === undefined || prepared.refreshRequest === undefined)
        throw this.#resting.expired("has expired");
      const leave = await state.gate.enter({ deadlineAt, signal: renewal.signal });
      try {
        const lock = JSON.stringify(["refresh", await fingerprintOf(refreshToken)]);
        renewal.signal.throwIfAborted();
        const token = await options.store.lock(lock, () => this.#underLock(refreshToken, prepared, renewal), {
          timeoutMs: 2 * options.timeoutMs,
        });
        if (token !== undefined) return token;
      } finally {
        leave();
      }
    }
    throw new StoreError(
      "store_conflict",
      "The grant changed in the store each time it was about to be renewed. Try again.",
    );
  }

  /** A token, or `undefined` when it has to be begun anew: with another refresh token, or behind the gate. */
  async #underLock(
    refreshToken: string,
    prepared: PreparedPersonCredential,
    renewal: Renewal,
  ): Promise<AccessToken | undefined> {
    const stored = await this.#resting.read();
    const { grant } = stored;
    if (this.#isNew(grant.token, renewal)) return grant.token;
    if (grant.refreshToken !== refreshToken) return undefined;
    if (grant.sentAt !== undefined && !(await this.#isUnanswered(stored, grant.sentAt, renewal)))
      return undefined;
    const isUnknown = grant.isOutcomeUnknown || grant.sentAt !== undefined;
    if (isUnknown && !prepared.resendLostRefresh) throw outcomeUnknown();
    return this.#redeem(stored, refreshToken, prepared, renewal);
  }

  #isNew(token: AccessToken, { heldValue, refusedValue, isFresh }: Renewal): boolean {
    return token.value !== heldValue && token.value !== refusedValue && isFresh(token);
  }

  /**
   * Who held the lock sent the refresh token and has not said what came of it: gone, or suspended for so long that the
   * lock was taken over. Waits for as long as its answer may still be stored.
   */
  async #isUnanswered(stored: StoredGrant, sentAt: number, { signal }: Renewal): Promise<boolean> {
    const { now, timeoutMs } = this.#context.options;
    const endsAt = sentAt + timeoutMs + storedWithinMs;
    const mostLooks = (timeoutMs + storedWithinMs) / lookEveryMs;
    for (let looks = 0; now() < endsAt && looks < mostLooks; looks++) {
      await sleep(lookEveryMs, signal);
      if ((await this.#resting.version()) !== stored.version) return false;
    }
    return true;
  }

  async #redeem(
    stored: StoredGrant,
    refreshToken: string,
    prepared: PreparedPersonCredential,
    renewal: Renewal,
  ): Promise<AccessToken | undefined> {
    const round = this.#closing.check(prepared.fingerprint);
    const send = prepared.refreshRequest?.(refreshToken);
    renewal.signal.throwIfAborted();
    // From here on it runs to its end: what is sent may be spent.
    renewal.keep();
    const { options } = this.#context;
    const sent = await this.#resting.replace(stored, { ...stored.grant, sentAt: options.now() });
    if (sent === undefined || send === undefined) return undefined;
    this.#tell({ type: "token_requested", clientId: prepared.clientId, attempt: 1 });
    try {
      const outcome = await attemptToken(send, { ...this.#context, tell: this.#tell }, {});
      if ("fault" in outcome) throw outcome.fault;
      if (outcome.answer.status === 429) {
        await this.#resting.note(stored.grant, sent.version);
        return undefined;
      }
      const renewed = renewedGrant(stored.grant, refreshToken, outcome);
      this.#closing.accepted();
      const { token } = await this.#resting.save(renewed, sent.version);
      this.#tell({ type: "token_renewed", clientId: prepared.clientId, expiresAt: token.expiresAt });
      return token;
    } catch (error) {
      if (isStoreError(error) || this.#resting.over !== undefined) throw error;
      throw await this.#failed(error, stored.grant, sent, prepared, round);
    }
  }

  async #failed(
    error: unknown,
    before: PersonGrant,
    sent: StoredGrant,
    prepared: PreparedPersonCredential,
    round: number,
  ): Promise<unknown> {
    if (isLost(error)) {
      await this.#resting.note({ ...before, isOutcomeUnknown: true }, sent.version);
      return outcomeUnknown(error);
    }
    if (!(error instanceof TokenRequestError) && !(error instanceof UnexpectedResponseError)) {
      await this.#resting.note(before, sent.version);
      return error;
    }
    const retryAt = this.#closing.refused(round, prepared.fingerprint);
    const told = await this.#refusal(error, before, sent);
    this.#closing.keep(told);
    const code = isBivariantError(told) ? told.code : "unknown";
    this.#tell({ type: "closed_after_refusal", code, retryAt });
    return told;
  }

  /** Whether the refusal ends the login. A loser's `invalid_grant` does not, nor one of the client. */
  async #refusal(
    error: TokenRequestError | UnexpectedResponseError,
    before: PersonGrant,
    sent: StoredGrant,
  ): Promise<unknown> {
    if (error instanceof UnexpectedResponseError || clientErrors.includes(error.error ?? "")) {
      await this.#resting.note(before, sent.version);
      return error;
    }
    const version = await this.#resting.version();
    if (version !== undefined && version !== sent.version)
      return new StoreError(
        "store_conflict",
        "Another process renewed this login at the same time without the lock. Try again.",
      );
    const required = new LoginRequiredError(
      "login_refused",
      "The refresh token was refused: the login is over. Ask the person to log in again.",
      { cause: error },
    );
    // Errors of Variant B are not shown: only the standard's own word for it wipes the grant.
    if (error.error === "invalid_grant") return this.#resting.end(required);
    await this.#resting.note(before, sent.version);
    return required;
  }
}

function renewedGrant(
  { token: { tenant, operator, roles }, id, since }: PersonGrant,
  refreshToken: string,
  { answer, sent }: Answered,
): PersonGrant {
  const fields = parseTokenAnswer(answer, "B", sent.secrets);
  const known = {
    tenant: fields.tenant ?? tenant,
    operator: fields.operator ?? operator,
    roles: fields.roles ?? roles,
  };
  return {
    token: createAccessToken({ ...fields, ...known }),
    // None in the answer: the old one stays (RFC 6749 section 6).
    refreshToken: parseRefreshToken(answer) ?? refreshToken,
    ...{ id, since },
  };
}

/** Sent, and no answer that tells what came of it: the refresh token may be spent. */
function isLost(error: unknown): error is TransportError | UnexpectedResponseError {
  if (!isBivariantError(error)) return false;
  // A gateway's 502 or 504 tells of an answer that it lost itself; a 503 says that nothing was done.
  if (error instanceof UnexpectedResponseError)
    return error.status === 200 || (error.status >= 500 && error.status !== 503);
  return (
    error.code === "timed_out" || (error.code === "network_failed" && !wasNotSent(error as TransportError))
  );
}

function outcomeUnknown(cause?: unknown): LoginRequiredError {
  return new LoginRequiredError(
    "login_outcome_unknown",
    "The refresh token was sent and its answer was lost: it may be spent, and sending it again may look like a theft. Ask the person to log in again.",
    { cause },
  );
}

export class PersonLifecycle extends TokenLifecycle implements PersonAuth {
  declare readonly variant: Variant;
  readonly person: string;
  readonly #source: PersonTokenSource;

  /** `isSaved`: whether the grant rests in the store already. */
  constructor(context: PersonTokenSourceContext, person: string, grant: PersonGrant, isSaved: boolean) {
    const source = new PersonTokenSource(context, grant, isSaved);
    super({ variant: context.variant, target: context.target, options: context.options, source });
    this.person = person;
    this.#source = source;
    this.hold(grant.token);
  }

  refused(): RelaunchRequiredError | LoginRequiredError {
    return this.#source.refused();
  }

  /** A renewal that was on its way out when the end came brings no token back. */
  protected override hold(token: AccessToken): AccessToken {
    this.#source.requireAlive();
    return super.hold(token);
  }

  async forget(): Promise<void> {
    this.drop();
    await this.#source.forget();
  }
}
