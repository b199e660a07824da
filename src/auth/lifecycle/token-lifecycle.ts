/**
 * The life of one identity's token (variant, base URL, tenant, client, grant), for every
 * credential:
 *
 * - fresh: served from memory, without I/O;
 * - in the last tenth of its lifetime, at most 5 minutes, with jitter: served, and renewed in the
 *   background;
 * - expired: all callers wait for the same renewal, and an abort ends only that caller's wait;
 * - refused: the source sends no request for 1 s, doubling to 60 s, and callers get the stored
 *   error.
 *
 * No timer renews a token: that happens when it is used. All state is in the instance.
 */
import type { ResolvedAuthOptions } from "../../client-options.js";
import { countdown, deadlineIn, type ResolvedClock, zero } from "../../clock.js";
import {
  failureOf,
  isRateLimitedError,
  isTransportError,
  isUnexpectedResponseError,
  locate,
  type Variant,
} from "../../errors.js";
import { backoffMs } from "../../http/backoff.js";
import type { NamesOf } from "../../option-names.js";
import { requireOptions, requireSignal } from "../../options.js";
import {
  type AccessToken,
  type Auth,
  beginEvents,
  type CallSupport,
  callSupport,
  type Emit,
  type InheritedOptions,
  type RequestEvents,
  type TokenOptions,
} from "../auth.js";
import type { TokenEndpoint } from "../request/token-request.js";
import { SharedTask } from "./shared-task.js";

/** One renewal of a token. Its events carry the `requestId` of the caller that started it. */
export interface Renewal extends RequestEvents {
  /**
   * Aborted when no caller waits any more. Absent if that cannot be. A request that must run to its
   * end ignores it.
   */
  readonly signal: AbortSignal | undefined;
  /** Whether the held token is still served meanwhile, so that no caller waits. */
  readonly isBackground: boolean;
  /**
   * The value of the token that was held at the start, and those of tokens that the API has refused
   * by now, which the store may still hold. A stored token with one of these values is not newer.
   */
  readonly known: () => readonly (string | undefined)[];
  /** Whether a token that another process stored needs no renewal yet. */
  readonly isFresh: (token: AccessToken) => boolean;
  /** Takes a token of the store that is served if the renewal fails while it lives. */
  readonly offer: (token: AccessToken) => void;
  /** Lets the renewal run to its end, even when no caller waits any more. */
  readonly keep: () => void;
}

/** Where the next token comes from: a machine credential, or a person's grant. */
export interface TokenSource {
  /**
   * Whether only the person can get another token. If so, nothing is renewed early, and a 401 is
   * final.
   */
  readonly needsPerson: boolean;
  /** Known once the credential was read. */
  readonly clientId: string | undefined;
  renew(renewal: Renewal): Promise<AccessToken>;
}

/**
 * The last tenth of a token's life is left to renew it: long enough for some failures, and it costs
 * few requests more.
 */
const renewalShare = 0.1;
/**
 * So that a token that lives for days is not renewed hours too soon. Five minutes outlast a restart
 * of the service.
 */
const longestRenewalWindowMs = 300_000;
/**
 * The window begins later by up to this share of itself, so that the processes of a fleet do not
 * all renew at once.
 */
const renewalJitter = 0.1;
/**
 * A renewal counts as lost after three times the limit of a request: one for its request, two for a
 * slow store. One that callers started may also wait for a rate limit.
 */
const lostAfterTimeouts = 3;

/**
 * A store that fails keeps a refused token, whose successors are only in memory and may be refused
 * too. So many refused ones are remembered.
 */
const mostRefused = 4;
const noneRefused: readonly string[] = [];

interface ServedToken {
  readonly token: AccessToken;
  /** The promise is already resolved, so serving it costs no I/O and no other async layer. */
  readonly promise: Promise<AccessToken>;
  /** Epoch milliseconds. */
  readonly renewAt: number;
}

/** It is dropped at its end, so that an idle tenant costs only the memory of its token. */
interface RenewalInFlight {
  readonly task: SharedTask<AccessToken>;
  /** The time after which it counts as lost. */
  readonly lostInMs: () => number;
  /** Whether the held token was still valid when it began. */
  readonly isBackground: boolean;
}

/** Whether the same request may succeed later: after a rate limit, a 5xx or no answer. */
export function isForNow(error: unknown): boolean {
  if (isUnexpectedResponseError(error)) return error.status >= 500;
  return isTransportError(error) || isRateLimitedError(error);
}

const tokenNames: NamesOf<TokenOptions> = { signal: true, requestId: true };

export class TokenLifecycle implements Auth {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  readonly #options: ResolvedAuthOptions;
  readonly #source: TokenSource;
  readonly #clock: ResolvedClock;
  #held: ServedToken | undefined;
  #renewal: RenewalInFlight | undefined;
  /** The time before the next background renewal is tried, and the failures in a row. */
  #pausedMs: () => number = zero;
  #failures = 0;
  #refused = noneRefused;

  constructor(
    context: Pick<TokenEndpoint, "variant" | "target" | "options"> & { source: TokenSource },
  ) {
    const { target, options, source } = context;
    this.variant = context.variant;
    this.baseUrl = target.baseUrl;
    this.tenantId = target.tenantId;
    this.#options = options;
    this.#source = source;
    this.#clock = options.clock;
  }

  getAccessToken(options?: TokenOptions): Promise<AccessToken> {
    let signal: AbortSignal | undefined;
    try {
      if (options !== undefined)
        signal = requireSignal(requireOptions("getAccessToken", options, tokenNames).signal);
    } catch (error) {
      return Promise.reject(error);
    }
    const requestId = options?.requestId;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const held = this.#held;
    if (held !== undefined) {
      const now = this.#clock.now();
      if (now < held.renewAt) return held.promise;
      if (now < held.token.expiresAt) return this.#serveWhileRenewing(held, requestId);
    }
    return this.#wait(signal, requestId);
  }

  invalidate(token: AccessToken): void {
    if (this.#held === undefined || this.#held.token.value !== token?.value) return;
    this.#refused = [token.value, ...this.#refused.slice(0, mostRefused - 1)];
    this.#held = undefined;
  }

  get needsPerson(): boolean {
    return this.#source.needsPerson;
  }

  get inherited(): InheritedOptions {
    const { fetch, intercept, clock, timeoutMs, retryDeadlineMs, onEvent } = this.#options;
    return { fetch, intercept, clock, timeoutMs, retryDeadlineMs, onEvent };
  }

  /** Whether a token is held that has not expired. */
  get isLive(): boolean {
    return this.#held !== undefined && this.#clock.now() < this.#held.token.expiresAt;
  }

  /** Whether a renewal is in flight: such an identity must not be forgotten. */
  get isRenewing(): boolean {
    // A worker runtime may kill a renewal together with its request. It then never ends, and must
    // not block the next.
    return this.#renewal !== undefined && this.#renewal.lostInMs() > 0;
  }

  protected begin(requestId?: string): RequestEvents {
    return beginEvents(this, this.#options, requestId);
  }

  #serveWhileRenewing({ token, promise }: ServedToken, requestId?: string): Promise<AccessToken> {
    if (this.isRenewing || this.#pausedMs() > 0) return promise;
    const startedAt = this.#clock.monotonic();
    const events = this.begin(requestId);
    const renewal = this.#start(events, true);
    // The event follows the start, so that a listener that asks for a token joins this renewal and
    // starts no other.
    events.emit({ type: "token_served_while_renewing", expiresAt: token.expiresAt });
    const settled = renewal.result.then(
      () => {},
      (error: unknown) => {
        this.#pausedMs = countdown(backoffMs(this.#failures++, this.#clock), this.#clock);
        const durationMs = this.#clock.monotonic() - startedAt;
        const { expiresAt } = token;
        events.emit({ type: "renewal_failed", ...failureOf(error), expiresAt, durationMs });
      },
    );
    this.#options.waitUntil(settled);
    return promise;
  }

  #wait(signal: AbortSignal | undefined, requestId?: string): Promise<AccessToken> {
    if (!this.#options.shareInFlight) return this.#task(this.begin(requestId), signal).join(signal);
    const shared = this.isRenewing ? this.#renewal : undefined;
    if (shared === undefined) return this.#start(this.begin(requestId), false, signal).join(signal);
    return shared.task.join(signal, shared.lostInMs(), (error) => {
      // A background renewal sends only one request, but a caller that waits gets the retries too.
      const mayRetry = shared.isBackground && isForNow(error);
      // This sends no refresh token twice, because of the store's lock and records.
      if (error === undefined || mayRetry) return this.getAccessToken({ signal, requestId });
    });
  }

  #start(
    events: RequestEvents,
    isBackground: boolean,
    caller?: AbortSignal,
  ): SharedTask<AccessToken> {
    const task = this.#task(events, caller, isBackground, () => {
      if (this.#renewal?.task === task) this.#renewal = undefined;
    });
    const { timeoutMs, retryDeadlineMs } = this.#options;
    const longestMs = timeoutMs * lostAfterTimeouts + (isBackground ? 0 : retryDeadlineMs);
    const lostInMs = deadlineIn(longestMs, this.#clock);
    this.#renewal = { task, lostInMs, isBackground };
    return task;
  }

  /** Without the signal of a caller nothing can abort the task. */
  #task(
    events: RequestEvents,
    caller: AbortSignal | undefined,
    isBackground = false,
    onEnd?: () => void,
  ): SharedTask<AccessToken> {
    const run = async (signal: AbortSignal | undefined, keep: () => void) => {
      let offered: AccessToken | undefined;
      const renew = async (emit: Emit) => {
        const once = () => {
          const held = this.#held?.token.value;
          return this.#source.renew({
            requestId: events.requestId,
            emit,
            signal,
            isBackground,
            known: () => [held, ...this.#refused],
            isFresh: (stored) => this.#clock.now() < this.#renewAt(stored),
            offer: (stored) => {
              offered = stored;
            },
            keep,
          });
        };
        const token = this.hold(await once());
        // A process may be suspended for longer than a token lives, between its answer and the end
        // of its storing.
        return { token: this.#clock.now() < token.expiresAt ? token : this.hold(await once()) };
      };
      const { requestId, emit } = events;
      try {
        return (await reportEnd(emit, this.#clock, signal, renew)).token;
      } catch (error) {
        if (offered && this.#clock.now() < offered.expiresAt && !signal?.aborted)
          return this.hold(offered);
        throw this.located(error, requestId);
      }
    };
    return new SharedTask(this.#clock, run, onEnd, caller === undefined);
  }

  #renewAt({ expiresAt, issuedAt = this.#clock.now() }: AccessToken): number {
    // A token that cannot be renewed is served to its end.
    if (this.#source.needsPerson) return expiresAt;
    const windowMs = Math.min((expiresAt - issuedAt) * renewalShare, longestRenewalWindowMs);
    return expiresAt - windowMs * (1 - renewalJitter * this.#clock.random());
  }

  /** Adds to an error whose token it is about. */
  protected located<E>(error: E, requestId?: string): E {
    return locate(error, this, { clientId: this.#source.clientId, requestId });
  }

  /** Holds a token and serves it from now on. */
  protected hold(token: AccessToken): AccessToken {
    this.#held = { token, promise: Promise.resolve(token), renewAt: this.#renewAt(token) };
    this.#failures = 0;
    return token;
  }

  protected drop(): void {
    this.#held = undefined;
  }
}

// Types are made file by file, and a class whose member has the name of an imported symbol cannot
// be.
Object.defineProperty(TokenLifecycle.prototype, callSupport, {
  get(this: TokenLifecycle): CallSupport {
    return this;
  },
});

/**
 * Runs what may send a token request, and reports how that ended if it sent one.
 * @throws what `run` throws
 */
export async function reportEnd<T extends { readonly token: AccessToken }>(
  emit: Emit,
  clock: ResolvedClock,
  signal: AbortSignal | undefined,
  run: (emit: Emit) => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonic();
  let clientId: string | undefined;
  try {
    const result = await run((event) => {
      if (event.type === "token_requested") clientId = event.clientId;
      emit(event);
    });
    const { expiresAt } = result.token;
    const durationMs = clock.monotonic() - startedAt;
    if (clientId !== undefined) emit({ type: "token_renewed", clientId, expiresAt, durationMs });
    return result;
  } catch (error) {
    const durationMs = clock.monotonic() - startedAt;
    if (clientId !== undefined)
      emit({ type: "token_failed", clientId, ...failureOf(error, signal), durationMs });
    throw error;
  }
}

/** A wrong key is corrected by a person, who should not wait long for the first try after it. */
const firstStepMs = 1_000;
/**
 * One request a minute does not use up a tenant's rate limit, and a registration that was mended is
 * noticed soon.
 */
const longestStepMs = 60_000;

/** Milliseconds to wait after the n-th refusal in a row, counted from 0. */
function stepMs(refusals: number): number {
  return Math.min(firstStepMs * 2 ** refusals, longestStepMs);
}

export interface SharedRefusal {
  /** In a row. */
  readonly refusals: number;
  /** Epoch milliseconds. */
  readonly closedUntil: number;
  readonly error: unknown;
}

/**
 * Stops the requests of an identity for a while after a refusal: a wrong key must not cost the
 * tenant one per call.
 */
export class RefusalBackoff {
  readonly #clock: ResolvedClock;
  /** Refusals in a row. */
  #refusals = 0;
  #closedUntil = 0;
  #closedMs: () => number = zero;
  #fingerprint: string | undefined;
  #error: unknown;

  constructor(clock: ResolvedClock) {
    this.#clock = clock;
  }

  /**
   * Returns the round that the next refusal belongs to, for `refused`.
   *
   * @throws the stored error while requests are stopped, which ends when the key or secret changes
   */
  check(fingerprint: string): number {
    if (this.#fingerprint !== fingerprint) this.accepted();
    if (this.#error !== undefined && this.#closedMs() > 0) throw this.#error;
    return this.#refusals;
  }

  /**
   * Reports a refusal. The refusals of requests that were in flight together belong to one round
   * and count as one step. Returns the instant (epoch milliseconds) before which no other request
   * is sent.
   */
  refused(round: number, fingerprint: string): number {
    if (this.#refusals > round) return this.#closedUntil;
    const waitMs = stepMs(this.#refusals);
    this.#closedMs = countdown(waitMs, this.#clock);
    this.#closedUntil = Math.ceil(this.#clock.now() + waitMs);
    this.#refusals++;
    this.#fingerprint = fingerprint;
    this.#error = undefined;
    return this.#closedUntil;
  }

  /**
   * Takes over the refusals that another process met with the same credential. `closedUntil` is in
   * epoch milliseconds.
   */
  adopt({ refusals, closedUntil, error }: SharedRefusal, fingerprint: string): void {
    if (this.#fingerprint === fingerprint && this.#refusals >= refusals) return;
    this.#fingerprint = fingerprint;
    this.#refusals = refusals;
    this.#closedUntil = closedUntil;
    // The other process may have another clock, so its pause counts at most as long as it is.
    this.#closedMs = countdown(
      Math.min(closedUntil - this.#clock.now(), stepMs(refusals - 1)),
      this.#clock,
    );
    this.#error = error;
  }

  /** What other processes need to know after a refusal. */
  get record(): Omit<SharedRefusal, "error"> {
    return { refusals: this.#refusals, closedUntil: this.#closedUntil };
  }

  /** Stores the error of the refusal for the callers that come while requests are stopped. */
  keep(error: unknown): void {
    this.#error = error;
  }

  accepted(): void {
    this.#refusals = 0;
    this.#error = undefined;
  }
}
