/** What both kinds of plugin have in common: the settings read, the key imported, and what that needs loaded first. */
import type { Cause } from "../errors.js";
import type { Target } from "../variants/target.js";
import type { PrepareOptions, Refusal, SentAttempt, Settings, TokenAttempt } from "./credential.js";
import type { KeyReader } from "./key-reader.js";
import type { GrantTypeOfA, PluginSettings } from "./plugin-client.js";
import { tryToLoad, whenNeeded } from "./when-needed.js";

/** With the libraries it is built on: whoever has no plugin, as with Variant B, does not wait for them. */
const pluginClient = /* @__PURE__ */ whenNeeded(() => import("./plugin-client.js"));
const diagnosis = /* @__PURE__ */ whenNeeded(() => import("./diagnosis.js"));

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
        const explained = await tryToLoad(diagnosis);
        return explained?.explainRefusalOfA(refusal, plugin) ?? [];
      },
    };
  };
}
