/** Which credential and which Auth goes where: a mistake here is one of the program, so the compiler says it. */
import type { KeyObject } from "node:crypto";
import { createBackend } from "../../src/backend/index.js";
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
const plugin = servicePlugin({ clientId: "c", privateKey: "pem" });
const account = serviceAccount(async ({ tenantId }) => ({ clientId: tenantId, clientSecret: "s" }));
const page = userInterfacePlugin({ clientId: "c", privateKey: "pem" });
const portal = apiClient({
  clientId: "c",
  redirectUri: "https://p.example/cb",
  authorizationEndpoint: "https://a.example",
});

/** A machine's credential goes everywhere where no person is needed. */
export function machines(): void {
  connect({ ...target, credentials: [plugin, account] });
  createConnector({ credentials: [account] });
  createAuth({ ...target, credential: plugin });
}

/** A person's credential needs a code: it goes to none of them. */
export function persons(): void {
  // @ts-expect-error a user-interface plugin needs a launch
  connect({ ...target, credentials: [page] });
  // @ts-expect-error an API client needs a login
  connect({ ...target, credentials: [portal] });
  // @ts-expect-error also among others
  connect({ ...target, credentials: [plugin, portal] });
  // @ts-expect-error a user-interface plugin needs a launch
  createConnector({ credentials: [page] });
  // @ts-expect-error an API client needs a login
  createConnector({ credentials: [portal] });
  // @ts-expect-error a user-interface plugin needs a launch
  createAuth({ ...target, credential: page });
  // @ts-expect-error an API client needs a login
  createAuth({ ...target, credential: portal });
}

/** Settings alone are no credential, and a credential takes the settings of its own variant only. */
export function settings(): void {
  // @ts-expect-error settings without their factory
  connect({ ...target, credentials: [{ clientId: "c", clientSecret: "s" }] });
  // @ts-expect-error Variant A has no client secrets (section 5.2 of the description)
  servicePlugin({ clientId: "c", clientSecret: "s" });
  // @ts-expect-error Variant B has no private keys
  serviceAccount({ clientId: "c", privateKey: "pem" });
  // @ts-expect-error a client id is a text
  servicePlugin({ clientId: 7, privateKey: "pem" });
  servicePlugin({ clientId: "c", privateKey: () => ({ privateKey: "pem", keyId: "k" }) });
  servicePlugin({ clientId: "c", privateKey: { keyId: "kms-1", sign: async (bytes) => bytes } });
  proof<Equal<(typeof plugin)["variant"], "A">>();
  proof<Equal<(typeof portal)["variant"], "B">>();
}

/** A launch is exchanged at the token endpoint of a tenant, and happens in a host application's page. */
export function launches(): void {
  const code = { code: "c", codeVerifier: "v".repeat(43) };
  redeemLaunch({ ...target, credential: page, ...code });
  // @ts-expect-error without a tenant there is no such endpoint
  redeemLaunch({ baseUrl: target.baseUrl, credential: page, ...code });
  const hostOrigin = "https://customer.example";
  createBackend({ deployments: [{ ...target, hostOrigin, launch: page, login: portal }] });
  createBackend({ deployments: [{ ...target, login: portal }] });
  createBackend({
    deployments: async ({ purpose }) => (purpose === "login" ? { ...target, login: portal } : undefined),
  });
  // @ts-expect-error nobody would know who may launch
  createBackend({ deployments: [{ ...target, launch: page }] });
  // @ts-expect-error nobody could come from there
  createBackend({ deployments: [{ ...target, hostOrigin }] });
  // @ts-expect-error changed over
  createBackend({ deployments: [{ ...target, hostOrigin, launch: portal, login: page }] });
}

/** Keys of either platform are keys, whatever its types call them. */
export function keys(cryptoKey: CryptoKey, keyObject: KeyObject): void {
  for (const privateKey of [cryptoKey, keyObject]) userInterfacePlugin({ clientId: "c", privateKey });
  fileStore("grants.json", { key: cryptoKey });
  // @ts-expect-error a number is no key
  userInterfacePlugin({ clientId: "c", privateKey: 7 });
  // @ts-expect-error nor is a date
  fileStore("grants.json", { key: new Date() });
}

/** The client of one variant takes an Auth of that variant only; an Auth of either is not enough. */
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
