/**
 * A person's tokens. In Variant A there is one token, until it expires (section 4.1 of the
 * description). In Variant B the refresh token renews it without prompting (section 5.9), by these
 * rules:
 *
 * - the rate limit is waited for before the lock is taken;
 * - the store is read again under the lock of the refresh token, since another process may have
 *   renewed;
 * - new tokens are written by compare-and-set, and only then served; a new refresh token replaces
 *   the old one;
 * - a grant of another launch or login under the same name is never used: the later one stays, the
 *   earlier one is over;
 * - before the refresh token is sent, the store records that, and must still hold the record after
 *   its `lossWindowMs`. If the answer was lost, even because the process died, the token is not
 *   sent again. The outcome is then unknown, and nothing is deleted;
 * - the process remembers the refresh tokens that it sent, and the store the last one that was
 *   replaced, so that none is sent again after an older copy of the store was restored;
 * - a refusal ends the login only if the store holds no newer refresh token.
 */
import { countdown, deadlineIn } from "../../clock.js";
import {
  codeOf,
  isStoreError,
  StoreError,
  TokenRequestError,
  UnexpectedResponseError,
} from "../../errors.js";
import { sleep } from "../../http/backoff.js";
import { jsonObject } from "../../http/exchange.js";
import { type AccessToken, createAccessToken, type Emit, type PersonAuth } from "../auth.js";
import {
  clientErrors,
  fingerprintOf,
  type PreparedPersonCredential,
  type SendAttempt,
} from "../credentials/credential.js";
import {
  RefusalBackoff,
  type Renewal,
  TokenLifecycle,
  type TokenSource,
} from "../lifecycle/token-lifecycle.js";
import {
  AnswerLost,
  explainRefusal,
  type IssuedTokens,
  readTokensOnce,
  sendOnce,
} from "../request/token-request.js";
import type { PersonContext } from "./person-context.js";
import {
  type PersonGrant,
  type PersonRequiredError,
  personRequiredError,
  type StoredGrant,
  StoredGrantHandle,
} from "./stored-grant.js";

/** The `Auth` of a person, whose tokens can end for good. */
export class PersonLifecycle extends TokenLifecycle implements PersonAuth {
  readonly person: string;
  readonly #source: PersonTokenSource;

  /** `isSaved`: whether the grant is already in the store. */
  constructor(context: PersonContext, grant: PersonGrant, isSaved: boolean) {
    const source = new PersonTokenSource(context, grant, isSaved);
    super({ ...context, source });
    this.person = context.person;
    this.#source = source;
    this.hold(grant.token);
  }

  /** Says what to ask the person for. It does not end the grant, since only one call failed. */
  refused(): PersonRequiredError {
    const { grant } = this.#source;
    return this.located(grant.over ?? grant.expired("seems over: the API refused its token"));
  }

  /** Writes the tokens to the store if that failed after the exchange. @throws StoreError */
  flush(): Promise<void> {
    const { emit, requestId } = this.begin();
    return this.#source.grant.flush(emit).catch((error: unknown) => {
      throw this.located(error, requestId);
    });
  }

  async forget(): Promise<void> {
    this.drop();
    await this.#source.grant.forget();
  }

  /** Does not hold the token of a renewal that was in flight when the grant ended. */
  protected override hold(token: AccessToken): AccessToken {
    this.#source.grant.requireAlive();
    return super.hold(token);
  }
}

/** If another process has just renewed this many times in a row, the store must be at fault. */
const mostTurns = 10;
/**
 * The time between two checks whether another process has stored the answer: a person hardly
 * notices it.
 */
const checkEveryMs = 200;
/** The time within which an answer is stored after it came: a write takes some milliseconds. */
const storedWithinMs = 1_000;
/**
 * The number of sent refresh tokens that a credential remembers, in about 1 MB. The store remembers
 * them too.
 */
const mostSentTokens = 10_000;

/** A refresh token that is sent, and the version of the note about it. */
interface Sending {
  readonly stored: StoredGrant;
  readonly version: string;
  /** The fingerprint of the refresh token in this grant. */
  readonly mark: string;
  readonly prepared: PreparedPersonCredential;
  readonly round: number;
  readonly emit: Emit;
}

class PersonTokenSource implements TokenSource {
  readonly grant: StoredGrantHandle;
  readonly #context: PersonContext;
  readonly #backoff: RefusalBackoff;
  /**
   * An attempt whose record may be in the store, although it was given up before sending, because
   * the store failed.
   */
  #notSent: string | undefined;

  constructor(context: PersonContext, grant: PersonGrant, isSaved: boolean) {
    this.#context = context;
    this.#backoff = new RefusalBackoff(context.options.clock);
    this.grant = new StoredGrantHandle(context, grant, isSaved);
    this.#remember(grant.replaced, "replaced");
  }

  get clientId(): string {
    return this.#context.prepared.clientId;
  }

  get needsPerson(): boolean {
    return this.grant.held.refreshToken === undefined;
  }

  get #lossWindowMs(): number {
    return this.#context.store.lossWindowMs ?? 0;
  }

  async renew(renewal: Renewal): Promise<AccessToken> {
    const { options, store, state, shared, prepare } = this.#context;
    const { signal, isBackground, emit } = renewal;
    const learn = () => state.adopt(shared, emit);
    const deadline = deadlineIn(isBackground ? 0 : options.retryDeadlineMs, options.clock);
    for (let turn = 0; turn < mostTurns; ) {
      this.grant.requireAlive();
      const { refreshToken } = this.grant.held;
      if (refreshToken === undefined) throw this.grant.expired("has expired");
      const leave = await state.gate.enter({ deadline, signal, learn });
      try {
        // After the wait, since a key may be rotated meanwhile.
        const prepared = await prepare();
        const lock = JSON.stringify(["refresh", await fingerprintOf(refreshToken)]);
        signal?.throwIfAborted();
        const redeem = (lease?: AbortSignal) =>
          this.#underLock(refreshToken, prepared, renewal, lease);
        const timeoutMs = 2 * options.timeoutMs + this.#lossWindowMs;
        const token = await store.lock(lock, redeem, { timeoutMs });
        if (token !== undefined) return token;
        // The deadline bounds the turns that end at the rate limit.
        if (state.gate.isOpen) turn++;
      } finally {
        leave();
      }
    }
    const message = "The grant changed in the store before each renewal. Try again.";
    throw new StoreError("store_conflict", message);
  }

  /**
   * Returns a token, or `undefined` to start again, with another refresh token or after a wait at
   * the gate.
   */
  async #underLock(
    refreshToken: string,
    prepared: PreparedPersonCredential,
    renewal: Renewal,
    lease: AbortSignal | undefined,
  ): Promise<AccessToken | undefined> {
    const { known, isFresh, emit } = renewal;
    const { grant, version } = await this.grant.read(emit);
    const isNotSent = grant.attempt !== undefined && grant.attempt === this.#notSent;
    const given = isNotSent ? { ...grant, sentAt: undefined, attempt: undefined } : grant;
    const stored = { version, grant: given };
    const { token, sentAt, isOutcomeUnknown } = given;
    this.#remember(given.replaced, "replaced");
    if (!known().includes(token.value) && isFresh(token)) return token;
    if (given.refreshToken !== refreshToken) return undefined;
    if (sentAt !== undefined && !(await this.#isUnanswered(stored, sentAt, renewal)))
      return undefined;
    // Another login may bring the same refresh token again.
    const mark = await fingerprintOf(given.id ?? "", refreshToken);
    if (isOutcomeUnknown) this.#remember(mark, "unanswered");
    const outcome = this.#context.sentRefreshTokens.get(mark);
    if (outcome === "replaced") throw outcomeUnknown(replacedBefore);
    const isUnknown = isOutcomeUnknown || sentAt !== undefined || outcome === "unanswered";
    if (isUnknown && !prepared.resendLostRefresh) throw outcomeUnknown(noAnswer);
    const redeemed = this.#redeem(stored, { refreshToken, mark }, prepared, renewal, lease);
    // Its callers may leave before its end.
    this.#context.options.waitUntil(redeemed.catch(() => {}));
    return redeemed;
  }

  #remember(fingerprint: string | undefined, outcome: "unanswered" | "replaced"): void {
    const { sentRefreshTokens } = this.#context;
    if (fingerprint === undefined) return;
    sentRefreshTokens.delete(fingerprint);
    sentRefreshTokens.set(fingerprint, outcome);
    if (sentRefreshTokens.size <= mostSentTokens) return;
    for (const [oldest] of sentRefreshTokens) return void sentRefreshTokens.delete(oldest);
  }

  /**
   * Waits for as long as the process that held the lock before may still store the answer to the
   * refresh token it sent. Returns whether it has not: that process died, or was suspended until
   * its lock was taken over.
   */
  async #isUnanswered(
    { version }: StoredGrant,
    sentAt: number,
    { signal }: Renewal,
  ): Promise<boolean> {
    const { clock, timeoutMs } = this.#context.options;
    const longestMs = this.#lossWindowMs + timeoutMs + storedWithinMs;
    // The instant is in the future if the clock of the other process is ahead.
    const leftMs = countdown(longestMs - Math.max(clock.now() - sentAt, 0), clock);
    while (leftMs() > 0) {
      await sleep(checkEveryMs, signal, clock);
      if ((await this.grant.version()) !== version) return false;
    }
    return true;
  }

  /**
   * Waits until a crash of the store can no longer lose what was just written. Returns whether the
   * store still holds it: after a crash another process may not know that this one is about to send
   * the refresh token. While the store is down it asks again for a while, because only this process
   * knows that the token was not sent yet.
   */
  async #isKept(version: string): Promise<boolean> {
    const { options } = this.#context;
    if (this.#lossWindowMs <= 0) return true;
    await sleep(this.#lossWindowMs, undefined, options.clock);
    const leftMs = deadlineIn(options.timeoutMs / 2, options.clock);
    for (;;) {
      try {
        return (await this.grant.version()) === version;
      } catch (error) {
        if (codeOf(error) !== "store_unavailable" || leftMs() <= 0) throw error;
      }
      await sleep(checkEveryMs, undefined, options.clock);
    }
  }

  /**
   * Notes that the refresh token is sent, and sends it. Returns `undefined` if it is not spent and
   * may be sent later.
   */
  async #redeem(
    stored: StoredGrant,
    { refreshToken, mark }: { readonly refreshToken: string; readonly mark: string },
    prepared: PreparedPersonCredential,
    { signal, keep, emit }: Renewal,
    lease: AbortSignal | undefined,
  ): Promise<AccessToken | undefined> {
    const round = this.#backoff.check(prepared.fingerprint);
    const send = prepared.refreshRequest?.(refreshToken);
    signal?.throwIfAborted();
    if (lease?.aborted) {
      const message = "The lock was lost before the refresh token was sent. Try again.";
      throw new StoreError("store_locked", message, { cause: lease.reason });
    }
    // From here the renewal runs to its end, since a refresh token that was sent may be spent.
    keep();
    const version = await this.#note(stored);
    if (version === undefined) return undefined;
    this.grant.requireAlive();
    const sending = { stored, version, mark, prepared, round, emit };
    const tokens = await this.#send(send, sending).catch((fault) => this.#fail(fault, sending));
    return tokens === undefined ? this.#putBack(sending) : this.#save(tokens, sending);
  }

  /** Removes the note, since the refresh token is not spent. */
  async #putBack({ stored, version, mark, emit }: Sending): Promise<undefined> {
    this.#context.sentRefreshTokens.delete(mark);
    await this.grant.saveOrHold(stored.grant, version, emit);
  }

  async #save(tokens: IssuedTokens, { stored, version, mark, emit }: Sending) {
    const renewed = renewedGrant(stored.grant, mark, tokens);
    if (renewed.replaced === mark) this.#remember(mark, "replaced");
    else this.#context.sentRefreshTokens.delete(mark);
    this.#backoff.accepted();
    return (await this.grant.save(renewed, version, emit)).token;
  }

  /**
   * Notes in the store that the refresh token is about to be sent. Returns the version of the note,
   * or `undefined` if another process wrote first, or a crash of the store has lost it.
   */
  async #note(stored: StoredGrant) {
    const attempt = crypto.randomUUID();
    // The store may still do a write that it reports as failed.
    this.#notSent = attempt;
    const noted = { ...stored.grant, sentAt: this.#context.options.clock.now(), attempt };
    const version = await this.grant.write(noted, stored.version);
    const isNoted = version !== undefined && (await this.#isKept(version));
    if (isNoted) this.#notSent = undefined;
    return isNoted ? version : undefined;
  }

  /**
   * Returns `undefined` if the rate limit forbids to send the refresh token, or has kept it from
   * being processed.
   */
  async #send(send: SendAttempt | undefined, { mark, prepared, emit }: Sending) {
    const endpoint = { ...this.#context, emit };
    // Another request may have met the rate limit while this one wrote to the store.
    if (send === undefined || !endpoint.state.gate.isOpen) return undefined;
    emit({ type: "token_requested", clientId: prepared.clientId, attempt: 1 });
    this.#remember(mark, "unanswered");
    const reply = await sendOnce(endpoint, send);
    // Section 8 documents a 429 without a body. A page is that of a gateway, which may have retried
    // by itself.
    const { status, text } = reply.answer;
    const isLimited = status === 429 && (text === "" || jsonObject(text) !== undefined);
    return isLimited ? undefined : readTokensOnce(endpoint, reply);
  }

  /**
   * Notes what a fault says of the refresh token that was sent.
   * @throws the error for the callers
   */
  async #fail(fault: unknown, sending: Sending): Promise<never> {
    const { stored, version, prepared, round, emit } = sending;
    const cause = fault instanceof AnswerLost ? fault.cause : fault;
    if (isStoreError(cause) || this.grant.over !== undefined) throw cause;
    if (fault instanceof AnswerLost) {
      await this.grant.saveOrHold({ ...stored.grant, isOutcomeUnknown: true }, version, emit);
      throw outcomeUnknown(noAnswer, cause);
    }
    if (!(cause instanceof TokenRequestError || cause instanceof UnexpectedResponseError)) {
      // The token was not refused, and it is certain that it is not spent.
      await this.#putBack(sending);
      throw cause;
    }
    const retryAt = this.#backoff.refused(round, prepared.fingerprint);
    const refused = await explainRefusal(this.#context, prepared, cause, {
      grant: "authorization_code",
      workedBefore: true,
      wasInBounds: true,
      retryAt,
    });
    const isOfClient = !(refused instanceof TokenRequestError) || clientErrors.has(refused.error);
    if (isOfClient) await this.#putBack(sending);
    const error = isOfClient ? refused : await this.#refusal(refused, version);
    this.#backoff.keep(error);
    emit({ type: "closed_after_refusal", code: error.code, retryAt });
    throw error;
  }

  /** A refusal of the refresh token ends the login unless another process has renewed the login. */
  async #refusal(cause: TokenRequestError, version: string) {
    const problem = `The refresh token was refused (status ${cause.status}), so the login is over.`;
    // Section 7.3 shows no error of Variant B, so any other refusal ends the login as invalid_grant
    // does.
    const error = personRequiredError("B", "refused", problem, cause);
    if (await this.grant.end(error, version)) return error;
    const message =
      "Another process renewed this login at the same time without the lock. Try again.";
    return new StoreError("store_conflict", message);
  }
}

/** Keeps the fields that an answer leaves out, also the refresh token (RFC 6749 section 6). */
function renewedGrant(before: PersonGrant, mark: string, renewed: IssuedTokens): PersonGrant {
  const { id, since } = before;
  const { token, refreshToken = before.refreshToken } = renewed;
  const fields = { ...before.token, ...token, value: token.value };
  const replaced = refreshToken === before.refreshToken ? before.replaced : mark;
  return { token: createAccessToken(fields), refreshToken, id, since, replaced };
}

const noAnswer =
  "The refresh token was sent, and no answer shows whether it was accepted: it may be spent";
const replacedBefore =
  "The store holds an older copy of this login, whose refresh token was sent and replaced before";

function outcomeUnknown(problem: string, cause?: unknown): PersonRequiredError {
  const full = `${problem}, and sending it again may look like a theft.`;
  return personRequiredError("B", "outcome_unknown", full, cause);
}
