/**
 * A person's tokens. Variant A has one, until it expires (section 4.1 of the description). In Variant B the refresh
 * token renews it without prompting (section 5.9), by these rules:
 *
 * - the rate limit is waited for before the lock is taken;
 * - under the lock of the refresh token the store is read again: another process may have renewed;
 * - what comes is persisted by compare-and-set, and only then handed out; a new refresh token takes the old one's place;
 * - a grant of another launch or login under the same name is never taken: the later one stays, and the other is over;
 * - nothing that was sent is sent again: an answer that was lost leaves the state "outcome unknown", and wipes nothing;
 * - a refusal ends the login only if the store holds no newer refresh token.
 */
import {
  isBivariantError,
  isStoreError,
  LoginRequiredError,
  RelaunchRequiredError,
  StoreError,
  TokenRequestError,
  type TransportError,
  UnexpectedResponseError,
} from "../errors.js";
import { wasNotSent } from "../variants/transport-error.js";
import { type AccessToken, createAccessToken } from "./access-token.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import { ClosingSchedule } from "./closing-schedule.js";
import { type EventBody, teller } from "./events.js";
import { fingerprintOf } from "./fingerprint.js";
import type { PreparedPersonCredential } from "./person-credential.js";
import {
  findGrant,
  isSameGrant,
  type PersonGrant,
  readGrant,
  type StoredGrant,
  writeGrant,
} from "./stored-grant.js";
import { attemptToken, type TokenAttemptContext } from "./token-attempt.js";
import { parseRefreshToken, parseTokenAnswer } from "./token-response.js";
import type { Renewal, TokenSource } from "./token-source.js";
import type { TokenStore } from "./token-store.js";

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

export class PersonTokenSource implements TokenSource {
  readonly #context: PersonTokenSourceContext;
  readonly #closing: ClosingSchedule;
  readonly #tell: (event: EventBody) => void;
  #grant: PersonGrant;
  /** A grant that was had but could not be persisted yet, and the version it goes over; without one, what is older. */
  #unsaved: { readonly grant: PersonGrant; readonly over?: string } | undefined;
  /** Why there will be no other token. */
  #over: LoginRequiredError | RelaunchRequiredError | undefined;

  /** `isSaved` false: the grant is not in the store yet. */
  constructor(context: PersonTokenSourceContext, grant: PersonGrant, isSaved: boolean) {
    this.#context = context;
    this.#closing = new ClosingSchedule(context.options.now);
    this.#tell = teller({ variant: context.variant, ...context.target }, context.options);
    this.#grant = grant;
    this.#unsaved = isSaved ? undefined : { grant };
  }

  get needsPerson(): boolean {
    return this.#grant.refreshToken === undefined;
  }

  /** What to ask the person for when the API takes the token no longer. Nothing ends by it: the call alone failed. */
  refused(): LoginRequiredError | RelaunchRequiredError {
    return this.#over ?? this.#expired("seems to be over: the service takes its token no longer");
  }

  /** @throws RelaunchRequiredError, LoginRequiredError once there will be no other token */
  requireAlive(): void {
    if (this.#over !== undefined) throw this.#over;
  }

  /** Ends it here and in the store. */
  async forget(): Promise<void> {
    this.#over = this.#expired("was ended (forget)");
    this.#unsaved = undefined;
    const { options, key } = this.#context;
    const found = await findGrant(options.store, key);
    // A later login under the same name goes on; what is torn is nobody's.
    if (found?.grant === undefined || isSameGrant(found.grant, this.#grant)) await options.store.delete(key);
  }

  async renew(renewal: Renewal): Promise<AccessToken> {
    const { options, state } = this.#context;
    // `keep` may be called only after an await.
    const prepared = await this.#context.prepare();
    const deadlineAt = options.now() + (renewal.isBackground ? 0 : options.rateLimitDeadlineMs);
    for (let turn = 0; turn < mostTurns; turn++) {
      this.requireAlive();
      const { refreshToken } = this.#grant;
      if (refreshToken === undefined || prepared.sendRefresh === undefined)
        throw this.#expired("has expired");
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
    if (this.#unsaved !== undefined) {
      const { grant, over = await this.#versionBefore(grant) } = this.#unsaved;
      const saved = await this.#save(grant, over);
      if (this.#isNew(saved.token, renewal)) return saved.token;
    }
    const stored = this.#taken(await readGrant(this.#context.options.store, this.#context.key));
    if (this.#isNew(stored.grant.token, renewal)) return stored.grant.token;
    if (stored.grant.refreshToken !== refreshToken) return undefined;
    if (stored.grant.isOutcomeUnknown && !prepared.resendLostRefresh) throw outcomeUnknown();
    return this.#redeem(stored, refreshToken, prepared, renewal);
  }

  #isNew(token: AccessToken, { heldValue, refusedValue, isFresh }: Renewal): boolean {
    return token.value !== heldValue && token.value !== refusedValue && isFresh(token);
  }

  async #redeem(
    stored: StoredGrant,
    refreshToken: string,
    prepared: PreparedPersonCredential,
    renewal: Renewal,
  ): Promise<AccessToken | undefined> {
    const { sendRefresh } = prepared;
    if (sendRefresh === undefined) return undefined;
    const round = this.#closing.check(prepared.fingerprint);
    renewal.signal.throwIfAborted();
    // From here on it runs to its end: what is sent may be spent.
    renewal.keep();
    this.#tell({ type: "token_requested", clientId: prepared.clientId, attempt: 1 });
    try {
      const context = { ...this.#context, tell: this.#tell };
      const outcome = await attemptToken((attempt) => sendRefresh(refreshToken, attempt), context, {});
      if ("fault" in outcome) throw outcome.fault;
      if (outcome.answer.status === 429) return undefined;
      const fields = parseTokenAnswer(outcome.answer, "B", outcome.sent.secrets);
      // None in the answer: the old one stays (RFC 6749 section 6).
      const next = parseRefreshToken(outcome.answer) ?? refreshToken;
      this.#closing.accepted();
      const { tenant, operator, roles } = this.#grant.token;
      const known = {
        tenant: fields.tenant ?? tenant,
        operator: fields.operator ?? operator,
        roles: fields.roles ?? roles,
      };
      const { id, since } = this.#grant;
      const token = createAccessToken({ ...fields, ...known });
      const grant = { token, refreshToken: next, id, since };
      const saved = await this.#save(grant, stored.version);
      this.#tell({ type: "token_renewed", clientId: prepared.clientId, expiresAt: saved.token.expiresAt });
      return saved.token;
    } catch (error) {
      if (isStoreError(error) || this.#over !== undefined) throw error;
      throw await this.#failed(error, stored, prepared, round);
    }
  }

  /** Takes what rests in the store, if it comes from the same launch or login. */
  #taken(stored: StoredGrant | undefined): StoredGrant {
    if (stored === undefined) throw this.#end(this.#expired("was ended elsewhere"));
    if (!isSameGrant(stored.grant, this.#grant)) throw this.#end(this.#replaced());
    this.#grant = stored.grant;
    return stored;
  }

  /** What a grant that never came into the store goes over: an older login's, never a later one's. */
  async #versionBefore(grant: PersonGrant): Promise<string | null> {
    const { options, key } = this.#context;
    const { grant: found, version = null } = (await findGrant(options.store, key)) ?? {};
    const isLater = (found?.since ?? 0) > (grant.since ?? 0);
    if (found !== undefined && isLater && !isSameGrant(found, grant)) throw this.#end(this.#replaced());
    return version;
  }

  /** Persists a grant, then takes it. What another wrote meanwhile wins: with rotation only the newest lives. */
  async #save(grant: PersonGrant, over: string | null): Promise<PersonGrant> {
    const { options, key } = this.#context;
    // Over nothing: whoever comes back to it looks again at what rests there.
    this.#unsaved = over === null ? { grant } : { grant, over };
    try {
      await writeGrant(options.store, key, grant, over);
      this.#grant = grant;
    } catch (error) {
      if (!isStoreError(error) || error.code !== "store_conflict") throw error;
      this.#tell({ type: "store_failed", code: error.code });
      const stored = await readGrant(options.store, key);
      this.#unsaved = undefined;
      this.#taken(stored);
    }
    this.#unsaved = undefined;
    return this.#grant;
  }

  async #failed(
    error: unknown,
    stored: StoredGrant,
    prepared: PreparedPersonCredential,
    round: number,
  ): Promise<unknown> {
    if (isLost(error)) {
      const marked = { ...stored.grant, isOutcomeUnknown: true };
      await this.#mark(marked, stored.version);
      return outcomeUnknown(error);
    }
    if (!(error instanceof TokenRequestError) && !(error instanceof UnexpectedResponseError)) return error;
    const retryAt = this.#closing.refused(round, prepared.fingerprint);
    const told = await this.#refusal(error, stored);
    this.#closing.keep(told);
    const code = isBivariantError(told) ? told.code : "unknown";
    this.#tell({ type: "closed_after_refusal", code, retryAt });
    return told;
  }

  /** Whether the refusal ends the login. A loser's `invalid_grant` does not, nor one of the client. */
  async #refusal(error: TokenRequestError | UnexpectedResponseError, stored: StoredGrant): Promise<unknown> {
    if (error instanceof UnexpectedResponseError || clientErrors.includes(error.error ?? "")) return error;
    const { options, key } = this.#context;
    const now = await readGrant(options.store, key);
    if (now !== undefined && now.version !== stored.version)
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
    if (error.error !== "invalid_grant") return required;
    await options.store.delete(key);
    return this.#end(required);
  }

  async #mark(grant: PersonGrant, version: string): Promise<void> {
    try {
      await writeGrant(this.#context.options.store, this.#context.key, grant, version);
    } catch (error) {
      this.#tell({ type: "store_failed", code: isStoreError(error) ? error.code : "store_unavailable" });
    }
    this.#grant = grant;
  }

  #end<E extends LoginRequiredError | RelaunchRequiredError>(error: E): E {
    this.#over = error;
    this.#grant = { ...this.#grant, refreshToken: undefined };
    return error;
  }

  #replaced(): LoginRequiredError | RelaunchRequiredError {
    return this.#expired("was replaced by another under the same name");
  }

  #expired(why: string): LoginRequiredError | RelaunchRequiredError {
    return this.#context.variant === "A"
      ? new RelaunchRequiredError(
          "launch_expired",
          `The launch ${why}. Ask the person to open the plugin again.`,
        )
      : new LoginRequiredError("login_expired", `The login ${why}. Ask the person to log in again.`);
  }
}

/** Sent, and no answer that tells what came of it: the refresh token may be spent. */
function isLost(error: unknown): error is TransportError | UnexpectedResponseError {
  if (!isBivariantError(error)) return false;
  if (error instanceof UnexpectedResponseError) return error.status === 200;
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
