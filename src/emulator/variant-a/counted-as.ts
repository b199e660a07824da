// What a token request counts as: itself, but where rules are off that would refuse it for what it leaves out.
import type { Deployment } from "../state.js";
import { decodeAssertion } from "./assertion/decode-assertion.js";
import { GRANT_OF_TYPE } from "./find-plugin.js";
import type { TokenRequest } from "./read-token-request.js";

export function isGrantType(grantType: string | undefined): boolean {
  return grantType === "client_credentials" || grantType === "authorization_code";
}

/** Its grant is one of the two, unless the rules then refuse it. */
export function countedAs(
  { switches, plugins }: Deployment,
  tenantId: string,
  request: TokenRequest,
): TokenRequest {
  const clientId =
    request.clientId ?? (switches.isEnforced("token-request.client-id") ? undefined : issuerOf(request));
  if (isGrantType(request.grantType) || switches.isEnforced("token-request.grant-type")) {
    return { ...request, clientId };
  }
  const plugin = plugins.find(tenantId, clientId ?? "");
  return { ...request, clientId, grantType: GRANT_OF_TYPE[plugin?.type ?? "service"] };
}

function issuerOf({ clientAssertion }: TokenRequest): string | undefined {
  const iss = clientAssertion === undefined ? undefined : decodeAssertion(clientAssertion)?.claims.iss;
  return typeof iss === "string" ? iss : undefined;
}
