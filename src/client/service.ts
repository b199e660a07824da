/** A service: one Auth, and the typed calls that go through it. */
import type { Auth } from "../auth/auth.js";
import type { Detection, Variant } from "../errors.js";
import { type CallerOptions, createCaller } from "./caller.js";
import type { OperationIndex } from "./operation-table.js";
import type { CallArgs, LookupTypes, OperationId, Outcome } from "./outcome.js";
import { createPathClient, type PathClient } from "./path-client.js";
import { createServiceFetch, type ServiceFetch } from "./service-fetch.js";

/**
 * Calls an operation by its id. Resolves with an outcome whatever the API answers; rejects on token and network
 * faults, and for an answer that is documented as JSON and is none.
 *
 * @example
 * const result = await service.call("listDevices");
 * if (result.ok) result.data; else result.error;
 */
export type Call<T extends LookupTypes> = <X extends Variant, O extends OperationId<T, X>>(
  this: { readonly variant: X },
  operation: O,
  ...args: CallArgs<T, X, O>
) => Promise<Outcome<T, X, O>>;

/** A service of a known variant. */
export interface ServiceOf<X extends Variant, T extends LookupTypes> {
  readonly variant: X;
  readonly baseUrl: string;
  /** Empty where Variant B was named without one. */
  readonly tenantId: string;
  readonly auth: Auth & { readonly variant: X };
  /** How the variant was found; absent when it was given. */
  readonly detection?: Detection;
  readonly call: Call<T>;
  readonly paths: PathClient<T, X>;
  readonly fetch: ServiceFetch;
}

export interface ServiceParts extends CallerOptions {
  readonly index: OperationIndex;
  readonly detection?: Detection | undefined;
}

/** Puts a service together. It never changes its variant. */
export function buildService<X extends Variant, T extends LookupTypes>(parts: ServiceParts): ServiceOf<X, T> {
  const { auth, index, detection } = parts;
  const caller = createCaller(parts);
  const call = async (operationId: string, init?: Parameters<typeof caller>[1]) =>
    caller(index.byId(operationId), init);
  return Object.freeze({
    variant: auth.variant as X,
    baseUrl: auth.baseUrl,
    tenantId: auth.tenantId,
    auth: auth as Auth & { readonly variant: X },
    call: call as unknown as Call<T>,
    paths: createPathClient<T, X>(index, caller),
    fetch: createServiceFetch(parts),
    ...(detection === undefined ? {} : { detection }),
  });
}
