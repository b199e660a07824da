/** What both kinds of plugin have in common: the settings read, the key imported, and what that needs loaded first. */
import type { Cause } from "../../errors.js";
import { type Target, tokenEndpointOfA } from "../../variants/target.js";
import type { KeyReader } from "../keys/signing-key.js";
import { lazy, tryLoad } from "../lazy.js";
import {
  type MachineCredential,
  machineCredential,
  type PersonCredential,
  type PrepareOptions,
  personCredential,
  type Refusal,
  type SentAttempt,
  type Settings,
  type TokenAttempt,
} from "./credential.js";
import type { GrantTypeOfA, PluginSettings } from "./plugin-client.js";

/** With the libraries it is built on: whoever has no plugin, as with Variant B, does not wait for them. */
const pluginClient = /* @__PURE__ */ lazy(() => import("./plugin-client.js"));
const diagnosis = /* @__PURE__ */ lazy(() => import("../diagnosis.js"));

export interface PreparedPlugin {
  readonly clientId: string;
  readonly fingerprint: string;
  send(
    grantType: GrantTypeOfA,
    parameters: Readonly<Record<string, string>>,
    attempt: TokenAttempt,
  ): Promise<SentAttempt>;
  explain(refusal: Refusal): Promise<readonly Cause[]>;
}

/**
 * Gives a function that prepares a plugin for a tenant; while the same key is given it is imported once.
 *
 * @throws ConfigurationError `credential_invalid`, `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required`
 */
export function pluginPreparation(
  settings: Settings<PluginSettings>,
): (target: Target, options?: PrepareOptions) => Promise<PreparedPlugin> {
  let readKey: KeyReader | undefined;
  return async (target, options) => {
    const { keyReader, preparePlugin, sendPluginRequest } = await pluginClient();
    readKey ??= keyReader();
    const plugin = await preparePlugin(settings, target, readKey, options);
    const { clientId, fingerprint } = plugin;
    return {
      clientId,
      fingerprint,
      send: (grantType, parameters, attempt) => sendPluginRequest(plugin, grantType, parameters, attempt),
      explain: async (refusal) => {
        const explained = await tryLoad(diagnosis);
        return explained?.explainRefusalOfA(refusal, plugin) ?? [];
      },
    };
  };
}

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
