// Decides whether a valid token may make this call: live registration, opt-in, scope, person, narrowing and device.
import type { Deployment } from "../deployment.js";
import type { Refusal } from "../refusal.js";
import { grantsInForce, type Plugin } from "../registrations/plugin.js";
import { shown } from "../shown.js";
import type { IssuedToken } from "../stores/access-tokens.js";
import type { ApiRoute } from "./api-route.js";

/** `devices` are those that the request names. */
export function checkCall(
  deployment: Deployment,
  token: IssuedToken,
  route: ApiRoute,
  devices: readonly string[],
): Refusal | undefined {
  const { plugins, clock } = deployment;
  const beyond = () => checkScope(token, route) ?? checkOperator(deployment, token, route);
  if (token.variant === "B") return beyond();
  // "The registration is re-checked live on each call" (description, section 2.1).
  const plugin = plugins.find(token.tenantId, token.clientId);
  if (plugin === undefined || !plugin.enabled) {
    const actual = plugin === undefined ? "not registered" : "disabled";
    return { rule: "bearer.plugin-enabled", expected: "an enabled plugin", actual };
  }
  if (route.takesPluginTokens === false) {
    return { rule: "route.opt-in", expected: "a token that is not a plugin's", actual: "a plugin token" };
  }
  return beyond() ?? checkReach(plugin, route, devices, clock());
}

function checkScope({ scopes }: IssuedToken, { scope }: ApiRoute): Refusal | undefined {
  if (scope === undefined || scopes === undefined || scopes.has(scope)) return undefined;
  return { rule: "route.scope", expected: scope, actual: [...scopes].join(" ") || "a token without scopes" };
}

/** "Granted scopes intersected with the capabilities of the operator who launched it" (section 1), as they are now. */
function checkOperator(
  { operators }: Deployment,
  { tenantId, userId }: IssuedToken,
  { scope }: ApiRoute,
): Refusal | undefined {
  if (userId === undefined || scope === undefined) return undefined;
  const capabilities = operators.find(tenantId, userId)?.capabilities ?? new Set();
  if (capabilities.has(scope)) return undefined;
  return {
    rule: "route.operator",
    expected: scope,
    actual: [...capabilities].join(" ") || "no capabilities",
  };
}

function checkReach(
  plugin: Plugin,
  { scope }: ApiRoute,
  devices: readonly string[],
  now: number,
): Refusal | undefined {
  const grants = grantsInForce(plugin, now).filter(({ scopes }) => scope === undefined || scopes.has(scope));
  if (grants.length === 0) {
    const actual = [...plugin.grant.scopes].join(" ") || "no scopes";
    return { rule: "route.narrowed", expected: `${scope} still granted`, actual };
  }
  if (grants.some((grant) => devices.every((device) => grant.devices?.has(device) ?? true))) return undefined;
  const permitted = [...(plugin.grant.devices ?? [])].map(shown).join(", ") || "none";
  return { rule: "route.device", expected: `devices: ${permitted}`, actual: devices.map(shown).join(", ") };
}
