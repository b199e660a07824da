/** What all ways to a token share: `Auth`, `PersonAuth`, the access token and the events. */
import type { ClockOptions, ResolvedClock } from "../clock.js";
import {
  type Detection,
  isStoreError,
  type LoginRequiredError,
  type RelaunchRequiredError,
  type Variant,
} from "../errors.js";
import type { Fetch, Intercept } from "../http/exchange.js";
import { withoutUndefined } from "../options.js";

/**
 * Returns access tokens for one tenant of one deployment.
 *
 * @example
 * const { value } = await auth.getAccessToken({ signal: AbortSignal.timeout(5_000) });
 */
export interface Auth {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  /**
   * Resolves with a token that is valid now. Concurrent calls share one request; aborting one ends
   * only that caller's wait, with the signal's reason.
   *
   * @throws TokenRequestError, RateLimitedError, TransportError, UnexpectedResponseError,
   * VariantError, ConfigurationError
   * @throws RelaunchRequiredError, LoginRequiredError when a person's token cannot be renewed
   * without the person
   * @throws StoreError when a person has a refresh token: it is redeemed only under the lock of the
   * store
   */
  getAccessToken(options?: TokenOptions): Promise<AccessToken>;
  /** Drops a token that the API refused. Does nothing if the token was already replaced. */
  invalidate(token: AccessToken): void;
  /**
   * What calls read besides tokens. An Auth of your own may leave it out, and one that wraps
   * another passes it on.
   */
  readonly [callSupport]?: CallSupport | undefined;
}

/**
 * The key under which an `Auth` says what calls need besides tokens.
 *
 * @example
 * let count = 0;
 * const counted: Auth = {
 *   ...{ variant: auth.variant, baseUrl: auth.baseUrl, tenantId: auth.tenantId },
 *   getAccessToken(options) {
 *     count += 1;
 *     return auth.getAccessToken(options);
 *   },
 *   invalidate: (token) => auth.invalidate(token),
 *   [callSupport]: auth[callSupport],
 * };
 */
export const callSupport: unique symbol = Symbol.for("bivariant.callSupport");

/** The options that a service gets from its Auth. */
export interface InheritedOptions extends ClockOptions {
  readonly fetch?: Fetch | undefined;
  readonly intercept?: Intercept | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retryDeadlineMs?: number | undefined;
  readonly onEvent?: OnEvent | undefined;
}

/** What an {@link Auth} tells the calls that use it, under the key {@link callSupport}. */
export interface CallSupport {
  /**
   * The options that API calls through this Auth inherit, so that a proxy, a client certificate or
   * a test's clock need be passed only once.
   */
  readonly inherited?: InheritedOptions | undefined;
  /**
   * Whether only the person can get another token, so that a 401 of the API is final. Default:
   * false.
   */
  readonly needsPerson?: boolean | undefined;
  /**
   * Returns the error that says what to ask the person for. It is called when `needsPerson` is set
   * and the API refused a token older than 30 s, and becomes the `cause` of the call's error.
   */
  refused?(token: AccessToken): RelaunchRequiredError | LoginRequiredError;
}

export interface TokenOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Passed by a call, for the events of the token request that it starts. An Auth of your own may
   * ignore it.
   */
  readonly requestId?: string | undefined;
}

/** An `Auth` that stands for a person, from a launch (Variant A) or a login (Variant B). */
export interface PersonAuth<V extends Variant = Variant> extends Auth {
  readonly variant: V;
  /** The name of this person's tokens in the store; pass it to `resumeAuth` to load them again. */
  readonly person: string;
  /**
   * Deletes the tokens, here and in the store, at the end of a session. A token in use elsewhere
   * lives until it expires.
   */
  forget(): Promise<void>;
}

/** The person a token stands for (section 2.3 of the description, `revo.user`). */
export interface Operator {
  /** A number in the answer becomes its digits. */
  readonly userId: string;
  readonly firstname?: string;
  readonly lastname?: string;
}

/**
 * A bearer token and the fields of its answer. `value` is not enumerable: it appears in no log,
 * JSON or inspection.
 */
export interface AccessToken {
  readonly value: string;
  /** Epoch milliseconds, by the clock of this machine. */
  readonly expiresAt: number;
  /** Epoch milliseconds at which the token was requested. */
  readonly issuedAt?: number;
  readonly tenant?: string;
  readonly operator?: Operator;
  readonly roles?: readonly { readonly name: string; readonly group?: string }[];
}

/** The fields of a token, as read from an answer or a store. */
type AccessTokenFields = { readonly [K in keyof AccessToken]: AccessToken[K] | undefined } & {
  readonly value: string;
  readonly expiresAt: number;
};

class HeldToken {
  readonly #value: string;

  constructor({ value, expiresAt, issuedAt, tenant, operator, roles }: AccessTokenFields) {
    this.#value = value;
    const rest: Required<Omit<AccessTokenFields, "value">> = {
      expiresAt,
      issuedAt,
      tenant,
      operator,
      roles,
    };
    Object.freeze(Object.assign(this, withoutUndefined(rest)));
  }

  get value(): string {
    return this.#value;
  }
}

/** Makes a token from its fields and drops unknown ones. */
export function createAccessToken(fields: AccessTokenFields): AccessToken {
  return new HeldToken(fields) as unknown as AccessToken;
}

/** The fields that every event has. */
interface EventContext {
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  /**
   * The same in all events that one call causes, also in those of the token request that it starts.
   * Never sent.
   */
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The fields of an event that ends something; the duration is by monotonic time. */
interface EndEvent extends EventContext {
  readonly durationMs: number;
}

/** The fields of an event about a failure. */
interface FailureEvent extends EndEvent {
  /** That of the error, or `aborted` after an abort. */
  readonly code: string;
  /**
   * That of the error, with the likeliest cause and its remedy after a refusal. Absent after an
   * abort.
   */
  readonly message?: string | undefined;
}

/** The fields of an event about a call. They include no path and no parameters. */
interface CallEvent extends EventContext {
  /** Absent for `service.fetch`. */
  readonly operationId?: string | undefined;
  readonly method: string;
  /** The status of the answer; absent if none came. */
  readonly status?: number | undefined;
  /**
   * The code of the error, `aborted` after an abort; absent for a success, and where a status led
   * to a retry.
   */
  readonly code?: string | undefined;
}

/**
 * An event; `type` names its kind. `onEvent` is called with it. An error of `onEvent` fails no
 * caller: `console.warn` shows the class of the first one. A listener may ask for a token itself,
 * which joins the renewal that the event reports. With `shareInFlight: false` it must not, since
 * its own request would cause events too.
 */
export type ServiceEvent =
  /** A detection ended with a verdict. */
  | (Omit<EndEvent, "variant"> & {
      readonly type: "variant_detected";
      readonly detection: Detection;
    })
  /** A token request is about to be signed, if need be, and sent. */
  | (EventContext & {
      readonly type: "token_requested";
      readonly clientId: string;
      readonly attempt: number;
    })
  /** A token request, with its waits and retries, ended: a new token is held. */
  | (EndEvent & {
      readonly type: "token_renewed";
      readonly clientId: string;
      readonly expiresAt: number;
    })
  /** A token request, with its waits and retries, ended without a token. */
  | (FailureEvent & { readonly type: "token_failed"; readonly clientId: string })
  /** A token near its expiry was served while a new one is requested. */
  | (EventContext & { readonly type: "token_served_while_renewing"; readonly expiresAt: number })
  /** A renewal in the background failed; the old token is still served. */
  | (FailureEvent & { readonly type: "renewal_failed"; readonly expiresAt: number })
  /** The token endpoint answered 429. */
  | (EventContext & { readonly type: "rate_limited"; readonly retryAt: number })
  /** A token request was refused; the next one is sent at `retryAt` at the earliest. */
  | (EventContext & {
      readonly type: "closed_after_refusal";
      readonly code: string;
      readonly retryAt: number;
    })
  /** The server's clock is ahead of this machine's by `offsetMs`, plus or minus `errorMs`. */
  | (EventContext & {
      readonly type: "clock_off";
      readonly offsetMs: number;
      readonly errorMs: number;
    })
  /** The answer names another tenant than the requested one. */
  | (EventContext & { readonly type: "tenant_differs"; readonly tenant: string })
  /**
   * A field that Variant B does not show has an odd value and counts as absent. `issue` holds no
   * value.
   */
  | (EventContext & { readonly type: "token_field_ignored"; readonly issue: string })
  /**
   * The answer names an operator without a `userId` that can be read, so the token has no
   * `operator`.
   */
  | (EventContext & { readonly type: "operator_unreadable" })
  /**
   * The store failed, and this process goes on without it. `message` is that of the StoreError;
   * `reason` is the code or the class name of the error behind it, for example ECONNREFUSED, or
   * TimeoutError for a store that did not answer.
   */
  | (EventContext & {
      readonly type: "store_failed";
      readonly code: string;
      readonly message?: string | undefined;
      readonly reason?: string | undefined;
    })
  /** The store answers again after a `store_failed`, so that tokens are shared again. */
  | (EventContext & { readonly type: "store_recovered" })
  /**
   * The bearer of a call was refused (see `unauthorizedStatuses`), and the call was sent again with
   * a new token.
   */
  | (EventContext & {
      readonly type: "call_replayed";
      readonly method: string;
      readonly operationId?: string | undefined;
    })
  /** A call or a `service.fetch` was begun. */
  | (Omit<CallEvent, "status" | "code"> & { readonly type: "call_started" })
  /**
   * A call failed for now and is sent again after `waitMs`. `retry` is 1 for the first retry of the
   * call.
   */
  | (CallEvent & { readonly type: "call_retried"; readonly retry: number; readonly waitMs: number })
  /**
   * A call ended after `durationMs`, which includes the waits for a token and between retries. A
   * `service.fetch` ends with the head of its answer, of any status.
   */
  | (CallEvent & EndEvent & { readonly type: "call_finished"; readonly retries: number })
  /** The API refused a call. */
  | (EventContext & {
      readonly type: "call_refused";
      readonly method: string;
      readonly status: number;
      readonly operationId?: string;
    })
  /**
   * The data of a success differ from the document (`validator("report")`). `issues` holds paths,
   * but no values.
   */
  | (EventContext & {
      readonly type: "response_invalid";
      readonly operationId: string;
      readonly status: number;
      readonly issues: readonly string[];
    });

/** Receives events as they happen. An error that it throws is shown once and ends nothing. */
export type OnEvent = (event: ServiceEvent) => void;

/** An event without the fields that all events of one identity share. */
type EventBody<E = ServiceEvent> = E extends EventContext ? Omit<E, keyof EventContext> : never;

export type Emit = (event: EventBody) => void;

/** The events of one call, token request or detection. */
export interface RequestEvents {
  readonly requestId: string;
  readonly emit: Emit;
}

const unheard: Emit = () => {};

export interface EmitterOptions {
  readonly onEvent: OnEvent | undefined;
  /** Returns another id for each call, token request and detection. */
  readonly newRequestId: () => string;
  readonly clock: ResolvedClock;
}

/** Begins the events of one request to an identity; `requestId` is that of its cause. */
export function beginEvents(
  { variant, baseUrl, tenantId }: Pick<EventContext, "variant" | "baseUrl" | "tenantId">,
  { onEvent, newRequestId, clock }: EmitterOptions,
  requestId: string = newRequestId(),
): RequestEvents {
  if (onEvent === undefined) return { requestId, emit: unheard };
  return {
    requestId,
    emit: (body) =>
      emit(
        onEvent,
        withoutUndefined({
          ...body,
          variant,
          baseUrl,
          tenantId,
          requestId,
          at: clock.now(),
        } as ServiceEvent),
      ),
  };
}

/**
 * The event for a store that failed. The message of the error behind a StoreError may hold a
 * password and is left out.
 */
export function storeFailed(error: unknown): EventBody {
  // Any other error is from reading the stored text, which its message may quote.
  const { code, message, cause } = isStoreError(error)
    ? error
    : { code: "store_corrupt", message: undefined, cause: error };
  const fault = Object(cause) as Record<"code" | "name", unknown>;
  const reason = [fault.code, fault.name].find(
    (text) => typeof text === "string" && /^\w{1,40}$/.test(text),
  ) as string | undefined;
  return { type: "store_failed", code, message, reason };
}

/**
 * The listeners whose error was shown. Keyed by the listener, so connectors share no other state
 * through it.
 */
const faulty = /* @__PURE__ */ new WeakSet<object>();

/**
 * Calls a listener. Its errors, thrown or rejected, must not fail the caller; the first one is
 * shown.
 */
export function emit<E = ServiceEvent>(
  onEvent: ((event: E) => unknown) | undefined,
  event: E,
): void {
  if (onEvent === undefined) return;
  // It is called at once. It may return a promise of another realm, such as one of node:fs in Jest.
  new Promise((resolve) => resolve(onEvent(event))).catch((error) => warnOf(error, onEvent));
}

/**
 * Shows the class of a listener's error, but not its message, which may hold what the listener
 * knows.
 */
function warnOf(error: unknown, onEvent: object): void {
  if (faulty.has(onEvent)) return;
  faulty.add(onEvent);
  const kind = error instanceof Error ? error.name : typeof error;
  console.warn(`bivariant: onEvent failed (${kind}). Correct it: its later errors are not shown.`);
}
