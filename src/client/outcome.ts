/** What a call comes to: one type that narrows by ok, by status and by variant, also when destructured. */
import type { ApiError, Variant } from "../errors.js";

/** A documented success. */
export interface Success<X extends Variant, Status extends number, Data> {
  readonly ok: true;
  readonly status: Status;
  readonly variant: X;
  readonly data: Data;
  readonly error?: undefined;
  /** Its body has been read. */
  readonly response: Response;
}

/** A refused or failed call. `error` is always truthy, also where the answer was empty. */
export interface Failure<X extends Variant, Status extends number, Body> {
  readonly ok: false;
  readonly status: Status;
  readonly variant: X;
  readonly data?: undefined;
  readonly error: ApiError<Status, Body>;
  readonly response: Response;
}

/** The lookup types of a generated module: operations by variant and operationId, paths by variant and method. */
export interface LookupTypes {
  A: object;
  B: object;
  both: object;
  paths: { A: object; B: object };
}

/** The operationIds that a variant knows; for either variant, those that both know. */
export type OperationId<T extends LookupTypes, X extends Variant> = keyof T[X] & string;

/** What an operation of one variant comes to: each documented status, and one more outcome for all others. */
type OutcomeOf<X extends Variant, Operation> = Operation extends {
  success: infer S;
  failure: infer F;
  other: infer Other extends number;
}
  ?
      | { [Status in keyof S & number]: Success<X, Status, S[Status]> }[keyof S & number]
      | { [Status in keyof F & number]: Failure<X, Status, F[Status]> }[keyof F & number]
      | Failure<X, Other, Operation extends { otherBody: infer Body } ? Body : unknown>
  : never;

/** What a call comes to. */
export type Outcome<T extends LookupTypes, X extends Variant, O> = {
  [V in X]: OutcomeOf<V, T[V][O & keyof T[V]]>;
}[X];

type ArgsOf<Operations, O> = Operations[O & keyof Operations] extends {
  args: infer Args extends readonly unknown[];
}
  ? Args
  : never;

/** What a call takes besides the operationId. While the variant is not known: what both accept. */
export type CallArgs<T extends LookupTypes, X extends Variant, O> = [X] extends ["A"]
  ? ArgsOf<T["A"], O>
  : [X] extends ["B"]
    ? ArgsOf<T["B"], O>
    : ArgsOf<T["both"], O>;
