/** Detection, credential, auth and client put together: what most programs need. */
import type { OperationTypes } from "../generated/operations.js";
import type { LookupTypes } from "./client/outcome.js";
import { type ConnectorOptions, type ConnectTarget, createConnector } from "./connector.js";
import type { Service } from "./create-service.js";

export type ConnectOptions<T extends LookupTypes = OperationTypes> = ConnectorOptions<T> & ConnectTarget;

/**
 * Connects to a tenant of a deployment, whichever variant it serves. With credentials of both variants the
 * deployment is asked first, without spending a credential; with one, nothing is asked. No token is fetched yet.
 *
 * @throws ConfigurationError before any request
 * @throws VariantError `variant_not_served`, `variant_unknown`
 * @throws TransportError when a question of the detection got no answer
 * @see the description, section 5.11
 * @example
 * const service = await connect({
 *   baseUrl: "https://customer.example",
 *   tenantId: "acme",
 *   credentials: [servicePlugin({ clientId, privateKey }), serviceAccount({ clientId, clientSecret })],
 * });
 * const result = await service.call("listDevices");
 */
export async function connect<T extends LookupTypes = OperationTypes>(
  options: ConnectOptions<T>,
): Promise<Service<T>> {
  return createConnector(options).connect(options);
}
