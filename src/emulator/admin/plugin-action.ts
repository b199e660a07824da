// The forms of a plugin: each changes one thing of it and leaves the rest as it is.
import { EmulatorError } from "../emulator-error.js";
import type { PluginUpdate } from "../registrations/plugin-registration.js";
import type { AdminAction } from "./admin-site.js";
import { pluginsPage } from "./plugins-page.js";
import { readScopes } from "./scopes-field.js";

export const pluginAction: AdminAction = {
  path: "/plugins",
  page: pluginsPage,
  act(site, fields) {
    const { plugins, clock } = site.deployment();
    const plugin = { tenantId: fields.get("tenantId") ?? "", clientId: fields.get("clientId") ?? "" };
    plugins.update({ ...plugin, ...changeOf(fields) }, clock());
  },
};

function changeOf(fields: URLSearchParams): Partial<PluginUpdate> {
  const jwks = fields.get("jwks");
  if (jwks !== null) return { jwks: readJwks(fields, jwks) };
  if (fields.has("enabled")) return { enabled: fields.get("enabled") === "true" };
  if (fields.get("do") === "scopes") return { scopes: readScopes(fields) };
  if (!fields.has("limited")) return { devices: null };
  const lines = (fields.get("devices") ?? "").split(/\r?\n/).map((line) => line.trim());
  return { devices: lines.filter((line) => line !== "") };
}

/** What may be a private key is not shown again, not even to whoever typed it. */
const PRIVATE = /PRIVATE KEY|"(d|p|q|dp|dq|qi|oth|k)"\s*:/;

function readJwks(fields: URLSearchParams, text: string): PluginUpdate["jwks"] {
  if (PRIVATE.test(text)) fields.set("jwks", "");
  try {
    return JSON.parse(text) as PluginUpdate["jwks"];
  } catch {
    throw new EmulatorError("key_invalid", "jwks", { issues: ["jwks: is not JSON"] });
  }
}
