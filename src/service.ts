/** Makes services: typed calls through an Auth, by operationId or by path. */
import { type OperationTypes, operations } from "../generated/operations.js";
import { type Auth, callSupport, emitter, type InheritedOptions } from "./auth/auth.js";
import type { CallMemory } from "./client/bearer-fetch.js";
import {
  type Api,
  type Caller,
  type CallerContext,
  createCaller,
  OperationIndex,
} from "./client/caller.js";
import type { CallInit } from "./client/init.js";
import type {
  CallArgs,
  IdAdvice,
  Lookup,
  LookupTypes,
  Outcome,
  OutcomeOf,
  ParseAs,
  ParsedInit,
} from "./client/outcome.js";
import { createServiceFetch, type ServiceFetch } from "./client/service-fetch.js";
import {
  type CallOptions,
  type ClientOptions,
  callNames,
  resolveClientOptions,
} from "./client-options.js";
import type { Detection, Variant } from "./errors.js";
import { recordOf } from "./http/exchange.js";
import type { NamesOf } from "./option-names.js";
import { invalidOption, requireOptions, settingNames, withoutUndefined } from "./options.js";

/**
 * Calls an operation by its id. Resolves with an outcome whatever the API answers; rejects on token
 * and network faults, and if the response to an operation documented as JSON is not JSON.
 *
 * @example
 * const result = await service.call("listDevices");
 * if (result.ok) result.data; else result.error;
 */
export interface Call<T extends LookupTypes> {
  // The type is the same as Outcome. It is written out so that an editor shows the outcomes instead
  // of the name.
  <X extends Variant, O extends (keyof T[X] & string) | IdAdvice<T, X>>(
    this: { readonly variant: X },
    operation: O,
    ...args: CallArgs<T, X, O>
  ): Promise<{ [V in X]: OutcomeOf<V, Lookup<T[V], O>> }[X]>;
  /**
   * With `parseAs` the data of a success is text, bytes or a stream, whatever the document says.
   */
  <X extends Variant, O extends (keyof T[X] & string) | IdAdvice<T, X>, P extends ParseAs>(
    this: { readonly variant: X },
    operation: O,
    init: ParsedInit<CallArgs<T, X, O>, P>,
  ): Promise<{ [V in X]: OutcomeOf<V, Lookup<T[V], O>, P> }[X]>;
}

const methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"] as const;
type Method = (typeof methods)[number];

type PathsOf<T extends LookupTypes, X extends Variant, M extends Method> =
  T["paths"][X] extends Record<M, infer Paths> ? Paths : never;

interface PathMethod<T extends LookupTypes, X extends Variant, M extends Method> {
  <Path extends keyof PathsOf<T, X, M> & string>(
    path: Path,
    ...args: CallArgs<T, X, PathsOf<T, X, M>[Path]>
  ): Promise<Outcome<T, X, PathsOf<T, X, M>[Path]>>;
  <Path extends keyof PathsOf<T, X, M> & string, P extends ParseAs>(
    path: Path,
    init: ParsedInit<CallArgs<T, X, PathsOf<T, X, M>[Path]>, P>,
  ): Promise<Outcome<T, X, PathsOf<T, X, M>[Path], P>>;
}

/**
 * The paths of one variant's document; a path of the other does not compile. `tenantId` is filled
 * in.
 *
 * @example
 * if (service.variant === "A") {
 *   const { data, error } = await service.paths.GET("/api/v1/{tenantId}/devices");
 * }
 */
export type PathClient<T extends LookupTypes, X extends Variant> = {
  readonly [M in Method]: PathMethod<T, X, M>;
};

/** A service of a known variant. */
export interface ServiceOf<X extends Variant, T extends LookupTypes> {
  readonly variant: X;
  readonly baseUrl: string;
  /** Empty if Variant B was named without a tenant id. */
  readonly tenantId: string;
  readonly auth: Auth & { readonly variant: X };
  /** How the variant was found; absent if the caller named it. */
  readonly detection?: Detection;
  readonly call: Call<T>;
  readonly paths: PathClient<T, X>;
  readonly fetch: ServiceFetch;
}

/** A service of either variant: `service.variant` narrows it. */
export type Service<T extends LookupTypes = OperationTypes> = ServiceOf<"A", T> | ServiceOf<"B", T>;

export interface VariantClientOptions extends InheritedOptions, CallOptions {}

const clientNames: NamesOf<VariantClientOptions> = {
  ...settingNames,
  ...callNames,
  fetch: true,
  intercept: true,
  clock: true,
  timeoutMs: true,
  retryDeadlineMs: true,
  onEvent: true,
};

/** The options of {@link createService}. */
export interface CreateServiceOptions<T extends LookupTypes = OperationTypes>
  extends VariantClientOptions {
  /**
   * The operations.ts that `bivariant generate` wrote from documents of your own. Default: the
   * shipped one.
   */
  readonly api?: Api<T> | undefined;
}

export const serviceNames: NamesOf<CreateServiceOptions> = { ...clientNames, api: true };

/** `createService` takes the detection too, which a connector makes itself. */
const createServiceNames = { ...serviceNames, detection: true };

/**
 * Makes typed calls through an `Auth`: one from `createAuth`, or one of your own.
 *
 * @throws ConfigurationError `option_invalid`
 * @example
 * const credential = servicePlugin({ clientId, privateKey });
 * const service = createService(createAuth({ baseUrl, tenantId, credential }));
 */
export function createService<V extends Variant = Variant, T extends LookupTypes = OperationTypes>(
  auth: Auth & { readonly variant: V },
  options: CreateServiceOptions<T> & { readonly detection?: Detection | undefined } = {},
): V extends Variant ? ServiceOf<V, T> : never {
  requireAuth(auth);
  requireOptions("createService", options, createServiceNames);
  const service = serviceMaker(options.api, resolveFor(auth, options))(auth, options.detection);
  return service as V extends Variant ? ServiceOf<V, T> : never;
}

/**
 * Checks an `Auth`, which may be one of the caller's own.
 * @throws ConfigurationError `option_invalid`
 */
function requireAuth(auth: Auth): void {
  const { variant, baseUrl, tenantId, getAccessToken, invalidate } = Object(auth) as Partial<Auth>;
  const members = {
    variant: variant === "A" || variant === "B",
    baseUrl: typeof baseUrl === "string",
    tenantId: typeof tenantId === "string",
    getAccessToken: typeof getAccessToken === "function",
    invalidate: typeof invalidate === "function",
  };
  const wrong = Object.entries(members).flatMap(([name, isRight]) => (isRight ? [] : name));
  if (wrong.length === 0) return;
  const problem = `must be an Auth, and these members of it are missing or wrong: ${wrong.join(", ")}`;
  throw invalidOption("auth", problem, "Make one with createAuth, or add them.");
}

/**
 * Checks the options once, because a connector may make thousands of services, and a backend one
 * per request.
 */
export function serviceMaker<T extends LookupTypes>(
  api: CreateServiceOptions<T>["api"],
  options: ClientOptions,
): (auth: Auth, detection?: Detection) => Service<T> {
  const table = api === undefined ? operations : api?.operations;
  if (recordOf(table?.A) === undefined || recordOf(table?.B) === undefined)
    throw invalidOption("api", "must be the operations.ts module written by `bivariant generate`");
  const { A, B } = options.validate?.schemas ?? {};
  const lacking = (entries: object, schemas?: { readonly operations: object }) =>
    schemas && Object.keys(entries).find((id) => !Object.hasOwn(schemas.operations, id));
  const unchecked = api && (lacking(table.A, A) ?? lacking(table.B, B));
  if (unchecked !== undefined) {
    const problem = `has no schemas for \`api\`, such as that of ${unchecked}`;
    throw invalidOption("validate", problem, 'Pass its schemas.ts: validator("strict", schemas).');
  }
  const shared = contextOf(options);
  const callersOf = (variant: Variant) => {
    const context = { ...shared, operations: new OperationIndex(table[variant], variant) };
    return { ...context, call: createCaller(context), fetch: createServiceFetch(context) };
  };
  const callers = { A: callersOf("A"), B: callersOf("B") };
  return (auth, detection) => {
    const { variant, baseUrl, tenantId } = auth;
    const own = callers[variant];
    const call = (operationId: string, init?: CallInit) => own.call(auth, operationId, init);
    return Object.freeze({
      variant,
      baseUrl,
      tenantId,
      auth,
      call: call as unknown as Call<T>,
      paths: new PathMethods(auth, own),
      fetch: (input: string | URL, init?: RequestInit) => own.fetch(auth, input, init),
      ...(detection === undefined ? {} : { detection }),
    }) as unknown as Service<T>;
  };
}

/** The path client of one variant, without the table of the other. */
export function createVariantClient<X extends Variant>(
  auth: Auth & { readonly variant: X },
  variant: X,
  entries: object,
  options: VariantClientOptions,
): PathClient<OperationTypes, X> {
  if (auth?.variant !== variant)
    throw invalidOption("auth", `must be an Auth of Variant ${variant}`);
  const resolved = resolveFor(
    auth,
    requireOptions(`createVariant${variant}Client`, options, clientNames),
  );
  const operations = new OperationIndex(entries, variant);
  const context = contextOf(resolved);
  const call = createCaller({ ...context, operations });
  const paths: unknown = new PathMethods(auth, { operations, call });
  return paths as PathClient<OperationTypes, X>;
}

/**
 * Services of one Auth share what their calls have shown, because a server may make a service per
 * request.
 */
function contextOf(options: ClientOptions) {
  const memories = new WeakMap<Auth, CallMemory>();
  const memoryOf = (auth: Auth): CallMemory => {
    const known = memories.get(auth);
    if (known !== undefined) return known;
    const memory: CallMemory = { worked: new Map(), limited: new Map(), missing: new Set() };
    memories.set(auth, memory);
    return memory;
  };
  return { options, begin: (auth: Auth) => emitter(auth, options)(), memoryOf };
}

/** Checks the options. One that was not passed is that of the Auth. */
function resolveFor(auth: Auth, options: VariantClientOptions): ClientOptions {
  return resolveClientOptions({ ...auth[callSupport]?.inherited, ...withoutUndefined(options) });
}

type PathCallers = Pick<CallerContext, "operations"> & { readonly call: Caller };

/**
 * A program may hold many instances, so these have no functions of their own. A method is made when
 * it is read, so that it also works without its object, as in `const { GET } = service.paths`. The
 * getters are own properties, so that copies such as `{ ...service.paths, GET: mock }` have the
 * methods.
 */
const PathMethods = /* @__PURE__ */ (() =>
  class PathMethods {
    readonly #auth: Auth;
    readonly #callers: PathCallers;

    constructor(auth: Auth, callers: PathCallers) {
      this.#auth = auth;
      this.#callers = callers;
      Object.freeze(Object.defineProperties(this, PathMethods.#getters));
    }

    static #getterOf(method: Method) {
      return function get(this: PathMethods) {
        const { operations, call } = this.#callers;
        return async (path: string, init?: CallInit) =>
          call(this.#auth, operations.idOf(method, path), init);
      };
    }

    static readonly #getters: PropertyDescriptorMap = Object.fromEntries(
      methods.map((method) => [method, { enumerable: true, get: PathMethods.#getterOf(method) }]),
    );
  })();
