/** Makes services: typed calls through an Auth, by operationId or by path. */
import type { OperationTypes } from "../generated/operations.js";
import { type Auth, callSupport } from "./auth/auth.js";
import type { CallMemory } from "./client/bearer-fetch.js";
import { type CallerContext, callOperation, OperationIndex } from "./client/caller.js";
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
import { type ServiceFetch, serviceFetch } from "./client/service-fetch.js";
import {
  type ClientOptions,
  type CreateServiceOptions,
  clientNames,
  resolveClientOptions,
  resolveServiceOptions,
  type ServiceOptions,
  serviceNames,
  type VariantClientOptions,
} from "./client-options.js";
import type { Detection, Variant } from "./errors.js";
import { invalidOption, requireOptions, withoutUndefined } from "./options.js";

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
  // `connect` makes the detection itself, and so has no option of that name.
  requireOptions("createService", options, { ...serviceNames, detection: true });
  const makeService = serviceMaker<T>(resolveServiceOptions(withInherited(auth, options)));
  return makeService(auth, options.detection) as V extends Variant ? ServiceOf<V, T> : never;
}

const authMembers = {
  baseUrl: "string",
  tenantId: "string",
  getAccessToken: "function",
  invalidate: "function",
};

/**
 * Checks an `Auth`, which may be one of the caller's own.
 * @throws ConfigurationError `option_invalid`
 */
function requireAuth(auth: Auth): void {
  const given = Object(auth) as Record<string, unknown>;
  const wrong = Object.entries(authMembers).flatMap(([name, type]) =>
    typeof given[name] === type ? [] : name,
  );
  if (given.variant !== "A" && given.variant !== "B") wrong.unshift("variant");
  if (wrong.length === 0) return;
  const problem = `must be an Auth, and these members of it are missing or wrong: ${wrong.join(", ")}`;
  throw invalidOption("auth", problem, "Make one with createAuth, or add them.");
}

/**
 * Makes what services share once, because a connector may make thousands of them, and a backend
 * one per request.
 */
export function serviceMaker<T extends LookupTypes>(
  options: ServiceOptions,
): (auth: Auth, detection?: Detection) => Service<T> {
  const { A, B } = options.operations;
  const shared = contextOf(options);
  const contexts = {
    A: { ...shared, operations: new OperationIndex(A, "A") },
    B: { ...shared, operations: new OperationIndex(B, "B") },
  };
  return (auth, detection) => {
    const { variant, baseUrl, tenantId } = auth;
    const context = contexts[variant];
    const service: unknown = Object.freeze({
      variant,
      baseUrl,
      tenantId,
      auth,
      call: (operationId: string, init?: CallInit) =>
        callOperation(context, auth, operationId, init),
      paths: new PathMethods(auth, context),
      fetch: (...args: Parameters<ServiceFetch>) => serviceFetch(context, auth, ...args),
      ...(detection !== undefined && { detection }),
    });
    return service as Service<T>;
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
  requireOptions(`createVariant${variant}Client`, options, clientNames);
  const context = contextOf(resolveClientOptions(withInherited(auth, options)));
  const operations = new OperationIndex(entries, variant);
  const paths: unknown = new PathMethods(auth, { ...context, operations });
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
    const memory = { worked: new Map(), limited: new Map(), missing: new Set<string>() };
    memories.set(auth, memory);
    return memory;
  };
  return { options, memoryOf };
}

/** An option that was not passed is that of the Auth. */
function withInherited<O extends VariantClientOptions>(auth: Auth, options: O): O {
  return { ...auth[callSupport]?.inherited, ...withoutUndefined(options) };
}

/**
 * A program may hold many instances, so these have no functions of their own. A method is made when
 * it is read, so that it also works without its object, as in `const { GET } = service.paths`. The
 * getters are own properties, so that copies such as `{ ...service.paths, GET: mock }` have the
 * methods.
 */
const PathMethods = /* @__PURE__ */ (() =>
  class PathMethods {
    readonly #auth: Auth;
    readonly #context: CallerContext;

    constructor(auth: Auth, context: CallerContext) {
      this.#auth = auth;
      this.#context = context;
      Object.freeze(Object.defineProperties(this, PathMethods.#getters));
    }

    static readonly #getters: PropertyDescriptorMap = Object.fromEntries(
      methods.map((method) => {
        function get(this: PathMethods) {
          return async (path: string, init?: CallInit) => {
            const operationId = this.#context.operations.idOf(method, path);
            return callOperation(this.#context, this.#auth, operationId, init);
          };
        }
        return [method, { enumerable: true, get }];
      }),
    );
  })();
