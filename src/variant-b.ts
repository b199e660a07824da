/**
 * `bivariant/variant-b`: the types, path client and credentials of Variant B. A bundle of it has no
 * code of Variant A. @packageDocumentation
 */
import { type OperationTypes, operationsB } from "../generated/operations.js";
import type { Auth } from "./auth/auth.js";
import type { VariantClientOptions } from "./client-options.js";
import { createVariantClient, type PathClient } from "./service.js";

export type { components, operations, paths } from "../generated/variant-b.js";
export {
  type ApiClientSettings,
  apiClient,
  type ServiceAccountSettings,
  serviceAccount,
} from "./auth/credentials/clients.js";
export { createAuth } from "./auth/machine-tokens.js";
export {
  type BegunLogin,
  beginLogin,
  type CompleteLoginOptions,
  completeLogin,
  type PendingLogin,
} from "./people.js";

/**
 * Typed calls on the paths of Variant B.
 *
 * @throws ConfigurationError `option_invalid` for an Auth of Variant A
 * @see the description, section 4.3
 * @example
 * const auth = createAuth({
 *   baseUrl,
 *   tenantId,
 *   credential: serviceAccount({ clientId, clientSecret }),
 * });
 * const client = createVariantBClient(auth);
 * const { data, error } = await client.GET("/v1/devices");
 */
export function createVariantBClient(
  auth: Auth & { readonly variant: "B" },
  options: VariantClientOptions = {},
): PathClient<OperationTypes, "B"> {
  return createVariantClient(auth, "B", operationsB, options);
}
