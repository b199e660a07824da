// Who asks for a token: a plugin of the tenant, registered and enabled.

import type { Refusal } from "../checks.js";
import type { Plugin } from "../registrations/plugins.js";
import { shownClientId } from "../shown.js";
import type { Deployment } from "../state.js";
import type { TokenRequest } from "./read-token-request.js";

/** "Wrong grant for the plugin type" (description, section 7.1). */
export const GRANT_OF_TYPE = {
  service: "client_credentials",
  user_interface: "authorization_code",
} as const;

export function findPlugin(
  { plugins, switches }: Deployment,
  tenantId: string,
  { clientId = "", grantType }: TokenRequest,
): Plugin | Refusal {
  const plugin = plugins.find(tenantId, clientId);
  if (plugin === undefined) {
    const actual = shownClientId(clientId === "" ? undefined : clientId);
    const refusal = switches.refusal("plugin.registered", { expected: "a registered plugin", actual });
    return refusal ?? unregistered(tenantId, clientId, grantType);
  }
  if (plugin.enabled) return plugin;
  return switches.refusal("plugin.enabled", { expected: "enabled", actual: "disabled" }) ?? plugin;
}

/** No key verifies its assertion, and no scope is granted to it. */
function unregistered(tenantId: string, clientId: string, grantType: string | undefined): Plugin {
  return {
    tenantId,
    clientId,
    type: grantType === GRANT_OF_TYPE.service ? "service" : "user_interface",
    enabled: true,
    roles: [],
    name: clientId,
    pageUrl: undefined,
    keys: [],
    grant: { scopes: new Set(), devices: undefined },
    formerGrants: [],
  };
}
