/** The two credentials of Variant A, which differ in their grant: `servicePlugin` and `userInterfacePlugin`. */
import type { Cause } from "../../errors.js";
import type { Target } from "../../variants/target.js";
import type { SigningKeyCache } from "../keys/signing-key.js";
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
import type { PluginSettings } from "./plugin-client.js";

export type ServicePluginSettings = PluginSettings;

/** The same settings as for a service plugin. */
export type UserInterfacePluginSettings = PluginSettings;

/**
 * The credential of a service plugin: a background process without a user (section 1 of the description).
 *
 * A wrong key is reported before the first request: `key_invalid`, `key_unsupported`, `key_too_short`,
 * `key_id_required`.
 *
 * @see the description, sections 2.2, 4.1 and 5.4; RFC 7523 section 2.2
 * @example
 * servicePlugin({ clientId: "reports", privateKey: await readFile("private.pem", "utf8") })
 */
export function servicePlugin(settings: Settings<ServicePluginSettings>): MachineCredential<"A"> {
  const prepare = pluginPreparation(settings);
  return machineCredential("A", {
    async prepare(target, options) {
      const { send, ...client } = await prepare(target, options);
      return { ...client, send: (attempt) => send("client_credentials", {}, attempt) };
    },
  });
}

/**
 * The credential of a user-interface plugin: a page launched inside the host application (section 1 of the
 * description). It needs a code from a launch: pass it to `redeemLaunch` or `createBackend`, not to `connect`.
 *
 * @see the description, sections 4.1 and 5.3
 * @example
 * const auth = await redeemLaunch({ baseUrl, tenantId, credential: userInterfacePlugin({ clientId, privateKey }), code, codeVerifier });
 */
export function userInterfacePlugin(settings: Settings<UserInterfacePluginSettings>): PersonCredential<"A"> {
  const prepare = pluginPreparation(settings);
  return personCredential("A", {
    async prepare(target, options) {
      const { send, ...client } = await prepare(target, options);
      return {
        ...client,
        // Section 4.1: without redirect_uri and scope.
        sendCode: ({ code, codeVerifier }, attempt) =>
          send("authorization_code", { code, code_verifier: codeVerifier }, attempt),
      };
    },
  });
}

/** Loaded lazily with its libraries: a program that uses only Variant B does not wait for them. */
const pluginClient = /* @__PURE__ */ lazy(() => import("./plugin-client.js"));
/** Loaded lazily: it explains refusals. */
const diagnosis = /* @__PURE__ */ lazy(() => import("../diagnosis.js"));

interface PreparedPlugin {
  readonly clientId: string;
  readonly fingerprint: string;
  send(
    grantType: "client_credentials" | "authorization_code",
    parameters: Readonly<Record<string, string>>,
    attempt: TokenAttempt,
  ): Promise<SentAttempt>;
  explain(refusal: Refusal): Promise<readonly Cause[]>;
}

function pluginPreparation(
  settings: Settings<PluginSettings>,
): (target: Target, options?: PrepareOptions) => Promise<PreparedPlugin> {
  let keys: SigningKeyCache | undefined;
  return async (target, options) => {
    const { SigningKeyCache, preparePlugin, sendPluginRequest } = await pluginClient();
    keys ??= new SigningKeyCache();
    const plugin = await preparePlugin(settings, target, keys, options);
    return {
      clientId: plugin.clientId,
      fingerprint: plugin.fingerprint,
      send: (grantType, parameters, attempt) => sendPluginRequest(plugin, grantType, parameters, attempt),
      explain: async (refusal) => (await tryLoad(diagnosis))?.explainRefusalOfA(refusal, plugin) ?? [],
    };
  };
}
