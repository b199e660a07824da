/** Typed calls by method and path. */
import type { Variant } from "../errors.js";
import type { Caller, CallInit } from "./caller.js";
import type { OperationIndex } from "./operation-table.js";
import type { CallArgs, LookupTypes, Outcome } from "./outcome.js";

const methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"] as const;
type Method = (typeof methods)[number];

type PathsOf<T extends LookupTypes, X extends Variant, M extends Method> =
  T["paths"][X] extends Record<M, infer Paths> ? Paths : never;

type PathMethod<T extends LookupTypes, X extends Variant, M extends Method> = <
  P extends keyof PathsOf<T, X, M> & string,
>(
  path: P,
  ...args: CallArgs<T, X, PathsOf<T, X, M>[P]>
) => Promise<Outcome<T, X, PathsOf<T, X, M>[P]>>;

/**
 * The paths of one variant's document; a path of the other does not compile. `tenantId` is filled in.
 *
 * @example
 * const { data, error } = await paths.GET("/api/v1/{tenantId}/devices");
 */
export type PathClient<T extends LookupTypes, X extends Variant> = {
  readonly [M in Method]: PathMethod<T, X, M>;
};

export function createPathClient<T extends LookupTypes, X extends Variant>(
  index: OperationIndex,
  call: Caller,
): PathClient<T, X> {
  const byMethod = methods.map((method) => [
    method,
    async (path: string, init?: CallInit) => call(index.byPath(method, path), init),
  ]);
  return Object.freeze(Object.fromEntries(byMethod));
}
