/** Variant A, no user: client_credentials with a client assertion (sections 2.2 and 4.1 of the description). */
import { tokenEndpointOfA } from "../variants/token-endpoints.js";
import { type MachineCredential, machineCredential, type Settings } from "./credential.js";
import type { PluginSettings } from "./plugin-client.js";
import { pluginPreparation } from "./plugin-preparation.js";

export type ServicePluginSettings = PluginSettings;

/**
 * The credential of a service plugin: a background process without a user (section 1 of the description).
 *
 * A key that is wrong is told before the first request: `key_invalid`, `key_unsupported`, `key_too_short`,
 * `key_id_required`.
 *
 * @see the description, sections 2.2, 4.1 and 5.4; RFC 7523 section 2.2
 * @example
 * servicePlugin({ clientId: "reports", privateKey: await readFile("private.pem", "utf8") })
 */
export function servicePlugin(settings: Settings<ServicePluginSettings>): MachineCredential<"A"> {
  const preparePlugin = pluginPreparation(settings);
  return machineCredential("A", {
    tokenEndpoint: tokenEndpointOfA,
    async prepare(target, options) {
      const { clientId, fingerprint, send, explain } = await preparePlugin(target, options);
      return {
        clientId,
        fingerprint,
        explain,
        send: (attempt) => send("client_credentials", {}, attempt),
      };
    },
  });
}
