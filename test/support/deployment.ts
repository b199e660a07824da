// An emulated deployment with one plugin and one service account in each tenant, and credentials
// for them.
import { createEmulator, type Emulator, type EmulatorOptions } from "../../src/emulator/index.js";
import {
  type MachineCredential,
  type ServicePluginSettings,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import { pkcs8, publicJwk, rsaKey } from "./keys.js";

export const PLUGIN_ID = "reporter-plugin";
export const ACCOUNT_ID = "reporter-account";
export const ACCOUNT_SECRET = "account-secret-6f0f8d9c2b";

export interface DeploymentOptions extends EmulatorOptions {
  readonly tenants?: readonly string[];
  readonly scopes?: readonly string[];
}

/** The ids in the first tenant are plain; those in the others have the tenant appended. */
export function deployment({
  tenants = ["acme"],
  scopes,
  ...options
}: DeploymentOptions = {}): Emulator {
  const emulator = createEmulator({ publicUrl: "http://service.localhost", ...options });
  for (const tenantId of tenants) {
    emulator.registerPlugin({
      clientId: PLUGIN_ID,
      tenantId,
      type: "service",
      jwks: { keys: [publicJwk(rsaKey())] },
      scopes: scopes ?? ["devices:read"],
    });
    const clientId = tenantId === tenants[0] ? ACCOUNT_ID : `${ACCOUNT_ID}-${tenantId}`;
    emulator.registerServiceAccount({ clientId, clientSecret: ACCOUNT_SECRET, tenantId });
  }
  return emulator;
}

export function plugin(settings: Partial<ServicePluginSettings> = {}): MachineCredential<"A"> {
  return servicePlugin({ clientId: PLUGIN_ID, privateKey: pkcs8(rsaKey()), ...settings });
}

export function account(
  settings: { clientId?: string; clientSecret?: string } = {},
): MachineCredential<"B"> {
  return serviceAccount({ clientId: ACCOUNT_ID, clientSecret: ACCOUNT_SECRET, ...settings });
}

export function credentialOf(variant: "A" | "B"): MachineCredential {
  return variant === "A" ? plugin() : account();
}
