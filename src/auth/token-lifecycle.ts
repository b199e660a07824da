/** Where a lifecycle's next token comes from: a machine's credential, or a person's grant. */

import { isBivariantError, isRateLimitedError, isTransportError, type Variant } from "../errors.js";
import { StopController, type StopSignal, whenAborted } from "../http/time-limit.js";
import { requireSignal } from "../options.js";
import type { Target } from "../variants/target.js";
import type { AccessToken, Auth } from "./auth.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import { type EventBody, emitter } from "./events.js";
import { backoffMs } from "./rate-limit-gate.js";

export interface Renewal {
  /** Aborted when nobody waits any more; of no effect on what was sent and must run to its end. */
  readonly signal: StopSignal;
  /** A token is still served meanwhile, and nobody waits. */
  readonly isBackground: boolean;
  /** The value of the token that is served now: the store may hold no newer one. */
  readonly heldValue: string | undefined;
  /** The value of a token that the API refused: the store may still hold it. */
  readonly refusedValue: string | undefined;
  /** Whether a token that another process stored needs no renewal yet. */
  readonly isFresh: (token: AccessToken) => boolean;
  /** Something was sent that must run to its end whoever waits. To be called after the first `await`. */
  readonly keep: () => void;
}

export interface TokenSource {
  /** There is no other token without the person: near expiry nothing is renewed, and a 401 is the answer. */
  readonly needsPerson: boolean;
  renew(renewal: Renewal): Promise<AccessToken>;
}

/** "The last tenth of the token's own lifetime, at most 5 minutes." */
const renewalShare = 0.1;
const longestRenewalWindowMs = 300_000;
/** The window begins up to this share of itself later, at random, so that a fleet does not renew in one instant. */
const renewalJitter = 0.1;
/** In the background one request is sent, which ends at its time limit; beside it a store may take its time. */
const lostAfterTimeouts = 3;

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
  readonly options: ResolvedAuthOptions;
  readonly source: TokenSource;
}

export class TokenLifecycle implements Auth {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  readonly #context: TokenLifecycleContext;
  readonly #now: () => number;
  readonly #tell: (event: EventBody) => void;
  #held: HeldToken | undefined;
  #renewal: SharedTask<AccessToken> | undefined;
  /** Epoch milliseconds. */
  #renewalBeganAt = 0;
  /** Whether the renewal in flight was begun while the held token was still good. */
  #isBackground = false;
  /** Epoch milliseconds before which no renewal is tried in the background, after this many failed in a row. */
  #nextAttemptAt = 0;
  #failures = 0;
  /** The value of a token the API refused: the store may still hold it. */
  #refusedValue: string | undefined;

  constructor(context: TokenLifecycleContext) {
    this.variant = context.variant;
    this.baseUrl = context.target.baseUrl;
    this.tenantId = context.target.tenantId;
    this.#context = context;
    this.#now = context.options.now;
    this.#tell = emitter({ variant: this.variant, ...context.target }, context.options);
  }

  get needsPerson(): boolean {
    return this.#context.source.needsPerson;
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
    return this.#wait(signal);
  }

  /** Whether a renewal is in flight: such an identity must not be forgotten. */
  get isRenewing(): boolean {
    if (this.#renewal === undefined) return false;
    const { shareInFlight, timeoutMs } = this.#context.options;
    // One that such a runtime killed with its request never ends: it must not be the last.
    return shareInFlight || this.#now() < this.#renewalBeganAt + timeoutMs * lostAfterTimeouts;
  }

  invalidate(token: AccessToken): void {
    if (this.#held === undefined || this.#held.token.value !== token?.value) return;
    this.#refusedValue = token.value;
    this.#held = undefined;
  }

  #serveWhileRenewing({ token, promise }: HeldToken): Promise<AccessToken> {
    if (this.isRenewing || this.#now() < this.#nextAttemptAt) return promise;
    const renewal = this.#start(true);
    renewal.keep();
    // Told once it is in flight: a listener that asks for a token itself gets this one, and begins no other.
    this.#tell({ type: "token_served_while_renewing", expiresAt: token.expiresAt });
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

  /** Before anything is begun that a wrong signal would break off midway. */
  async #wait(signal: unknown): Promise<AccessToken> {
    return this.#join(requireSignal(signal));
  }

  #join(signal: AbortSignal | undefined): Promise<AccessToken> {
    if (!this.#context.options.shareInFlight) return this.#alone(signal);
    const renewal = this.#renewal;
    if (renewal === undefined) return this.#start(false).join(signal);
    if (!this.#isBackground) return renewal.join(signal);
    // One that began in the background tries only once: who waits for it deserves the schedule.
    return renewal.join(signal).catch((error: unknown) => {
      if (signal?.aborted || !(isTransportError(error) || isRateLimitedError(error))) throw error;
      return this.getAccessToken({ signal });
    });
  }

  #alone(signal: AbortSignal | undefined): Promise<AccessToken> {
    const renewal: SharedTask<AccessToken> = new SharedTask((abort) =>
      this.#renew(abort, false, () => renewal.keep()),
    );
    return renewal.join(signal);
  }

  #start(isBackground: boolean): SharedTask<AccessToken> {
    const renewal: SharedTask<AccessToken> = new SharedTask(
      (signal) => this.#renew(signal, isBackground, () => renewal.keep()),
      () => {
        if (this.#renewal === renewal) this.#renewal = undefined;
      },
    );
    this.#renewal = renewal;
    this.#renewalBeganAt = this.#now();
    this.#isBackground = isBackground;
    return renewal;
  }

  async #renew(signal: StopSignal, isBackground: boolean, keep: () => void): Promise<AccessToken> {
    const token = await this.#context.source.renew({
      signal,
      isBackground,
      heldValue: this.#held?.token.value,
      refusedValue: this.#refusedValue,
      isFresh: (stored) => this.#now() < this.#windowOf(stored).renewAt,
      keep,
    });
    return this.hold(token);
  }

  #windowOf(token: AccessToken): HeldToken {
    const lifetimeMs = token.expiresAt - (token.issuedAt ?? this.#now());
    // What cannot be renewed is served to its end.
    const share = this.#context.source.needsPerson ? 0 : renewalShare;
    const windowMs = Math.min(lifetimeMs * share, longestRenewalWindowMs);
    return {
      token,
      promise: Promise.resolve(token),
      renewAt: token.expiresAt - windowMs * (1 - renewalJitter * Math.random()),
    };
  }

  /** Takes a token to serve. */
  protected hold(token: AccessToken): AccessToken {
    this.#held = this.#windowOf(token);
    this.#failures = 0;
    this.#nextAttemptAt = 0;
    return token;
  }

  /** Serves no token any more that it held until now. */
  protected drop(): void {
    this.#held = undefined;
  }
}

export class SharedTask<T> {
  /** Never rejects unhandled. */
  readonly result: Promise<T>;
  readonly #controller = new StopController();
  readonly #onEnd: () => void;
  #waiters = 0;
  #kept = false;

  /** `onEnd` is called once it is settled or aborted: whoever comes then needs another. */
  constructor(run: (signal: StopSignal) => Promise<T>, onEnd: () => void = () => {}) {
    this.#onEnd = onEnd;
    this.result = run(this.#controller);
    this.result.then(onEnd, onEnd);
  }

  /** Lets it run to its end whoever waits. */
  keep(): void {
    this.#kept = true;
  }

  /** Waits for the result. The signal ends this caller's wait only, with the signal's reason. */
  join(signal: AbortSignal | undefined): Promise<T> {
    if (signal === undefined) {
      this.#kept = true;
      return this.result;
    }
    this.#waiters++;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        reject(signal.reason);
        this.#leave(signal.reason);
      };
      if (signal.aborted) return onAbort();
      const done = whenAborted(signal, onAbort);
      this.result.then(
        (value) => {
          done();
          resolve(value);
        },
        (error) => {
          done();
          reject(error);
        },
      );
    });
  }

  #leave(reason: unknown): void {
    this.#waiters--;
    if (this.#waiters > 0 || this.#kept) return;
    this.#onEnd();
    this.#controller.abort(reason);
  }
}
