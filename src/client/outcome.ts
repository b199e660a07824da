/**
 * The outcome of a call. The type narrows by ok, by status and by variant, also when it is
 * destructured.
 */
import type { ApiError, Variant } from "../errors.js";
import { invalidOption } from "../options.js";

/** A documented success. */
export interface Success<X extends Variant, Status extends number, Data> {
  readonly ok: true;
  readonly status: Status;
  readonly variant: X;
  readonly data: Data;
  readonly error?: undefined;
  /** How often the call was sent again (see the option `maxRetries`). */
  readonly retries: number;
  /** That of the call's events. It is never sent. */
  readonly requestId: string;
  /** The body of this response has already been read, unless `data` is a stream. */
  readonly response: Response;
}

/** A refused or failed call. `error` is always truthy, even if the response was empty. */
export interface Failure<X extends Variant, Status extends number, Body> {
  readonly ok: false;
  readonly status: Status;
  readonly variant: X;
  readonly data?: undefined;
  readonly error: ApiError<Status, Body>;
  /** How often the call was sent again (see the option `maxRetries`). */
  readonly retries: number;
  /** That of the call's events and of `error`. It is never sent. */
  readonly requestId: string;
  readonly response: Response;
}

/** How `parseAs` reads the answer of a success, whatever its media type. */
export type ParseAs = "json" | "text" | "blob" | "arrayBuffer" | "stream";

/**
 * The lookup types of a generated module: operations by variant and operationId, paths by variant
 * and method.
 */
export interface LookupTypes {
  A: object;
  B: object;
  both: object;
  paths: { A: object; B: object };
}

/**
 * What the compiler names beside the operationIds when it refuses one, while the variant is
 * unknown. It is never if both variants have the same operations.
 */
export type IdAdvice<T extends LookupTypes, X extends Variant> = Variant extends X
  ? [keyof T["A"] | keyof T["B"]] extends [keyof T["A"] & keyof T["B"]]
    ? never
    : "for an operation that only one variant has, compare service.variant first"
  : never;

/** The outcomes of one operation: one per documented status, and one for all other statuses. */
export type OutcomeOf<X extends Variant, Operation, P extends ParseAs = never> = Operation extends {
  success: infer S;
  failure: infer F;
  other: infer Other extends number;
  headers?: infer H;
}
  ?
      | {
          [Status in keyof S & number]: WithHeaders<
            H,
            Status,
            Success<X, Status, [P] extends [never] ? S[Status] : Parsed<P, S[Status]>>
          >;
        }[keyof S & number]
      | {
          [Status in keyof F & number]: WithHeaders<H, Status, Failure<X, Status, F[Status]>>;
        }[keyof F & number]
      | Failure<X, Other, Operation extends { otherBody: infer Body } ? Body : unknown>
  : never;

type WithHeaders<H, Status, O> = Status extends keyof H ? DocumentedHeaders<H[Status]> & O : O;

/** The documented headers of a status; the names in `get` are those of the document. */
export interface DocumentedHeaders<Known> {
  readonly response: {
    readonly headers: { get<Name extends keyof Known>(name: Name): Known[Name] };
  };
}

/**
 * The data of a success that is read as `P`. As JSON it is what the document says, unless that is
 * not JSON.
 */
type Parsed<P extends ParseAs, Data> = {
  json: Data extends Blob | AsyncIterable<unknown> ? unknown : Data;
  text: string;
  blob: Blob;
  arrayBuffer: ArrayBuffer;
  stream: ReadableStream<Uint8Array>;
}[P];

/**
 * The operation with the id `O`; for `string`, any of them. The second branch alone costs an
 * intersection per call.
 */
export type Lookup<All, O> = O extends keyof All ? All[O] : All[O & keyof All];

/** The outcome of the call of an operation. */
export type Outcome<T extends LookupTypes, X extends Variant, O, P extends ParseAs = never> = {
  [V in X]: OutcomeOf<V, Lookup<T[V], O>, P>;
}[X];

type ArgsOf<Operations, O> =
  Lookup<Operations, O> extends { args: infer Args extends readonly unknown[] } ? Args : never;
/**
 * Without it, the compiler would report the missing arguments of other operations instead of the
 * refused operationId.
 */
type ArgsOfAdvice<T extends LookupTypes, O> = [Extract<O, IdAdvice<T, Variant>>] extends [never]
  ? never
  : [];

/**
 * The arguments of a call after the operationId. While the variant is unknown, both variants must
 * accept them.
 */
export type CallArgs<T extends LookupTypes, X extends Variant, O> = [X] extends ["A"]
  ? ArgsOf<T["A"], O>
  : [X] extends ["B"]
    ? ArgsOf<T["B"], O>
    : ArgsOf<T["both"], O> | ArgsOfAdvice<T, O>;

/** The options of a call that says how its answer is read. */
export type ParsedInit<Args extends readonly unknown[], P extends ParseAs> = ParsedChoice<
  NonNullable<Args[0]>,
  P
>;

/** For each choice of a body, since `Omit` alone would merge them. */
type ParsedChoice<Init, P> = Init extends unknown
  ? Omit<Init, "parseAs"> & { readonly parseAs: P }
  : never;

interface AnyOutcome {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly error?: unknown;
}

type DataOf<O extends AnyOutcome> = Extract<O, { readonly ok: true }>["data"];

/**
 * Returns the data of a call that succeeded, and throws the `ApiError` of one that did not.
 *
 * @throws ApiError
 * @example
 * const devices = unwrap(await service.call("listDevices")); // throws the ApiError of a refusal
 * const same = await unwrap(service.call("listDevices"));
 */
export function unwrap<O extends AnyOutcome>(outcome: O): DataOf<O>;
export function unwrap<O extends AnyOutcome>(outcome: Promise<O>): Promise<DataOf<O>>;
export function unwrap<O extends AnyOutcome>(
  outcome: O | Promise<O>,
): DataOf<O> | Promise<DataOf<O>> {
  if (outcome instanceof Promise) return outcome.then((settled) => unwrap(settled));
  if (typeof outcome?.ok !== "boolean")
    throw invalidOption("outcome", "must be the outcome of a call, or a promise of one");
  if (outcome.ok) return outcome.data as DataOf<O>;
  throw outcome.error;
}
