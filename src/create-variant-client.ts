/** The path client of one variant, without the table of the other. */
import type { OperationTypes } from "../generated/operations.js";
import type { Auth } from "./auth/auth.js";
import { type AuthOptions, resolveAuthOptions, withoutUndefined } from "./auth/auth-options.js";
import { emitter } from "./auth/events.js";
import { createCaller } from "./client/caller.js";
import { indexOperations } from "./client/operation-table.js";
import { createPathClient, type PathClient } from "./client/path-client.js";
import type { Validate } from "./client/validate.js";
import { ConfigurationError, type Variant } from "./errors.js";

export interface VariantClientOptions extends Pick<AuthOptions, "fetch" | "now" | "timeoutMs" | "onEvent"> {
  /** From `bivariant/validate`. */
  readonly validate?: Validate | undefined;
}

export function createVariantClient<X extends Variant>(
  auth: Auth & { readonly variant: X },
  variant: X,
  entries: object,
  options: VariantClientOptions,
): PathClient<OperationTypes, X> {
  if (auth?.variant !== variant)
    throw new ConfigurationError("option_invalid", `auth is no Auth of Variant ${variant}.`, {
      option: "auth",
    });
  const { fetch, now, timeoutMs, onEvent } = resolveAuthOptions({
    ...auth.inherited,
    ...withoutUndefined(options),
  });
  const tell = emitter(auth, { onEvent, now });
  const caller = createCaller({ auth, fetch, now, timeoutMs, tell, validate: options.validate });
  return createPathClient<OperationTypes, X>(indexOperations(entries, variant), caller);
}
