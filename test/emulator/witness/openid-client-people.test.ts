// openid-client, which we did not write, as a person's client: codes and refreshes on both variants.
import * as client from "openid-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEmulator, type Emulator, type EmulatorOptions } from "../../../src/emulator/index.js";
import { ada } from "../launched-plugin.js";
import { cryptoKey, formToJson, witnessKey } from "./witness-deployment.js";

const REDIRECT_URI = "http://127.0.0.1/callback";
const SECRET = "open sesame";

interface Deployed {
  readonly emulator: Emulator;
  readonly url: string;
}

async function deployed(options: EmulatorOptions = {}): Promise<Deployed> {
  const emulator = createEmulator(options);
  emulator.registerOperator(ada);
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  return { emulator, url };
}

describe("Variant B by authorization code and refresh token", () => {
  const clients = [
    { name: "a public client", clientSecret: undefined, authentication: client.None() },
    { name: "a confidential client", clientSecret: SECRET, authentication: client.ClientSecretPost(SECRET) },
  ];

  type Kind = (typeof clients)[number];

  function configurationB({ emulator, url }: Deployed, kind: Kind): client.Configuration {
    const { clientSecret, authentication } = kind;
    emulator.registerApiClient({ clientId: "portal", redirectUris: [REDIRECT_URI], clientSecret });
    const metadata = {
      issuer: url,
      authorization_endpoint: `${url}/v1/auth/authorize`,
      token_endpoint: `${url}/v1/auth/token`,
      authorization_response_iss_parameter_supported: true,
    };
    const config = new client.Configuration(metadata, "portal", undefined, authentication);
    client.allowInsecureRequests(config);
    config[client.customFetch] = formToJson as client.CustomFetch;
    return config;
  }

  /** What the library makes of a login, up to its callback. */
  async function callback(deployment: Deployed, config: client.Configuration, decision?: "deny") {
    const checks = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState: client.randomState() };
    const url = client.buildAuthorizationUrl(config, {
      // A native app's: any port of the loopback address.
      redirect_uri: "http://127.0.0.1:51004/callback",
      scope: "devices:read",
      state: checks.expectedState,
      code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
      code_challenge_method: "S256",
    });
    const { callbackUrl } = deployment.emulator.login({ url: url.href, userId: "ada", decision });
    return { url: new URL(callbackUrl), checks };
  }

  const options = { issuerInCallback: true };

  test.each(clients)("$name logs in, lists devices, and refreshes with rotation", async (kind) => {
    const deployment = await deployed(options);
    const config = configurationB(deployment, kind);
    const { url, checks } = await callback(deployment, config);
    const first = await client.authorizationCodeGrant(config, url, checks);
    const response = await fetch(`${deployment.url}/v1/devices`, {
      headers: { authorization: `Bearer ${first.access_token}` },
    });
    expect(response.status).toBe(200);
    const second = await client.refreshTokenGrant(config, first.refresh_token ?? "");
    const third = await client.refreshTokenGrant(config, second.refresh_token ?? "");
    expect(new Set([first, second, third].map((tokens) => tokens.refresh_token)).size).toBe(3);
    // The library sends what it is told; the reuse of a rotated token ends the family.
    const reuse = client.refreshTokenGrant(config, first.refresh_token ?? "");
    await expect(reuse).rejects.toMatchObject({ status: 400, error: "invalid_grant" });
    const after = client.refreshTokenGrant(config, third.refresh_token ?? "");
    await expect(after).rejects.toMatchObject({ status: 400, error: "invalid_grant" });
  });

  test.each(clients)("$name keeps its refresh token where there is no rotation", async (kind) => {
    const deployment = await deployed({ ...options, refreshTokens: { rotation: false } });
    const config = configurationB(deployment, kind);
    const { url, checks } = await callback(deployment, config);
    const { refresh_token: refreshToken = "" } = await client.authorizationCodeGrant(config, url, checks);
    for (let round = 0; round < 2; round++) {
      expect((await client.refreshTokenGrant(config, refreshToken)).refresh_token).toBeUndefined();
    }
  });

  const [publicClient] = clients as [Kind];

  test("a code is refused the second time", async () => {
    const deployment = await deployed(options);
    const config = configurationB(deployment, publicClient);
    const { url, checks } = await callback(deployment, config);
    await client.authorizationCodeGrant(config, url, checks);
    const again = client.authorizationCodeGrant(config, url, checks);
    await expect(again).rejects.toMatchObject({ status: 400, error: "invalid_grant" });
  });

  test("another verifier is refused", async () => {
    const deployment = await deployed(options);
    const config = configurationB(deployment, publicClient);
    const { url, checks } = await callback(deployment, config);
    const wrong = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() };
    const grant = client.authorizationCodeGrant(config, url, wrong);
    await expect(grant).rejects.toMatchObject({ status: 400, error: "invalid_grant" });
  });

  test("a person's refusal reaches the library as access_denied", async () => {
    const deployment = await deployed(options);
    const config = configurationB(deployment, publicClient);
    const { url, checks } = await callback(deployment, config, "deny");
    const grant = client.authorizationCodeGrant(config, url, checks);
    await expect(grant).rejects.toMatchObject({ error: "access_denied" });
  });

  test("the library misses iss where the emulator is told to leave it out", async () => {
    const deployment = await deployed();
    const config = configurationB(deployment, publicClient);
    const { url, checks } = await callback(deployment, config);
    await expect(client.authorizationCodeGrant(config, url, checks)).rejects.toThrow();
  });
});

test("Variant A: a launched plugin exchanges its code by private_key_jwt, once", async () => {
  const { emulator, url } = await deployed();
  const jwks = { keys: [witnessKey.publicJwk] };
  const plugin = { tenantId: "acme", clientId: "planner" };
  emulator.registerPlugin({ ...plugin, type: "user_interface", jwks, scopes: ["devices:read"] });
  const tokenUrl = `${url}/api/v1/acme/external-plugin/oauth/token`;
  const authentication = client.PrivateKeyJwt(
    { key: await cryptoKey(witnessKey.privateKey), kid: "key-1" },
    {
      [client.modifyAssertion](_, payload) {
        payload.aud = tokenUrl;
      },
    },
  );
  const metadata = { issuer: url, token_endpoint: tokenUrl };
  const config = new client.Configuration(metadata, "planner", undefined, authentication);
  client.allowInsecureRequests(config);
  const codeVerifier = client.randomPKCECodeVerifier();
  const codeChallenge = await client.calculatePKCECodeChallenge(codeVerifier);
  const { code } = emulator.launch({ ...plugin, userId: "ada" }).authorize({ codeChallenge });
  const exchange = () =>
    client.genericGrantRequest(config, "authorization_code", { code, code_verifier: codeVerifier });
  expect(await exchange()).toMatchObject({ revo: { tenant: "acme", user: { userId: "ada" } } });
  await expect(exchange()).rejects.toMatchObject({ status: 400, error: "invalid_grant" });
});
