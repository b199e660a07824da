/** `createAuth`, and the tokens of a machine credential, from the store if it has one, otherwise from the endpoint. */
import {
  codeOf,
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import { backoffMs, deadlineIn, parseRetryAfterMs, sleep } from "../http/backoff.js";
import { requireObject } from "../options.js";
import { parseTarget, type TargetOptions } from "../variants/target.js";
import {
  type AccessToken,
  type Auth,
  type AuthOptions,
  createAccessToken,
  type Emit,
  resolveAuthOptions,
  storeFailed,
} from "./auth.js";
import {
  type CredentialDriver,
  driverOf,
  type MachineCredential,
  type PreparedCredential,
} from "./credentials/credential.js";
import { createTokenEndpointState } from "./token-endpoint.js";
import { RefusalBackoff, type Renewal, TokenLifecycle, type TokenSource } from "./token-lifecycle.js";
import {
  explainRefusal,
  mayBeOutOfBounds,
  readTokens,
  sendTokenRequest,
  type TokenEndpoint,
  type TokenReply,
} from "./token-request.js";

export interface MachineTokensContext extends Omit<TokenEndpoint, "emit"> {
  readonly driver: CredentialDriver;
  /** If the other variant would explain an error, returns an error that says so in its place. */
  readonly explain?: ((error: unknown, renewal: Renewal) => Promise<unknown>) | undefined;
}

/** How often a 5xx or a network fault is retried: a caller should learn of it sooner than of a rate limit. */
const mostFaultRetries = 2;

/** The tokens of one credential for one tenant of a deployment. */
export function machineTokens(context: MachineTokensContext): TokenLifecycle {
  return new TokenLifecycle({ ...context, source: new MachineTokenSource(context) });
}

class MachineTokenSource implements TokenSource {
  readonly needsPerson = false;
  readonly #context: MachineTokensContext;
  readonly #backoff: RefusalBackoff;
  /** The fingerprint of the credential that was accepted last. */
  #acceptedFingerprint: string | undefined;

  constructor(context: MachineTokensContext) {
    this.#context = context;
    this.#backoff = new RefusalBackoff(context.options.now);
  }

  async renew(renewal: Renewal): Promise<AccessToken> {
    const { signal, heldValue, refusedValue, isFresh, emit } = renewal;
    const { variant, target, options, explain } = this.#context;
    const prepared = await this.#prepare();
    const { clientId } = prepared;
    const { baseUrl, tenantId } = target;
    const key = JSON.stringify(["token", variant, baseUrl, tenantId, clientId, "client_credentials"]);
    const stored = await this.#readStored(key, emit);
    if (stored !== undefined && stored.value !== refusedValue && stored.value !== heldValue)
      if (isFresh(stored)) return stored;
    const round = this.#backoff.check(prepared.fingerprint);
    const credential = { prepared };
    try {
      const token = await this.#request(credential, round, renewal);
      this.#backoff.accepted();
      this.#acceptedFingerprint = credential.prepared.fingerprint;
      // This is not awaited, since a slow store must not delay the callers.
      options.waitUntil(this.#writeStored(key, token, emit));
      return token;
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (!(cause instanceof TokenRequestError || cause instanceof UnexpectedResponseError)) throw cause;
      const retryAt = this.#backoff.refused(round, credential.prepared.fingerprint);
      const error = (await explain?.(cause, renewal)) ?? cause;
      if (signal.aborted) throw error;
      this.#backoff.keep(error);
      emit({ type: "closed_after_refusal", code: codeOf(error), retryAt });
      throw error;
    }
  }

  /**
   * Sends token requests until one is answered. After a 429 it waits at the gate; a 5xx or a network fault is retried
   * on the same schedule. Each attempt reads the credential again, since a key may be rotated meanwhile.
   */
  async #request(
    credential: { prepared: PreparedCredential },
    round: number,
    { signal, isBackground, emit }: Renewal,
  ): Promise<AccessToken> {
    const endpoint = { ...this.#context, emit };
    const { state, options } = endpoint;
    // A background renewal makes one attempt, so that nothing keeps running after the program has ended.
    const deadline = deadlineIn(isBackground ? 0 : options.rateLimitDeadlineMs, options);
    const mostRetries = isBackground ? 0 : mostFaultRetries;
    let faults = 0;
    let otherClock: "server" | "own" | undefined;
    let wasInBounds = false;
    for (let attempt = 1; ; attempt++) {
      const leave = await state.gate.enter({ deadline, signal });
      let reply: TokenReply | TransportError;
      try {
        if (attempt > 1) credential.prepared = await this.#prepare();
        reply = await this.#attempt(endpoint, credential.prepared, attempt, signal, otherClock === "own");
      } finally {
        leave();
      }
      const answer = reply instanceof TransportError ? undefined : reply.answer;
      if (answer === undefined || answer.status >= 500) {
        const askedMs = answer && parseRetryAfterMs(answer.headers, answer.receivedAt);
        const waitMs = askedMs ?? backoffMs(faults);
        faults++;
        if (faults <= mostRetries && waitMs <= deadline()) {
          await sleep(waitMs, signal, options.clock);
          continue;
        }
      }
      if (reply instanceof TransportError) throw reply;
      if (reply.answer.status === 429) continue;
      try {
        return readTokens(endpoint, reply).token;
      } catch (error) {
        if (!(error instanceof TokenRequestError)) throw error;
        wasInBounds ||= !mayBeOutOfBounds(this.#context, reply);
        const next = otherClock === undefined ? this.#otherClock(reply, error) : undefined;
        if (next !== undefined) {
          otherClock = next;
          continue;
        }
        const { prepared } = credential;
        throw await explainRefusal(this.#context, prepared, error, {
          grant: "client_credentials",
          workedBefore: this.#acceptedFingerprint === prepared.fingerprint,
          wasInBounds,
          retryAt: this.#backoff.refused(round, prepared.fingerprint),
        });
      }
    }
  }

  /** Sends one request. Returns a fault after which the same request may succeed, and throws all other faults. */
  async #attempt(
    endpoint: TokenEndpoint,
    prepared: PreparedCredential,
    attempt: number,
    signal: AbortSignal,
    isByOwnClock: boolean,
  ): Promise<TokenReply | TransportError> {
    // The caller may have left while the settings were read.
    signal.throwIfAborted();
    endpoint.emit({ type: "token_requested", clientId: prepared.clientId, attempt });
    try {
      return await sendTokenRequest(endpoint, (sending) => prepared.send(sending), {
        signal,
        isByOwnClock,
      });
    } catch (fault) {
      if (fault instanceof TransportError && fault.retryable) return fault;
      throw fault;
    }
  }

  /**
   * Returns the clock with which to retry a refused assertion once. This is the server's if the assertion may have been
   * out of its bounds, and our own if the server's was applied and has not been accepted so far.
   */
  #otherClock(reply: TokenReply, refusal: TokenRequestError): "server" | "own" | undefined {
    if (refusal.error !== "invalid_client" || reply.sent.issuedAtSeconds === undefined) return undefined;
    const { clock } = this.#context.state;
    if (clock.isTooFarOff) return undefined;
    if (mayBeOutOfBounds(this.#context, reply)) return "server";
    return clock.appliedMs !== 0 && !clock.isProven ? "own" : undefined;
  }

  #prepare(): Promise<PreparedCredential> {
    const { driver, target, options } = this.#context;
    return driver.prepare(target, options);
  }

  /** Returns `undefined` if the token is absent or unreadable, and if the store fails or does not answer. */
  async #readStored(key: string, emit: Emit): Promise<AccessToken | undefined> {
    try {
      const entry = await this.#context.options.store?.get(key);
      if (entry === undefined) return undefined;
      const { value, expiresAt, issuedAt, ...rest } = JSON.parse(entry.value);
      const isToken = value !== "" && typeof value === "string" && typeof expiresAt === "number";
      if (!isToken || typeof issuedAt !== "number") throw new TypeError("The stored value is not a token.");
      return createAccessToken({ ...rest, value, expiresAt, issuedAt });
    } catch (error) {
      emit(storeFailed(error));
      return undefined;
    }
  }

  async #writeStored(key: string, token: AccessToken, emit: Emit): Promise<void> {
    const { value, expiresAt } = token;
    try {
      await this.#context.options.store?.set(key, JSON.stringify({ ...token, value }), { expiresAt });
    } catch (error) {
      emit(storeFailed(error));
    }
  }
}

export interface CreateAuthOptions<V extends Variant = Variant> extends AuthOptions, TargetOptions {
  readonly credential: MachineCredential<V>;
}

/**
 * Creates an `Auth` for one credential. Nothing is read or sent before the first `getAccessToken`.
 *
 * @throws ConfigurationError `base_url_invalid`, `base_url_insecure`, `tenant_id_invalid`, `credential_invalid`, `option_invalid`
 * @example
 * const auth = createAuth({ baseUrl, tenantId: "acme", credential: servicePlugin({ clientId, privateKey }) });
 * const { value } = await auth.getAccessToken();
 */
export function createAuth<V extends Variant>(options: CreateAuthOptions<V>): Auth & { readonly variant: V } {
  requireObject("options", options);
  const driver = driverOf(options.credential);
  const { variant } = options.credential;
  const resolved = resolveAuthOptions(options);
  const target = parseTarget(options, variant);
  const state = createTokenEndpointState(variant, resolved);
  const auth: Auth = machineTokens({ variant, target, driver, state, options: resolved });
  return auth as Auth & { readonly variant: V };
}
