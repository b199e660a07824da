/** Variant A, with the operator who launched the plugin: authorization_code with PKCE and a client assertion. */
import type { PersonCredential, Settings } from "./credential.js";
import { explainRefusalOfA } from "./diagnosis.js";
import { keyReader } from "./key-reader.js";
import { personCredential } from "./person-credential.js";
import { type PluginSettings, preparePlugin, sendPluginRequest } from "./plugin-client.js";

/** The same key material as a service plugin's: the grant differs, not the authentication. */
export type UserInterfacePluginSettings = PluginSettings;

/**
 * The credential of a user-interface plugin: a page launched inside the host application (section 1 of the
 * description). It needs a code from a launch: give it to `redeemLaunch` or `createBackend`, not to `connect`.
 *
 * @see the description, sections 4.1 and 5.3
 * @example
 * const auth = await redeemLaunch({ baseUrl, tenantId, credential: userInterfacePlugin({ clientId, privateKey }), code, codeVerifier });
 */
export function userInterfacePlugin(settings: Settings<UserInterfacePluginSettings>): PersonCredential<"A"> {
  const readKey = keyReader();
  return personCredential("A", {
    async prepare(target, options) {
      const plugin = await preparePlugin(settings, target, readKey, options);
      return {
        clientId: plugin.clientId,
        fingerprint: plugin.fingerprint,
        // Section 4.1: no redirect_uri and no scope.
        sendCode: ({ code, codeVerifier }, attempt) =>
          sendPluginRequest(plugin, "authorization_code", { code, code_verifier: codeVerifier }, attempt),
        explain: (refusal) => explainRefusalOfA(refusal, plugin),
      };
    },
  });
}
