/**
 * The options of a client: their types, their names and their checks. They are resolved once, into
 * one frozen value that everything else takes.
 */
import {
  type CallOptions as GeneratedOptions,
  type OperationTypes,
  operations,
} from "../generated/operations.js";
import type { Emit, InheritedOptions, OnEvent } from "./auth/auth.js";
import type { TokenStore } from "./auth/shared/token-store.js";
import type { LookupTypes } from "./client/outcome.js";
import { type ClockOptions, type ResolvedClock, resolveClock } from "./clock.js";
import type { Variant } from "./errors.js";
import {
  defaultFetch,
  type Fetch,
  type Intercept,
  recordOf,
  sendingOnce,
} from "./http/exchange.js";
import type { NamesOf } from "./option-names.js";
import {
  headerRecord,
  invalidOption,
  requireDuration,
  requireStore,
  requireTypes,
  requireWhole,
  settingNames,
} from "./options.js";

export interface TargetOptions {
  /** The URL may have a path prefix, but no credentials, query or fragment. */
  readonly baseUrl: string;
  /** In Variant B it is only a local key and may be left out. */
  readonly tenantId?: string | undefined;
  /** Allows plain http to machines other than this one. */
  readonly allowInsecureHttp?: boolean | undefined;
  /** Default: `[A-Za-z0-9_~-][A-Za-z0-9._~-]*`, anchored. */
  readonly tenantIdPattern?: RegExp | undefined;
}

export interface RequestOptions extends ClockOptions {
  /**
   * It is always called with a string and a RequestInit, so that undici's own fetch works. What
   * must not be sent twice, a code for instance, is in a stream or an iterable; `String(body)` is
   * its text. Default: the global one.
   */
  readonly fetch?: Fetch | undefined;
  /**
   * Called around each HTTP request, whichever `fetch` sends it. `bivariant/opentelemetry` makes
   * one.
   */
  readonly intercept?: Intercept | undefined;
  /**
   * The time limit of one HTTP request, to its last byte, of a call of a store or a credential's
   * function. Default: 10 000.
   */
  readonly timeoutMs?: number | undefined;
}

/** The options of whatever gets tokens: requests, waits, events and the store. */
export interface AuthOptions
  extends RequestOptions,
    Pick<TargetOptions, "allowInsecureHttp" | "tenantIdPattern"> {
  /**
   * How long a caller waits for a rate limit or a failing server, retries included. Default: 60
   * 000.
   */
  readonly retryDeadlineMs?: number | undefined;
  readonly onEvent?: OnEvent | undefined;
  /** Shares tokens among processes. */
  readonly store?: TokenStore | undefined;
  /**
   * Keeps alive, in workers, a renewal for which no caller waits:
   * `(promise) => context.waitUntil(promise)`.
   */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /**
   * Whether concurrent callers share one token request. Default: true. Set it to false for runtimes
   * in which a promise made in one request must not be awaited in another.
   */
  readonly shareInFlight?: boolean | undefined;
}

/** The options of a service that only calls use. */
export interface CallOptions {
  /** Made by `validator` from `bivariant/validate`. */
  readonly validate?: Validate | undefined;
  /**
   * Headers of every call and `service.fetch`, but not of token requests. Those of a call itself
   * replace them, and `null` there leaves one out. What each request writes itself, such as
   * `authorization`, is refused.
   */
  readonly headers?: GeneratedOptions["headers"];
  /**
   * How often a call is sent again, within `retryDeadlineMs`: after a 429, and if it is idempotent
   * (RFC 9110 section 9.2.2) after 502, 503, 504 and network faults. Default: 2. A call has the
   * same option.
   */
  readonly maxRetries?: number | undefined;
  /**
   * The statuses of the API that mean that the bearer is no longer valid, which the description
   * does not show. A status other than 401 counts only for a token that was accepted before.
   * Default: [401].
   */
  readonly unauthorizedStatuses?: readonly number[] | undefined;
  /**
   * Whether the message of an `ApiError` ends with the body of the answer: one line of at most 500
   * characters, which is left out if it repeats the bearer or another secret of the request's
   * headers. Default: false, since what a body says belongs in a log only if you know that.
   */
  readonly bodyInMessage?: boolean | undefined;
  /**
   * The most bytes of a success that is read whole, and of one event or line of a stream. A call
   * has the same option. Default: no limit.
   */
  readonly maxResponseBytes?: number | undefined;
}

export interface VariantClientOptions extends InheritedOptions, CallOptions {}

/** A generated module as `connect({ api })` accepts it; `types` exists for the compiler only. */
export interface Api<T extends LookupTypes> {
  readonly operations: { readonly A: object; readonly B: object; readonly types?: T };
}

/** The options of {@link createService}. */
export interface CreateServiceOptions<T extends LookupTypes = OperationTypes>
  extends VariantClientOptions {
  /**
   * The operations.ts that `bivariant generate` wrote from documents of your own. Default: the
   * shipped one.
   */
  readonly api?: Api<T> | undefined;
}

/** A success of the API, before its data is returned. */
export interface ValidatedAnswer {
  readonly variant: Variant;
  readonly operationId: string;
  readonly status: number;
  readonly data: unknown;
}

/**
 * Checks the data of a success; reports an event or throws. `bivariant/validate` makes one, and
 * only that imports zod.
 *
 * @throws UnexpectedResponseError `response_shape`
 */
export type Validate = ((answer: ValidatedAnswer, emit: Emit) => void) & {
  readonly schemas?: Readonly<Record<Variant, { readonly operations: object }>>;
};

/** The names of RequestOptions, and of the options of a target that a connector takes. */
export const requestNames: NamesOf<RequestOptions & TargetRuleOptions> = {
  fetch: true,
  intercept: true,
  clock: true,
  timeoutMs: true,
  allowInsecureHttp: true,
  tenantIdPattern: true,
};

export const authNames: NamesOf<AuthOptions> = {
  ...requestNames,
  retryDeadlineMs: true,
  onEvent: true,
  store: true,
  waitUntil: true,
  shareInFlight: true,
};

/** The names of an Auth's options, whatever its credential is for. */
export const ownAuthNames: NamesOf<AuthOptions & TargetOptions & { readonly credential: unknown }> =
  {
    ...authNames,
    baseUrl: true,
    tenantId: true,
    credential: true,
  };

export const callNames: NamesOf<CallOptions> = {
  validate: true,
  headers: true,
  maxRetries: true,
  unauthorizedStatuses: true,
  bodyInMessage: true,
  maxResponseBytes: true,
};

export const clientNames: NamesOf<VariantClientOptions> = /* @__PURE__ */ (() => ({
  ...settingNames,
  ...callNames,
  fetch: true,
  intercept: true,
  clock: true,
  timeoutMs: true,
  retryDeadlineMs: true,
  onEvent: true,
}))();

export const serviceNames: NamesOf<CreateServiceOptions> = /* @__PURE__ */ (() => ({
  ...clientNames,
  api: true,
}))();

/** What decides which base URLs and tenant ids are accepted. */
type TargetRuleOptions = Pick<TargetOptions, "allowInsecureHttp" | "tenantIdPattern">;

export interface TargetRules extends TargetRuleOptions {
  /** Whether `fetch` was passed by the caller. */
  readonly hasOwnFetch: boolean;
}

export interface ResolvedRequestOptions extends TargetRules {
  readonly fetch: Fetch;
  readonly intercept: Intercept | undefined;
  readonly timeoutMs: number;
  readonly clock: ResolvedClock;
}

export interface ResolvedAuthOptions extends ResolvedRequestOptions {
  readonly retryDeadlineMs: number;
  readonly onEvent: OnEvent | undefined;
  /** Returns another id for each call, token request and detection. */
  readonly newRequestId: () => string;
  readonly store: TokenStore | undefined;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly shareInFlight: boolean;
}

type ResolvedCallOptions = Pick<CallOptions, "validate" | "bodyInMessage" | "maxResponseBytes"> & {
  readonly [K in "maxRetries" | "unauthorizedStatuses"]: NonNullable<CallOptions[K]>;
} & { readonly headers: Readonly<Record<string, string>> | undefined };

/** All options of a client, checked. */
export type ClientOptions = ResolvedAuthOptions & ResolvedCallOptions;

/** @throws ConfigurationError `option_invalid` */
export function resolveClientOptions(options: AuthOptions & CallOptions): ClientOptions {
  return Object.freeze({ ...resolveAuthOptions(options), ...resolveCallOptions(options) });
}

/** The options of services of both variants, checked. */
export interface ServiceOptions extends ClientOptions {
  readonly operations: Readonly<Record<Variant, object>>;
}

/** @throws ConfigurationError `option_invalid` */
export function resolveServiceOptions<T extends LookupTypes>(
  options: AuthOptions & CreateServiceOptions<T>,
): ServiceOptions {
  const { api, validate } = options;
  const table = api === undefined ? operations : Object(api?.operations);
  const [A, B] = [recordOf(table.A), recordOf(table.B)];
  if (A === undefined || B === undefined)
    throw invalidOption("api", "must be the operations.ts module written by `bivariant generate`");
  const resolved = resolveClientOptions(options);
  const { schemas } = validate ?? {};
  const lacking = (entries: object, known: { readonly operations: object }) =>
    Object.keys(entries).find((id) => !Object.hasOwn(known.operations, id));
  const unchecked = api && schemas && (lacking(A, schemas.A) ?? lacking(B, schemas.B));
  if (unchecked === undefined) return Object.freeze({ ...resolved, operations: { A, B } });
  const problem = `has no schemas for \`api\`, such as that of ${unchecked}`;
  throw invalidOption("validate", problem, 'Pass its schemas.ts: validator("strict", schemas).');
}

/** @throws ConfigurationError `option_invalid` */
export function resolveAuthOptions(options: AuthOptions): ResolvedAuthOptions {
  requireTypes(options, "function", ["onEvent", "waitUntil"]);
  requireTypes(options, "boolean", ["shareInFlight"]);
  const { onEvent, store, waitUntil, shareInFlight = true } = options;
  if (store !== undefined) requireStore(store);
  return Object.freeze({
    ...resolveRequestOptions(options),
    retryDeadlineMs: requireDuration("retryDeadlineMs", options.retryDeadlineMs, 60_000, 0),
    onEvent,
    newRequestId: requestIds(),
    store,
    waitUntil: async (promise: Promise<unknown>) => {
      try {
        await waitUntil?.(promise);
      } catch {
        // The runtime may refuse, for instance after the answer was sent. The promise then runs
        // while it is allowed to.
      }
    },
    shareInFlight,
  });
}

/**
 * Ids are a prefix and a counter. The prefix is drawn late: workers forbid random values while a
 * module is loaded.
 */
function requestIds(): () => string {
  let prefix: string | undefined;
  let count = 0;
  return () => {
    prefix ??= crypto.randomUUID().slice(-12);
    return `${prefix}-${++count}`;
  };
}

/** @throws ConfigurationError `option_invalid` */
export function resolveRequestOptions(
  options: RequestOptions & TargetRuleOptions,
): ResolvedRequestOptions {
  requireTypes(options, "function", ["fetch", "intercept"]);
  requireTypes(options, "boolean", ["allowInsecureHttp"]);
  const { fetch, intercept, allowInsecureHttp, tenantIdPattern } = options;
  if (tenantIdPattern !== undefined && !(tenantIdPattern instanceof RegExp))
    throw invalidOption("tenantIdPattern", "must be a regular expression");
  const hasOwnFetch = fetch !== undefined;
  return {
    fetch: sendingOnce(fetch ?? defaultFetch, hasOwnFetch),
    hasOwnFetch,
    intercept,
    clock: resolveClock(options),
    timeoutMs: requireDuration("timeoutMs", options.timeoutMs, 10_000, 1),
    allowInsecureHttp,
    tenantIdPattern,
  };
}

function resolveCallOptions(options: CallOptions): ResolvedCallOptions {
  const {
    validate,
    headers,
    unauthorizedStatuses = [401],
    bodyInMessage,
    maxResponseBytes,
  } = options;
  if (validate !== undefined && typeof validate !== "function")
    throw invalidOption(
      "validate",
      "must be a function",
      "Make one with validator from bivariant/validate.",
    );
  const isStatus = (one: unknown) =>
    Number.isInteger(one) && Number(one) >= 400 && Number(one) <= 599;
  if (!Array.isArray(unauthorizedStatuses) || !unauthorizedStatuses.every(isStatus))
    throw invalidOption(
      "unauthorizedStatuses",
      "must be a list of statuses from 400 to 599",
      "Pass [401].",
    );
  requireTypes(options, "boolean", ["bodyInMessage"]);
  return {
    validate,
    headers: headers === undefined ? undefined : commonHeaders(headers),
    maxRetries: requireWhole("maxRetries", options.maxRetries, 2, 0),
    unauthorizedStatuses,
    bodyInMessage,
    maxResponseBytes: requireWhole("maxResponseBytes", maxResponseBytes, undefined, 1),
  };
}

/** Headers that cannot be those of all calls, beside those that no call can have. */
const written: readonly (readonly [names: RegExp, why: string, remedy?: string])[] = [
  [/^authorization$/, "the bearer is sent in it"],
  [/^(?:accept|content-type|x-envelope)$/, "each call sends its own", "Pass it to the call."],
  [/^(?:connection|content-length|te)$/, "the fetch writes it"],
];

function commonHeaders(headers: CallOptions["headers"]) {
  const record = headerRecord(headers);
  for (const name of Object.keys(record))
    for (const [names, why, remedy = "Leave it out."] of written)
      if (names.test(name)) throw invalidOption("headers", `must not hold ${name}: ${why}`, remedy);
  return record;
}
