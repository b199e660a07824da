/**
 * `bivariant/variant-a`: the types, path client and credentials of Variant A. A bundle of it has no
 * code of Variant B. @packageDocumentation
 */
import { type OperationTypes, operationsA } from "../generated/operations.js";
import type { Auth } from "./auth/auth.js";
import type { VariantClientOptions } from "./client-options.js";
import { createVariantClient, type PathClient } from "./service.js";

export type { components, operations, paths } from "../generated/variant-a.js";
export {
  type ServicePluginSettings,
  servicePlugin,
  type UserInterfacePluginSettings,
  userInterfacePlugin,
} from "./auth/credentials/plugins.js";
export { createAuth } from "./auth/machine-tokens.js";
export { type RedeemLaunchOptions, redeemLaunch } from "./people.js";

/**
 * Typed calls on the paths of Variant A; `tenantId` is filled in.
 *
 * @throws ConfigurationError `option_invalid` for an Auth of Variant B
 * @see the description, sections 4.3 and 5.5
 * @example
 * const auth = createAuth({
 *   baseUrl,
 *   tenantId,
 *   credential: servicePlugin({ clientId, privateKey }),
 * });
 * const client = createVariantAClient(auth);
 * const { data, error } = await client.GET("/api/v1/{tenantId}/devices");
 */
export function createVariantAClient(
  auth: Auth & { readonly variant: "A" },
  options: VariantClientOptions = {},
): PathClient<OperationTypes, "A"> {
  return createVariantClient(auth, "A", operationsA, options);
}
