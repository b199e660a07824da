// openid-client, which we did not write, exchanges codes and refresh tokens of both variants for a
// person.
import * as client from "openid-client";
import { describe, expect, test } from "vitest";
import { key, PASSWORDS } from "../negative/world.js";
import { cryptoKey, type Deployment, deploy, formToJson } from "./deployment.js";

const kinds = [
  { clientId: "portal", authentication: client.None() },
  { clientId: "vault", authentication: client.ClientSecretPost(PASSWORDS.vault) },
] as const;
type Kind = (typeof kinds)[number];

function configurationB(
  { url, tokenUrlB }: Deployment,
  kind: Kind = kinds[0],
): client.Configuration {
  const metadata = {
    issuer: url,
    authorization_endpoint: `${url}/v1/auth/authorize`,
    token_endpoint: tokenUrlB,
    authorization_response_iss_parameter_supported: true,
  };
  const config = new client.Configuration(metadata, kind.clientId, undefined, kind.authentication);
  client.allowInsecureRequests(config);
  config[client.customFetch] = formToJson as client.CustomFetch;
  return config;
}

/** The callback URL of a login, and the values that the library compares it with. */
async function logIn({ emulator }: Deployment, config: client.Configuration) {
  const checks = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedState: client.randomState(),
  };
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: "http://127.0.0.1:51004/callback",
    scope: "devices:read",
    state: checks.expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const { callbackUrl } = emulator.login({ url: url.href, userId: "ada" });
  return { url: new URL(callbackUrl), checks };
}

const options = { issuerInCallback: true };
const invalidGrant = { status: 400, error: "invalid_grant" };

describe("openid-client in Variant B", () => {
  test.each(kinds)(
    "as a $clientId client logs in, lists devices, and refreshes with rotation",
    async (kind) => {
      const deployment = await deploy(options);
      const config = configurationB(deployment, kind);
      const { url, checks } = await logIn(deployment, config);
      const first = await client.authorizationCodeGrant(config, url, checks);
      const headers = { authorization: `Bearer ${first.access_token}` };
      expect((await fetch(`${deployment.url}/v1/devices`, { headers })).status).toBe(200);
      const second = await client.refreshTokenGrant(config, first.refresh_token ?? "");
      const third = await client.refreshTokenGrant(config, second.refresh_token ?? "");
      expect(new Set([first, second, third].map((tokens) => tokens.refresh_token)).size).toBe(3);
      // The reuse of a rotated token ends the whole family.
      const reuse = client.refreshTokenGrant(config, first.refresh_token ?? "");
      await expect(reuse).rejects.toMatchObject(invalidGrant);
      const after = client.refreshTokenGrant(config, third.refresh_token ?? "");
      await expect(after).rejects.toMatchObject(invalidGrant);
    },
  );

  test("rejects the callback without iss that the emulator sends by default", async () => {
    const deployment = await deploy();
    const config = configurationB(deployment);
    const { url, checks } = await logIn(deployment, config);
    await expect(client.authorizationCodeGrant(config, url, checks)).rejects.toThrow();
  });
});

test("openid-client exchanges the code of a launch in Variant A by private_key_jwt, once", async () => {
  const { emulator, url, tokenUrlA } = await deploy();
  const signing = { key: await cryptoKey(key.privateKey), kid: "key-1" };
  const authentication = client.PrivateKeyJwt(signing, {
    [client.modifyAssertion](_, payload) {
      payload.aud = tokenUrlA;
    },
  });
  const metadata = { issuer: url, token_endpoint: tokenUrlA };
  const config = new client.Configuration(metadata, "planner", undefined, authentication);
  client.allowInsecureRequests(config);
  const codeVerifier = client.randomPKCECodeVerifier();
  const codeChallenge = await client.calculatePKCECodeChallenge(codeVerifier);
  const launch = emulator.launch({ tenantId: "acme", clientId: "planner", userId: "ada" });
  const { code } = launch.authorize({ codeChallenge });
  const exchange = () =>
    client.genericGrantRequest(config, "authorization_code", { code, code_verifier: codeVerifier });
  expect(await exchange()).toMatchObject({ revo: { tenant: "acme", user: { userId: "ada" } } });
  await expect(exchange()).rejects.toMatchObject(invalidGrant);
});
