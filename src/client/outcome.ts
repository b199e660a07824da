/** The outcome of a call. The type narrows by ok, by status and by variant, also when it is destructured. */
import type { ApiError, Variant } from "../errors.js";
import { invalidOption } from "../options.js";

/** A documented success. */
export interface Success<X extends Variant, Status extends number, Data> {
  readonly ok: true;
  readonly status: Status;
  readonly variant: X;
  readonly data: Data;
  readonly error?: undefined;
  /** How often the call was sent again (see the option `retries`). */
  readonly retries: number;
  /** The body of this response has already been read. */
  readonly response: Response;
}

/** A refused or failed call. `error` is always truthy, even if the response was empty. */
export interface Failure<X extends Variant, Status extends number, Body> {
  readonly ok: false;
  readonly status: Status;
  readonly variant: X;
  readonly data?: undefined;
  readonly error: ApiError<Status, Body>;
  /** How often the call was sent again (see the option `retries`). */
  readonly retries: number;
  readonly response: Response;
}

/** The lookup types of a generated module: operations by variant and operationId, paths by variant and method. */
export interface LookupTypes {
  A: object;
  B: object;
  both: object;
  paths: { A: object; B: object };
}

/** The operationIds of a variant, or while the variant is unknown those that both variants have. */
export type OperationId<T extends LookupTypes, X extends Variant> = keyof T[X] & string;

/** The outcomes of one operation: one per documented status, and one for all other statuses. */
export type OutcomeOf<X extends Variant, Operation> = Operation extends {
  success: infer S;
  failure: infer F;
  other: infer Other extends number;
}
  ?
      | { [Status in keyof S & number]: Success<X, Status, S[Status]> }[keyof S & number]
      | { [Status in keyof F & number]: Failure<X, Status, F[Status]> }[keyof F & number]
      | Failure<X, Other, Operation extends { otherBody: infer Body } ? Body : unknown>
  : never;

/** The operation with the id `O`; for `string`, any of them. The second branch alone costs an intersection per call. */
export type Lookup<All, O> = O extends keyof All ? All[O] : All[O & keyof All];

/** The outcome of the call of an operation. */
export type Outcome<T extends LookupTypes, X extends Variant, O> = {
  [V in X]: OutcomeOf<V, Lookup<T[V], O>>;
}[X];

type ArgsOf<Operations, O> =
  Lookup<Operations, O> extends { args: infer Args extends readonly unknown[] } ? Args : never;

/** The arguments of a call after the operationId. While the variant is unknown, both variants must accept them. */
export type CallArgs<T extends LookupTypes, X extends Variant, O> = [X] extends ["A"]
  ? ArgsOf<T["A"], O>
  : [X] extends ["B"]
    ? ArgsOf<T["B"], O>
    : ArgsOf<T["both"], O>;

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
 * const devices = unwrap(await service.call("listDevices"));
 * const same = await unwrap(service.call("listDevices"));
 */
export function unwrap<O extends AnyOutcome>(outcome: O): DataOf<O>;
export function unwrap<O extends AnyOutcome>(outcome: Promise<O>): Promise<DataOf<O>>;
export function unwrap<O extends AnyOutcome>(outcome: O | Promise<O>): DataOf<O> | Promise<DataOf<O>> {
  if (outcome instanceof Promise) return outcome.then((settled) => unwrap(settled));
  if (typeof outcome?.ok !== "boolean")
    throw invalidOption("outcome", "must be the outcome of a call, or a promise of one");
  if (outcome.ok) return outcome.data as DataOf<O>;
  throw outcome.error;
}
