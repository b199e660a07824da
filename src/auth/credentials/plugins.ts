/**
 * The two credentials of Variant A, which differ in their grant: `servicePlugin` and
 * `userInterfacePlugin`.
 */
import { type ClockOptions, resolveClock } from "../../clock.js";
import { lazy } from "../../http/lazy.js";
import type { NamesOf } from "../../option-names.js";
import { requireOptions } from "../../options.js";
import type { PluginClient, PluginSettings } from "./client-assertion.js";
import {
  type CredentialDriver,
  givenSettings,
  type MachineCredential,
  machineCredential,
  type PersonCredential,
  type PreparedCredential,
  type PreparedPersonCredential,
  personCredential,
  requireText,
  type Settings,
} from "./credential.js";
import type { SigningKeyCache } from "./signing-key.js";

/** What {@link servicePlugin} takes (section 2.1 of the description). */
export type ServicePluginSettings = PluginSettings;

/** What {@link userInterfacePlugin} takes (section 2.1 of the description). */
export type UserInterfacePluginSettings = PluginSettings;

const names: NamesOf<PluginSettings> = {
  clientId: true,
  privateKey: true,
  keyId: true,
  audience: true,
};

/**
 * The credential of a service plugin: a background process without a user (section 1 of the
 * description).
 *
 * @throws ConfigurationError `option_invalid` at once for an unknown name; before the first request
 *   `credential_invalid`, and for a wrong key `key_invalid`, `key_unsupported`, `key_too_short`,
 *   `key_id_required`
 * @see the description, sections 2.2, 4.1 and 5.4; RFC 7523 section 2.2
 * @example
 * import { readFile } from "node:fs/promises";
 *
 * const plugin = servicePlugin({
 *   clientId: "reports",
 *   privateKey: await readFile("private.pem", "utf8"),
 * });
 * const service = await connect({ baseUrl, tenantId, credentials: [plugin] });
 */
export function servicePlugin(settings: Settings<ServicePluginSettings>): MachineCredential<"A"> {
  const driver = pluginDriver<PreparedCredential>(
    "servicePlugin",
    settings,
    ({ send, ...client }) => ({
      ...client,
      send: (attempt) => send("client_credentials", {}, attempt),
    }),
  );
  return machineCredential("A", driver);
}

/**
 * The credential of a user-interface plugin: a page launched inside the host application (section 1
 * of the description). It needs a code from a launch, so pass it to `redeemLaunch` or
 * `createBackend`, not to `connect`.
 *
 * @throws ConfigurationError as {@link servicePlugin} does
 * @see the description, sections 4.1 and 5.3; RFC 7636
 * @example
 * const credential = userInterfacePlugin({ clientId, privateKey });
 * const auth = await redeemLaunch({ baseUrl, tenantId, credential, code, codeVerifier });
 */
export function userInterfacePlugin(
  settings: Settings<UserInterfacePluginSettings>,
): PersonCredential<"A"> {
  const driver = pluginDriver<PreparedPersonCredential>(
    "userInterfacePlugin",
    settings,
    ({ send, ...client }) => ({
      ...client,
      // Section 4.1 shows neither redirect_uri nor scope.
      sendCode: ({ code, codeVerifier }, attempt) =>
        send("authorization_code", { code, code_verifier: codeVerifier }, attempt),
    }),
  );
  return personCredential("A", driver);
}

/**
 * Makes one client assertion, to probe a token endpoint with a tool of your own: a JWT signed with
 * RS256 that is valid for 60 s. A service accepts it once, since it has its own `jti`. `audience`
 * is the exact token URL, with the tenant in it.
 *
 * @throws ConfigurationError `credential_invalid`, `option_invalid`, and those of a wrong key
 * @see the description, section 2.2; RFC 7523 section 3
 * @example
 * const audience = "https://customer.example/api/v1/acme/external-plugin/oauth/token";
 * const assertion = await createClientAssertion({ clientId: "reports", privateKey, audience });
 */
export async function createClientAssertion(
  options: PluginSettings & ClockOptions & { readonly audience: string },
): Promise<string> {
  const known: NamesOf<typeof options> = { ...names, clock: true };
  const { privateKey, keyId } = requireOptions("createClientAssertion", options, known);
  const clientId = requireText(options.clientId, "clientId", "A");
  const audience = requireText(options.audience, "audience", "A");
  const issuedAt = Math.floor(resolveClock(options).now() / 1_000);
  const { SigningKeyCache, signClientAssertion } = await pluginClient();
  const key = await new SigningKeyCache().read(privateKey, keyId);
  return signClientAssertion({ clientId, audience, issuedAt }, key);
}

/**
 * This module and its libraries load lazily, so that a program that uses only Variant B does not
 * wait for them.
 */
const pluginClient = /* @__PURE__ */ lazy(() => import("./client-assertion.js"));

/** Makes the driver of a plugin. `grantOf` returns the plugin as the client of one grant. */
function pluginDriver<P>(
  of: string,
  settings: Settings<PluginSettings>,
  grantOf: (client: PluginClient) => P,
): CredentialDriver<P> {
  const given = givenSettings(of, settings, names);
  let keys: SigningKeyCache | undefined;
  return {
    callsFunction: typeof settings === "function" || typeof settings?.privateKey === "function",
    async prepare(target, options) {
      const { SigningKeyCache, preparePlugin } = await pluginClient();
      keys ??= new SigningKeyCache();
      return grantOf(await preparePlugin(given, target, keys, options));
    },
  };
}
