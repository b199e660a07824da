/** A service from an Auth in hand. */
import { type OperationTypes, operations } from "../generated/operations.js";
import type { Auth } from "./auth/auth.js";
import {
  type AuthOptions,
  type ResolvedAuthOptions,
  resolveAuthOptions,
  withoutUndefined,
} from "./auth/auth-options.js";
import { emitter } from "./auth/events.js";
import { type Api, indexOperations, type OperationIndex } from "./client/operation-table.js";
import type { LookupTypes } from "./client/outcome.js";
import { buildService, type ServiceOf } from "./client/service.js";
import type { Validate } from "./client/validate.js";
import { ConfigurationError, type Detection, type Variant } from "./errors.js";

/** A service of either variant: `service.variant` narrows it. */
export type Service<T extends LookupTypes = OperationTypes> = ServiceOf<"A", T> | ServiceOf<"B", T>;

export interface CreateServiceOptions<T extends LookupTypes = OperationTypes>
  extends Pick<AuthOptions, "fetch" | "now" | "timeoutMs" | "onEvent"> {
  /** The module that `generate` of bivariant/generate made of documents of your own: its operations.ts. Default: ours. */
  readonly api?: Api<T> | undefined;
  /** From `bivariant/validate`. */
  readonly validate?: Validate | undefined;
}

/**
 * Gives typed calls through an `Auth`: one from `createAuth`, or one of your own.
 *
 * @throws ConfigurationError `option_invalid`
 * @example
 * const service = createService(createAuth({ baseUrl, tenantId, credential }));
 */
export function createService<V extends Variant = Variant, T extends LookupTypes = OperationTypes>(
  auth: Auth & { readonly variant: V },
  options: CreateServiceOptions<T> & { readonly detection?: Detection | undefined } = {},
): V extends Variant ? ServiceOf<V, T> : never {
  if (typeof auth?.getAccessToken !== "function" || (auth.variant !== "A" && auth.variant !== "B"))
    throw new ConfigurationError("option_invalid", "auth is no Auth. Make one with createAuth.", {
      option: "auth",
    });
  const resolved = resolveAuthOptions({ ...auth.inherited, ...withoutUndefined(options) });
  const service = serviceMaker(options, resolved)(auth, options.detection);
  return service as V extends Variant ? ServiceOf<V, T> : never;
}

/**
 * Gives a function that makes services with the same options: they are looked at once, whoever has 10,000 tenants.
 *
 * @throws ConfigurationError `option_invalid` for an `api` that is none
 */
export function serviceMaker<T extends LookupTypes>(
  { api, validate }: Pick<CreateServiceOptions<T>, "api" | "validate">,
  { fetch, now, timeoutMs, onEvent }: Pick<ResolvedAuthOptions, "fetch" | "now" | "timeoutMs" | "onEvent">,
): (auth: Auth, detection?: Detection) => Service<T> {
  const table = api === undefined ? operations : api.operations;
  if (typeof table?.A !== "object" || typeof table.B !== "object")
    throw new ConfigurationError("option_invalid", "api is no operations.ts that bivariant/generate made.", {
      option: "api",
    });
  const indexes: { [X in Variant]?: OperationIndex } = {};
  return (auth, detection) => {
    indexes[auth.variant] ??= indexOperations(table[auth.variant], auth.variant);
    const index = indexes[auth.variant] as OperationIndex;
    const tell = emitter(auth, { onEvent, now });
    const parts = { auth, fetch, now, timeoutMs, tell, validate, index, detection };
    return buildService<Variant, T>(parts) as Service<T>;
  };
}
