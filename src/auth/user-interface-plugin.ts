/** Variant A, with the operator who launched the plugin: authorization_code with PKCE and a client assertion. */
import type { PersonCredential, Settings } from "./credential.js";
import { personCredential } from "./person-credential.js";
import type { PluginSettings } from "./plugin-client.js";
import { pluginPreparation } from "./plugin-preparation.js";

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
  const preparePlugin = pluginPreparation(settings);
  return personCredential("A", {
    async prepare(target, options) {
      const { clientId, fingerprint, send, explain } = await preparePlugin(target, options);
      return {
        clientId,
        fingerprint,
        explain,
        // Section 4.1: no redirect_uri and no scope.
        sendCode: ({ code, codeVerifier }, attempt) =>
          send("authorization_code", { code, code_verifier: codeVerifier }, attempt),
      };
    },
  });
}
