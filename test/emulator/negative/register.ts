// One registration of every kind, in two tenants, for rows to use and to break.
import type { Emulator } from "../../../src/emulator/index.js";
import { newSigningKey, type SigningKey } from "../signing-key.js";

export const CALLBACK = "https://portal.example/callback";
/** One set for all rows of a file: generating a key takes longer than a row. */
export const key: SigningKey = newSigningKey("key-1");
export const secondKey: SigningKey = newSigningKey("key-2");
export const strangersKey: SigningKey = newSigningKey("key-1");

export function register(emulator: Emulator): void {
  const jwks = { keys: [key.publicJwk] };
  const scopes = ["devices:read", "schedules:execute"];
  const service = { tenantId: "acme", type: "service", jwks, scopes } as const;
  const page = { pageUrl: "https://plugin.example/page", jwks, scopes, type: "user_interface" } as const;
  emulator.registerPlugin({ ...service, clientId: "reporter" });
  emulator.registerPlugin({ ...service, clientId: "reporter", tenantId: "globex" });
  emulator.registerPlugin({ ...service, clientId: "archiver" });
  emulator.registerPlugin({
    ...service,
    clientId: "rotating",
    jwks: { keys: [key.publicJwk, secondKey.publicJwk] },
  });
  emulator.registerPlugin({ ...service, clientId: "boxed", devices: ["device-1"] });
  emulator.registerPlugin({ ...service, clientId: "writer", scopes: ["devices:write"] });
  emulator.registerPlugin({ ...service, clientId: "off", enabled: false });
  emulator.registerPlugin({ ...page, tenantId: "acme", clientId: "planner" });
  emulator.registerPlugin({ ...page, tenantId: "acme", clientId: "viewer" });
  emulator.registerPlugin({ ...page, tenantId: "acme", clientId: "off-page", enabled: false });
  emulator.registerPlugin({ ...page, tenantId: "globex", clientId: "planner" });
  const ada = {
    tenantId: "acme",
    userId: "ada",
    firstname: "Ada",
    lastname: "Lovelace",
    password: "difference",
  };
  const roles = [{ name: "planner", group: "people" }];
  emulator.registerOperator({ ...ada, capabilities: ["devices:read"], roles });
  emulator.registerOperator({ tenantId: "acme", userId: "bob", capabilities: ["devices:read"] });
  emulator.registerOperator({ tenantId: "globex", userId: "grace", capabilities: ["devices:read"] });
  emulator.registerServiceAccount({ clientId: "worker", clientSecret: "worker's secret", tenantId: "acme" });
  emulator.registerServiceAccount({ clientId: "counter", clientSecret: "42", tenantId: "acme" });
  emulator.registerServiceAccount({
    clientId: "narrow",
    clientSecret: "narrow's secret",
    tenantId: "acme",
    scopes: ["devices:write"],
  });
  const portal = { tenantId: "acme", scopes: ["devices:read", "devices:write"] };
  const redirectUris = [CALLBACK, "http://127.0.0.1/callback"];
  emulator.registerApiClient({ ...portal, clientId: "portal", redirectUris });
  emulator.registerApiClient({ ...portal, clientId: "kiosk", redirectUris: [CALLBACK] });
  emulator.registerApiClient({
    ...portal,
    clientId: "vault",
    redirectUris: [CALLBACK],
    clientSecret: "vault's secret",
  });
}
