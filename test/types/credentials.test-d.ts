/** The compiler accepts a credential or an Auth only for the functions that can use it. */
import type { KeyObject } from "node:crypto";
import { createBackend } from "../../src/backend/index.js";
import type { DeploymentSettings } from "../../src/contract/learning/settings.js";
import { createEmulator, type EmulatorOptions } from "../../src/emulator/index.js";
import {
  type Auth,
  apiClient,
  connect,
  createAuth,
  createConnector,
  redeemLaunch,
  serviceAccount,
  servicePlugin,
  userInterfacePlugin,
} from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { createVariantAClient } from "../../src/variant-a.js";
import { createVariantBClient } from "../../src/variant-b.js";
import { type Equal, proof } from "./proof.js";

const target = { baseUrl: "https://customer.example", tenantId: "acme" };
/**
 * One flat settings object serves the client and the emulator, whose options have all of its names.
 */
export function takesSettings(settings: DeploymentSettings): void {
  createEmulator(settings);
  createEmulator().reset(settings);
  void connect({ ...settings, ...target, credentials: [plugin] });
  apiClient({ ...settings, clientId: "c", authorizationEndpoint: "/v1/auth/authorize" });
  proof<Equal<Exclude<keyof DeploymentSettings, keyof EmulatorOptions>, never>>();
  // @ts-expect-error an unknown name
  const misspelt: DeploymentSettings = { bearerStatuss: [403] };
  void misspelt;
}

const plugin = servicePlugin({ clientId: "c", privateKey: "pem" });
const account = serviceAccount(async ({ tenantId }) => ({ clientId: tenantId, clientSecret: "s" }));
const page = userInterfacePlugin({ clientId: "c", privateKey: "pem" });
const portal = apiClient({
  clientId: "c",
  redirectUri: "https://p.example/cb",
  authorizationEndpoint: "https://a.example",
});

/** A machine credential is accepted wherever no person is needed. */
export function machines(): void {
  connect({ ...target, credentials: [plugin, account] });
  // @ts-expect-error a number is not a list of headers
  connect({ ...target, credentials: [plugin], headers: 5 });
  createConnector({ credentials: [account] });
  createAuth({ ...target, credential: plugin });
}

/** A person's credential needs a code, so none of these functions accepts it. */
export function persons(): void {
  // @ts-expect-error a user-interface plugin needs a launch
  connect({ ...target, credentials: [page] });
  // @ts-expect-error an API client needs a login
  connect({ ...target, credentials: [portal] });
  // @ts-expect-error each of them is a person's
  createConnector({ credentials: [page, portal] });
  // @ts-expect-error a user-interface plugin needs a launch
  createAuth({ ...target, credential: page });
  // @ts-expect-error an API client needs a login
  createAuth({ ...target, credential: portal });
}

/**
 * Settings alone are not a credential, and a credential accepts the settings of its own variant
 * only.
 */
export function settings(): void {
  // @ts-expect-error settings without their factory
  connect({ ...target, credentials: [{ clientId: "c", clientSecret: "s" }] });
  // @ts-expect-error Variant A has no client secrets (section 5.2 of the description)
  servicePlugin({ clientId: "c", clientSecret: "s" });
  // @ts-expect-error Variant B has no private keys
  serviceAccount({ clientId: "c", privateKey: "pem" });
  // @ts-expect-error a client id is a string
  servicePlugin({ clientId: 7, privateKey: "pem" });
  serviceAccount(async ({ tenantId }) =>
    tenantId === "a" ? { clientId: "c", clientSecret: "s" } : undefined,
  );
  for (const none of [() => undefined, async () => undefined])
    [apiClient(none), userInterfacePlugin(none)];
  // @ts-expect-error a tenant without a plugin is undefined, not null
  servicePlugin(() => null);
  servicePlugin({ clientId: "c", privateKey: () => ({ privateKey: "pem", keyId: "k" }) });
  servicePlugin({ clientId: "c", privateKey: { keyId: "kms-1", sign: async (bytes) => bytes } });
  proof<Equal<(typeof plugin)["variant"], "A">>();
  proof<Equal<(typeof portal)["variant"], "B">>();
}

/**
 * A launch needs a tenant, and a backend that accepts launches needs the origin of the host
 * application.
 */
export function launches(): void {
  const code = { code: "c", codeVerifier: "v".repeat(43) };
  redeemLaunch({ ...target, credential: page, ...code });
  // @ts-expect-error the tenant id is part of the token endpoint
  redeemLaunch({ baseUrl: target.baseUrl, credential: page, ...code });
  const hostOrigin = "https://customer.example";
  createBackend({ deployments: [{ ...target, hostOrigin, launch: page, login: portal }] });
  createBackend({ deployments: [{ ...target, login: portal }] });
  createBackend({
    deployments: async ({ purpose }) =>
      purpose === "login" ? { ...target, login: portal } : undefined,
  });
  // @ts-expect-error launches need hostOrigin
  createBackend({ deployments: [{ ...target, launch: page }] });
  // @ts-expect-error hostOrigin needs a launch credential
  createBackend({ deployments: [{ ...target, hostOrigin }] });
  // @ts-expect-error the two credentials are swapped
  createBackend({ deployments: [{ ...target, hostOrigin, launch: portal, login: page }] });
}

/** Keys of the web platform and of Node are both accepted. */
export function keys(cryptoKey: CryptoKey, keyObject: KeyObject): void {
  for (const privateKey of [cryptoKey, keyObject])
    userInterfacePlugin({ clientId: "c", privateKey });
  fileStore("grants.json", { key: cryptoKey });
  // @ts-expect-error a number is not a key
  userInterfacePlugin({ clientId: "c", privateKey: 7 });
  // @ts-expect-error a date is not a key
  fileStore("grants.json", { key: new Date() });
}

/**
 * The client of one variant accepts an Auth of that variant only, not one of an unknown variant.
 */
export function variantClients(either: Auth): void {
  const ofA = createAuth({ ...target, credential: plugin });
  const ofB = createAuth({ ...target, credential: account });
  createVariantAClient(ofA).GET("/api/v1/{tenantId}/devices");
  createVariantBClient(ofB).GET("/v1/devices");
  // @ts-expect-error an Auth of Variant B
  createVariantAClient(ofB);
  // @ts-expect-error an Auth of Variant A
  createVariantBClient(ofA);
  // @ts-expect-error the variant is not known
  createVariantAClient(either);
  // @ts-expect-error a path of Variant B
  createVariantAClient(ofA).GET("/v1/devices");
}
