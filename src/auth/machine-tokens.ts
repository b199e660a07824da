/**
 * `createAuth`, and the tokens of a machine credential, from the store if it has one, otherwise
 * from the endpoint.
 */
import {
  type AuthOptions,
  ownAuthNames,
  resolveAuthOptions,
  type TargetOptions,
} from "../client-options.js";
import { deadlineIn } from "../clock.js";
import {
  codeOf,
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import { parseRetryAfterMs, retryWaitMs, sleep } from "../http/backoff.js";
import { requireOptions } from "../options.js";
import { parseTarget } from "../variants/target.js";
import { type AccessToken, type Auth, createAccessToken, type Emit } from "./auth.js";
import {
  type CredentialDriver,
  driverOf,
  fingerprintOf,
  type MachineCredential,
  type PreparedCredential,
} from "./credentials/credential.js";
import {
  isForNow,
  RefusalBackoff,
  type Renewal,
  type SharedRefusal,
  TokenLifecycle,
  type TokenSource,
} from "./lifecycle/token-lifecycle.js";
import { TokenEndpointState } from "./request/rate-limit-gate.js";
import {
  explainRefusal,
  mayBeOutOfBounds,
  readTokens,
  sendTokenRequest,
  type TokenEndpoint,
  type TokenReply,
} from "./request/token-request.js";
import { type SharedKey, SharedState } from "./shared/shared-state.js";

export interface MachineTokensContext extends Omit<TokenEndpoint, "emit"> {
  readonly driver: CredentialDriver;
  /** Whether the variant was found by a detection. */
  readonly isDetected?: boolean;
  /** If the other variant would explain an error, returns an error that says so in its place. */
  explain?(error: unknown, renewal: Renewal, context: MachineTokensContext): Promise<unknown>;
}

/**
 * How often a 5xx or a network fault is retried: a caller should learn of it sooner than of a rate
 * limit.
 */
const mostFaultRetries = 2;

/** The tokens of one credential for one tenant of a deployment. */
export function machineTokens(context: MachineTokensContext): TokenLifecycle {
  return new TokenLifecycle({ ...context, source: new MachineTokenSource(context) });
}

/** What the attempts of one renewal share. */
interface Run {
  prepared: PreparedCredential;
  readonly deadline: () => number;
  attempts: number;
  /** The gate was closed before an attempt. */
  hasWaited: boolean;
  faults: number;
  /** The clock of the retry after a refused assertion. There is one such retry. */
  otherClock: "server" | "own" | undefined;
  wasInBounds: boolean;
}

/** The result of an attempt: a token, or the time to wait before the next attempt. */
type Step = { readonly token: AccessToken } | { readonly waitMs: number };

/**
 * The entry of a refusal outlives its pause by this, so that the next refusal is the next step of
 * the backoff.
 */
const refusalRememberedMs = 60_000;

class MachineTokenSource implements TokenSource {
  readonly needsPerson = false;
  clientId: string | undefined;
  readonly #context: MachineTokensContext;
  readonly #backoff: RefusalBackoff;
  /** The fingerprint of the credential that was accepted last. */
  #acceptedFingerprint: string | undefined;

  constructor(context: MachineTokensContext) {
    this.#context = context;
    this.#backoff = new RefusalBackoff(context.options.clock);
  }

  async renew(renewal: Renewal): Promise<AccessToken> {
    const { emit } = renewal;
    const { options } = this.#context;
    const prepared = await this.#prepare();
    const stored = await this.#readToken(prepared, emit);
    const isLive = () => isNewer(stored, renewal) && options.clock.now() < stored.expiresAt;
    if (isNewer(stored, renewal)) {
      if (renewal.isFresh(stored)) return stored;
      renewal.offer(stored);
    }
    this.#backoff.check(prepared.fingerprint);
    // A live stored token can be served at once if the endpoint limits or fails.
    const isBackground = renewal.isBackground || isLive();
    // A background renewal makes one attempt, so that nothing keeps running after the program has
    // ended.
    const deadline = deadlineIn(isBackground ? 0 : options.retryDeadlineMs, options.clock);
    const run = {
      prepared,
      deadline,
      attempts: 0,
      hasWaited: false,
      faults: 0,
      otherClock: undefined,
      wasInBounds: false,
    };
    try {
      return await this.#request(run, { ...renewal, isBackground });
    } catch (error) {
      // The stored token expired during the attempt, so the caller gets the retries.
      if (isForNow(error) && isBackground !== renewal.isBackground && !isLive())
        return this.renew(renewal);
      throw error;
    }
  }

  /**
   * Makes attempts until one is answered. After a 429 it waits at the gate; a 5xx or a network
   * fault is retried on the same schedule. Attempts are made under the lock of the identity, and
   * the waits are outside of it.
   */
  async #request(run: Run, renewal: Renewal): Promise<AccessToken> {
    const { state, options, shared } = this.#context;
    const { signal, emit } = renewal;
    const key = this.#key("token", run.prepared);
    for (;;) {
      run.hasWaited ||= !state.gate.isOpen;
      const leave = await state.gate.enter({ deadline: run.deadline, signal });
      let step: Step;
      try {
        step = await shared.exclusively(key, () => this.#underLock(run, renewal, leave), emit);
      } finally {
        leave();
      }
      if ("token" in step) return step.token;
      if (step.waitMs > 0) await sleep(step.waitMs, signal, options.clock);
    }
  }

  /**
   * Reads what other processes have stored meanwhile, and makes an attempt only if that neither
   * replaces nor forbids it.
   */
  async #underLock(run: Run, renewal: Renewal, leaveGate: () => void): Promise<Step> {
    const { state, shared, explain } = this.#context;
    const { signal, emit } = renewal;
    // The caller may have left while this waited for the lock.
    signal?.throwIfAborted();
    // After a wait the credential is read again, since a key may be rotated meanwhile.
    if (run.hasWaited || run.attempts > 0) run.prepared = await this.#prepare();
    const { prepared } = run;
    const refusalKey = [...this.#key("refusal", prepared)];
    let isRefusalShared = false;
    if (shared.isShared) {
      // 16 bits of the fingerprint: too few to guess a secret by, and enough to notice nearly every
      // change of it. With them, processes whose keys differ have refusals of their own.
      refusalKey.push((await fingerprintOf(prepared.fingerprint)).slice(0, 4));
      const [stored, refusal] = await Promise.all([
        this.#readToken(prepared, emit),
        shared.read(refusalKey, parseRefusal, emit),
        state.adopt(shared, emit, true),
      ]);
      if (isNewer(stored, renewal) && renewal.isFresh(stored)) return { token: stored };
      if (!state.gate.isOpen) return { waitMs: 0 };
      isRefusalShared = refusal !== undefined;
      if (refusal !== undefined) this.#backoff.adopt(refusal, prepared.fingerprint);
    }
    const round = this.#backoff.check(prepared.fingerprint);
    try {
      const step = await this.#attempt(run, round, renewal);
      if (!("token" in step)) return step;
      this.#backoff.accepted();
      this.#acceptedFingerprint = run.prepared.fingerprint;
      const { token } = step;
      const key = this.#key("token", prepared);
      await shared.write(key, { ...token, value: token.value }, token.expiresAt, emit);
      if (isRefusalShared) await shared.delete(refusalKey, emit);
      return step;
    } catch (cause) {
      if (signal?.aborted) throw cause;
      if (!(cause instanceof TokenRequestError || cause instanceof UnexpectedResponseError))
        throw cause;
      // A background renewal made one attempt, and a caller that joined it makes the retries.
      if (renewal.isBackground && isForNow(cause)) throw cause;
      const retryAt = this.#backoff.refused(round, prepared.fingerprint);
      // Stored before it is explained, because all callers may leave meanwhile.
      this.#backoff.keep(cause);
      // A detection, which may explain it, enters the gate too. It would wait there for this
      // request.
      leaveGate();
      const error = (await explain?.(cause, renewal, this.#context)) ?? cause;
      if (signal?.aborted) throw error;
      this.#backoff.keep(error);
      emit({ type: "closed_after_refusal", code: codeOf(error), retryAt });
      if (this.#isOfKey(error))
        await shared.write(
          refusalKey,
          { ...this.#backoff.record, error },
          retryAt + refusalRememberedMs,
          emit,
        );
      throw error;
    }
  }

  /**
   * Makes one attempt.
   * @throws TransportError, TokenRequestError, UnexpectedResponseError if no other attempt follows
   */
  async #attempt(run: Run, round: number, renewal: Renewal): Promise<Step> {
    const { signal, isBackground, emit } = renewal;
    const { options } = this.#context;
    const endpoint = { ...this.#context, emit };
    const { prepared } = run;
    // The caller may have left while the settings were read.
    signal?.throwIfAborted();
    run.attempts++;
    emit({ type: "token_requested", clientId: prepared.clientId, attempt: run.attempts });
    const reply = await sendTokenRequest(endpoint, prepared.send, {
      signal,
      isByOwnClock: run.otherClock === "own",
      resend: run.attempts - 1,
    }).catch((fault: unknown) => {
      if (fault instanceof TransportError && fault.retryable) return fault;
      throw fault;
    });
    const answer = reply instanceof TransportError ? undefined : reply.answer;
    if (answer === undefined || answer.status >= 500) {
      const askedMs = answer && parseRetryAfterMs(answer.headers, answer.receivedAt);
      const waitMs = retryWaitMs(askedMs, run.faults++, options.clock);
      if (!isBackground && run.faults <= mostFaultRetries && waitMs <= run.deadline())
        return { waitMs };
    }
    if (reply instanceof TransportError) throw reply;
    if (reply.answer.status === 429) return { waitMs: 0 };
    try {
      return { token: readTokens(endpoint, reply).token };
    } catch (error) {
      if (!(error instanceof TokenRequestError)) throw error;
      run.wasInBounds ||= !mayBeOutOfBounds(this.#context, reply);
      const next = run.otherClock === undefined ? this.#otherClock(reply, error) : undefined;
      if (next !== undefined) {
        run.otherClock = next;
        return { waitMs: 0 };
      }
      throw await explainRefusal(this.#context, prepared, error, {
        grant: "client_credentials",
        workedBefore: this.#acceptedFingerprint === prepared.fingerprint,
        wasInBounds: run.wasInBounds,
        retryAt: this.#backoff.refused(round, prepared.fingerprint),
      });
    }
  }

  /**
   * Returns the clock with which to retry a refused assertion once. This is the server's if the
   * assertion may have been out of its bounds, and our own if the server's was applied and has not
   * been accepted so far.
   */
  #otherClock(reply: TokenReply, refusal: TokenRequestError): "server" | "own" | undefined {
    if (refusal.error !== "invalid_client" || reply.assertion === undefined) return undefined;
    const { serverClock } = this.#context.state;
    if (serverClock.isTooFarOff) return undefined;
    if (mayBeOutOfBounds(this.#context, reply)) return "server";
    return serverClock.appliedMs !== 0 && !serverClock.isProven ? "own" : undefined;
  }

  async #prepare(): Promise<PreparedCredential> {
    const { driver, target, options } = this.#context;
    const prepared = await driver.prepare(target, options);
    this.clientId = prepared.clientId;
    return prepared;
  }

  /**
   * Whether a refusal would be the same for all processes with this key or secret. The answer of a
   * gateway may be meant for this machine alone, and an assertion may have been refused for this
   * machine's clock.
   */
  #isOfKey(error: unknown): boolean {
    const { serverClock } = this.#context.state;
    const isClockKnown = serverClock.offsetMs !== undefined && !serverClock.isTooFarOff;
    const isAnswered = error instanceof TokenRequestError && error.error !== undefined;
    return isAnswered && (this.#context.variant === "B" || isClockKnown);
  }

  #readToken(prepared: PreparedCredential, emit: Emit) {
    const { shared, options } = this.#context;
    return shared.read(
      this.#key("token", prepared),
      (json) => parseToken(json, options.clock.now()),
      emit,
    );
  }

  #key(kind: "token" | "refusal", { clientId }: PreparedCredential): SharedKey {
    const { variant, target } = this.#context;
    return [kind, variant, target.baseUrl, target.tenantId, clientId, "client_credentials"];
  }
}

/** Whether a stored token is another one than this process holds or the API refused. */
function isNewer(stored: AccessToken | undefined, renewal: Renewal): stored is AccessToken {
  return stored !== undefined && !renewal.known().includes(stored.value);
}

/** @throws TypeError if it is not a token */
function parseToken(json: unknown, now: number): AccessToken {
  const { value, expiresAt, issuedAt, ...rest } = Object(json);
  const isToken = value !== "" && typeof value === "string" && typeof expiresAt === "number";
  if (!isToken || typeof issuedAt !== "number")
    throw new TypeError("The stored value is not a token.");
  // A token of the future is from a process whose clock is ahead. Its lifetime must not grow by
  // that, and its age is unknown: it may have been stored long before this process reads it.
  const aheadMs = Math.max(issuedAt - now, 0);
  const known = aheadMs > 0 ? undefined : issuedAt;
  return createAccessToken({ ...rest, value, expiresAt: expiresAt - aheadMs, issuedAt: known });
}

/** @throws TypeError if it is not a refusal */
function parseRefusal(json: unknown): SharedRefusal {
  const { refusals, closedUntil, error } = Object(json);
  if (!Number.isSafeInteger(refusals) || !Number.isSafeInteger(closedUntil))
    throw new TypeError("The stored value is not a refusal.");
  const { name: _name, code: _code, message, ...context } = Object(error);
  return { refusals, closedUntil, error: new TokenRequestError(String(message), context) };
}

/** The options of {@link createAuth}. */
export interface CreateAuthOptions<V extends Variant = Variant> extends AuthOptions, TargetOptions {
  readonly credential: MachineCredential<V>;
}

/**
 * Creates an `Auth` for one credential. Nothing is read or sent before the first `getAccessToken`.
 *
 * @throws ConfigurationError `base_url_invalid`, `base_url_insecure`, `tenant_id_invalid`,
 * `credential_invalid`, `option_invalid`
 * @see the description, sections 4.1, 4.2, 5.4 and 5.10
 * @example
 * const auth = createAuth({
 *   baseUrl,
 *   tenantId: "acme",
 *   credential: servicePlugin({ clientId, privateKey }),
 * });
 * const { value } = await auth.getAccessToken();
 */
export function createAuth<V extends Variant>(
  options: CreateAuthOptions<V>,
): Auth & { readonly variant: V } {
  const driver = driverOf(requireOptions("createAuth", options, ownAuthNames).credential);
  const { variant } = options.credential;
  const resolved = resolveAuthOptions(options);
  const target = parseTarget(options, resolved, variant);
  const state = new TokenEndpointState(variant, target, resolved);
  const shared = new SharedState(resolved);
  const auth: Auth = machineTokens({ variant, target, driver, state, shared, options: resolved });
  return auth as Auth & { readonly variant: V };
}
