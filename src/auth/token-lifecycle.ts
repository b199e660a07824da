/**
 * The life of one identity's token (variant, base, tenant, client, grant), whatever the credential:
 *
 * - fresh: served from memory, without I/O;
 * - in the last tenth of its own lifetime, at most 5 minutes, with jitter: served, and renewed in the background;
 * - expired: callers wait, all for the same renewal; whoever aborts ends only his own wait;
 * - refused: closed for 1 s, doubling to 60 s; callers get the stored error, no request is sent.
 *
 * No timers: renewal is driven by use. All state is in the instance.
 */
import { isBivariantError, isRateLimitedError, isTransportError, type Variant } from "../errors.js";
import type { Target } from "../variants/variant.js";
import { type AccessToken, createAccessToken } from "./access-token.js";
import type { Auth } from "./auth.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import { backoffMs } from "./backoff.js";
import { ClosingSchedule } from "./closing-schedule.js";
import type { CredentialDriver } from "./credential.js";
import { type EventBody, teller } from "./events.js";
import { SharedRenewal } from "./shared-renewal.js";
import { readStoredToken, writeStoredToken } from "./stored-token.js";
import { requestToken, type TokenEndpointState } from "./token-request.js";

/** "The last tenth of the token's own lifetime, at most 5 minutes." */
const renewalShare = 0.1;
const longestRenewalWindowMs = 300_000;
/** The window begins up to this share of itself later, at random, so that a fleet does not renew in one instant. */
const renewalJitter = 0.1;

interface HeldToken {
  readonly token: AccessToken;
  /** Resolved already: handing it out costs no I/O and no other async layer. */
  readonly promise: Promise<AccessToken>;
  /** Epoch milliseconds. */
  readonly renewAt: number;
}

export interface TokenLifecycleContext {
  readonly variant: Variant;
  readonly target: Target;
  readonly driver: CredentialDriver;
  readonly state: TokenEndpointState;
  readonly options: ResolvedAuthOptions;
  /** Turns an error that the other variant would explain into one that says so. */
  readonly explain?: ((error: unknown, signal: AbortSignal) => Promise<unknown>) | undefined;
}

export class TokenLifecycle implements Auth {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  readonly #context: TokenLifecycleContext;
  readonly #now: () => number;
  readonly #closing: ClosingSchedule;
  readonly #tell: (event: EventBody) => void;
  #held: HeldToken | undefined;
  #renewal: SharedRenewal<AccessToken> | undefined;
  /** Whether the renewal in flight was begun while the held token was still good. */
  #isBackground = false;
  /** Epoch milliseconds before which no renewal is tried in the background, after this many failed in a row. */
  #nextAttemptAt = 0;
  #failures = 0;
  #acceptedFingerprint: string | undefined;
  /** The value of a token the API refused: the store may still hold it. */
  #refusedValue: string | undefined;

  constructor(context: TokenLifecycleContext) {
    this.variant = context.variant;
    this.baseUrl = context.target.baseUrl;
    this.tenantId = context.target.tenantId;
    this.#context = context;
    this.#now = context.options.now;
    this.#closing = new ClosingSchedule(this.#now);
    this.#tell = teller({ variant: this.variant, ...context.target }, context.options);
  }

  get inherited(): Auth["inherited"] {
    const { fetch, now, timeoutMs, onEvent } = this.#context.options;
    return { fetch, now, timeoutMs, onEvent };
  }

  getAccessToken(options?: { signal?: AbortSignal | undefined }): Promise<AccessToken> {
    const signal = options?.signal;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const held = this.#held;
    if (held !== undefined) {
      const now = this.#now();
      if (now < held.renewAt) return held.promise;
      if (now < held.token.expiresAt) return this.#serveWhileRenewing(held);
    }
    return this.#join(signal);
  }

  /** Whether a renewal is in flight: such an identity must not be forgotten. */
  get isRenewing(): boolean {
    return this.#renewal !== undefined;
  }

  invalidate(token: AccessToken): void {
    if (this.#held?.token.value !== token.value) return;
    this.#refusedValue = token.value;
    this.#held = undefined;
  }

  #serveWhileRenewing({ token, promise }: HeldToken): Promise<AccessToken> {
    if (this.#renewal !== undefined || this.#now() < this.#nextAttemptAt) return promise;
    this.#tell({ type: "token_served_while_renewing", expiresAt: token.expiresAt });
    const renewal = this.#start(true);
    renewal.keep();
    const settled = renewal.result.then(
      () => {},
      (error: unknown) => {
        this.#nextAttemptAt = this.#now() + backoffMs(this.#failures++);
        const code = isBivariantError(error) ? error.code : "unknown";
        this.#tell({ type: "renewal_failed", code, expiresAt: token.expiresAt });
      },
    );
    this.#context.options.waitUntil?.(settled);
    return promise;
  }

  #join(signal: AbortSignal | undefined): Promise<AccessToken> {
    if (!this.#context.options.shareInFlight)
      return new SharedRenewal((abort) => this.#renew(abort, false)).join(signal);
    const renewal = this.#renewal;
    if (renewal === undefined) return this.#start(false).join(signal);
    if (!this.#isBackground) return renewal.join(signal);
    // One that began in the background tries only once: who waits for it deserves the schedule.
    return renewal.join(signal).catch((error: unknown) => {
      if (signal?.aborted || !(isTransportError(error) || isRateLimitedError(error))) throw error;
      return this.getAccessToken({ signal });
    });
  }

  #start(isBackground: boolean): SharedRenewal<AccessToken> {
    const renewal = new SharedRenewal(
      (signal) => this.#renew(signal, isBackground),
      () => {
        if (this.#renewal === renewal) this.#renewal = undefined;
      },
    );
    this.#renewal = renewal;
    this.#isBackground = isBackground;
    return renewal;
  }

  async #renew(signal: AbortSignal, isBackground: boolean): Promise<AccessToken> {
    const { variant, target, driver, state, options, explain } = this.#context;
    const storeFailed = (code: string) => this.#tell({ type: "store_failed", code });
    const { shareInFlight } = options;
    const prepare = () => driver.prepare(target, { shareInFlight });
    const prepared = await prepare();
    const key = JSON.stringify([
      "token",
      variant,
      target.baseUrl,
      target.tenantId,
      prepared.clientId,
      "client_credentials",
    ]);
    const limit = { variant, baseUrl: target.baseUrl, timeoutMs: options.timeoutMs };
    const stored = await readStoredToken(options.store, key, limit, storeFailed);
    if (
      stored !== undefined &&
      stored.value !== this.#refusedValue &&
      stored.value !== this.#held?.token.value
    ) {
      const held = this.#windowOf(stored);
      if (this.#now() < held.renewAt) return this.#hold(held);
    }
    const round = this.#closing.check(prepared.fingerprint);
    let isRefused = false;
    const refused = (fingerprint: string) => {
      isRefused = true;
      return this.#closing.refused(round, fingerprint);
    };
    try {
      const acceptedFingerprint = this.#acceptedFingerprint;
      const request = {
        variant,
        target,
        state,
        options,
        prepare,
        tell: this.#tell,
        acceptedFingerprint,
        refused,
        isBackground,
      };
      const granted = await requestToken(prepared, request, signal);
      const token = createAccessToken(granted.fields);
      this.#closing.accepted();
      this.#acceptedFingerprint = granted.prepared.fingerprint;
      this.#hold(this.#windowOf(token));
      // Not awaited: a slow store must not make callers wait for a token that is there.
      const written = writeStoredToken(options.store, key, token, storeFailed);
      options.waitUntil?.(written);
      this.#tell({ type: "token_renewed", clientId: prepared.clientId, expiresAt: token.expiresAt });
      return token;
    } catch (cause) {
      if (signal.aborted) throw cause;
      const error = explain === undefined ? cause : await explain(cause, signal);
      if (signal.aborted) throw error;
      if (isRefused) {
        this.#closing.keep(error);
        const code = isBivariantError(error) ? error.code : "unknown";
        this.#tell({ type: "closed_after_refusal", code, retryAt: this.#closing.closedUntil });
      }
      throw error;
    }
  }

  #windowOf(token: AccessToken): HeldToken {
    const lifetimeMs = token.expiresAt - (token.issuedAt ?? this.#now());
    const windowMs = Math.min(lifetimeMs * renewalShare, longestRenewalWindowMs);
    return {
      token,
      promise: Promise.resolve(token),
      renewAt: token.expiresAt - windowMs * (1 - renewalJitter * Math.random()),
    };
  }

  #hold(held: HeldToken): AccessToken {
    this.#held = held;
    this.#failures = 0;
    this.#nextAttemptAt = 0;
    return held.token;
  }
}
