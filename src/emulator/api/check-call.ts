// Decides whether a valid token may make this call: live registration, opt-in, scope, person, narrowing and device.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { grantsInForce, type Plugin } from "../registrations/plugins.js";
import { shown } from "../shown.js";
import type { Deployment } from "../state.js";
import type { IssuedToken } from "../stores.js";
import type { ApiRoute } from "./routes.js";

interface Call {
  readonly token: IssuedToken;
  readonly route: ApiRoute;
  /** Those that the request names. */
  readonly devices: readonly string[];
  /** "The registration is re-checked live on each call" (description, section 2.1). Undefined: there is none. */
  readonly plugin: Plugin | undefined;
  /** Of the person for whom the token acts, as they are now; undefined for a machine's. */
  readonly capabilities: ReadonlySet<string> | undefined;
  readonly now: number;
}

const checksOfEveryToken: readonly Check<Call>[] = [
  {
    rule: "route.scope",
    find({ token: { scopes }, route: { scope } }) {
      if (scope === undefined || scopes === undefined || scopes.has(scope)) return undefined;
      return { expected: scope, actual: [...scopes].join(" ") || "a token without scopes" };
    },
  },
  {
    // "Granted scopes intersected with the capabilities of the operator who launched it" (section 1).
    rule: "route.operator",
    find({ capabilities, route: { scope } }) {
      if (capabilities === undefined || scope === undefined || capabilities.has(scope)) return undefined;
      return { expected: scope, actual: [...capabilities].join(" ") || "no capabilities" };
    },
  },
];

const checksOfPlugins: readonly Check<Call>[] = [
  {
    rule: "bearer.plugin-enabled",
    find({ plugin, token: { unregistered } }) {
      if (plugin?.enabled && unregistered !== "plugin") return undefined;
      const registered = plugin?.enabled ? "registered anew: a token of its former registration" : "disabled";
      return { expected: "an enabled plugin", actual: plugin === undefined ? "not registered" : registered };
    },
  },
  {
    rule: "route.opt-in",
    find: ({ route }) =>
      route.takesPluginTokens === false
        ? { expected: "a token that is not a plugin's", actual: "a plugin token" }
        : undefined,
  },
  ...checksOfEveryToken,
  {
    rule: "route.narrowed",
    find({ plugin, route: { scope }, now }) {
      if (plugin === undefined || scope === undefined) return undefined;
      if (grantsInForce(plugin, now).some(({ scopes }) => scopes.has(scope))) return undefined;
      return {
        expected: `${scope} still granted`,
        actual: [...plugin.grant.scopes].join(" ") || "no scopes",
      };
    },
  },
  {
    rule: "route.device",
    find({ plugin, route: { scope }, devices, now }) {
      if (plugin === undefined) return undefined;
      const inForce = grantsInForce(plugin, now);
      const covering = inForce.filter(({ scopes }) => scope === undefined || scopes.has(scope));
      // None covers the scope only where the rule of the narrowed grant is off: then all of them count.
      const grants = covering.length > 0 ? covering : inForce;
      const reaches = (device: string, permitted: ReadonlySet<string> | undefined) =>
        permitted?.has(device) ?? true;
      if (grants.some((grant) => devices.every((device) => reaches(device, grant.devices)))) return undefined;
      const permitted = [...(plugin.grant.devices ?? [])].map(shown).join(", ") || "none";
      return { expected: `devices: ${permitted}`, actual: devices.map(shown).join(", ") };
    },
  },
];

/** `devices` are those that the request names. */
export function checkCall(
  { plugins, operators, clock, switches }: Deployment,
  token: IssuedToken,
  route: ApiRoute,
  devices: readonly string[],
): Refusal | undefined {
  const { variant, tenantId, clientId, userId } = token;
  return firstRefusal(switches, variant === "A" ? checksOfPlugins : checksOfEveryToken, {
    token,
    route,
    devices,
    plugin: variant === "A" ? plugins.find(tenantId, clientId) : undefined,
    capabilities:
      userId === undefined ? undefined : (operators.find(tenantId, userId)?.capabilities ?? new Set()),
    now: clock(),
  });
}
