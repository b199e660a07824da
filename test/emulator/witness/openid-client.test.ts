// openid-client, which we did not write, gets tokens of both variants over HTTP.
import * as openid from "openid-client";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createEmulator,
  type Emulator,
  type EmulatorOptions,
} from "../../../src/emulator/index.js";
import { cryptoKey } from "../../support/keys.js";
import { pluginKey, TOKEN_PATH_A, TOKEN_PATH_B } from "../deployment.js";
import { PASSWORDS, seed } from "../negative/world.js";

interface Deployment {
  readonly emulator: Emulator;
  readonly url: string;
}

async function deploy(options: EmulatorOptions = {}): Promise<Deployment> {
  // The library signs at real time.
  const emulator = createEmulator({ seed: { ...seed, clock: undefined }, ...options });
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  return { emulator, url };
}

/** For Variant B: JSON for the form of the library, and the token_type that it demands. */
async function formToJson(url: string, init: { headers: object; body?: unknown }) {
  const headers = { ...init.headers, "content-type": "application/json" };
  const body = JSON.stringify(Object.fromEntries(init.body as URLSearchParams));
  const response = await fetch(url, { method: "POST", headers, body });
  const answer = (await response.json()) as object;
  const completed = response.ok ? { token_type: "bearer", ...answer } : answer;
  return Response.json(completed, { status: response.status });
}

function configured(
  metadata: openid.ServerMetadata,
  clientId: string,
  authentication: openid.ClientAuth,
): openid.Configuration {
  const config = new openid.Configuration(metadata, clientId, undefined, authentication);
  openid.allowInsecureRequests(config);
  return config;
}

const signing = { key: await cryptoKey(pluginKey, { extractable: false }), kid: "key-1" };
/** With the token URL as `aud`, where the library puts the issuer. */
const privateKeyJwt = openid.PrivateKeyJwt(signing, {
  [openid.modifyAssertion](_, payload) {
    payload.aud = `${payload.aud}${TOKEN_PATH_A}`;
  },
});
const clientA = ({ url }: Deployment, clientId: string) =>
  configured({ issuer: url, token_endpoint: url + TOKEN_PATH_A }, clientId, privateKeyJwt);

function clientB({ url }: Deployment, clientId: string, authentication: openid.ClientAuth) {
  const metadata = {
    issuer: url,
    authorization_endpoint: `${url}/v1/auth/authorize`,
    token_endpoint: url + TOKEN_PATH_B,
    authorization_response_iss_parameter_supported: true,
  };
  const config = configured(metadata, clientId, authentication);
  config[openid.customFetch] = formToJson as openid.CustomFetch;
  return config;
}

const call = ({ url }: Deployment, path: string, { access_token }: { access_token: string }) =>
  fetch(url + path, { headers: { authorization: `Bearer ${access_token}` } });
const invalidGrant = { status: 400, error: "invalid_grant" };

describe("openid-client in Variant A", () => {
  test("gets a token by private_key_jwt and lists devices with it", async () => {
    const deployment = await deploy();
    const token = await openid.clientCredentialsGrant(clientA(deployment, "reporter"));
    const shown = { token_type: "bearer", expires_in: 3600, revo: { tenant: "acme" } };
    expect(token).toMatchObject(shown);
    expect(await (await call(deployment, "/api/v1/acme/devices", token)).json()).toHaveLength(3);
  });

  test("exchanges the code of a launch by private_key_jwt, once", async () => {
    const deployment = await deploy();
    const config = clientA(deployment, "planner");
    const code_verifier = openid.randomPKCECodeVerifier();
    const codeChallenge = await openid.calculatePKCECodeChallenge(code_verifier);
    const identity = { tenantId: "acme", clientId: "planner", userId: "ada" };
    const { code } = deployment.emulator.launch(identity).authorize({ codeChallenge });
    const exchange = () =>
      openid.genericGrantRequest(config, "authorization_code", { code, code_verifier });
    expect(await exchange()).toMatchObject({ revo: { tenant: "acme", user: { userId: "ada" } } });
    await expect(exchange()).rejects.toMatchObject(invalidGrant);
  });
});

describe("openid-client in Variant B", () => {
  const account = (deployment: Deployment) =>
    clientB(deployment, "worker", openid.ClientSecretPost(PASSWORDS.worker));

  test("gets a token by its secret, which lists devices of Variant B only", async () => {
    const deployment = await deploy();
    const token = await openid.clientCredentialsGrant(account(deployment));
    expect(await (await call(deployment, "/v1/devices", token)).json()).toHaveLength(3);
    expect((await call(deployment, "/api/v1/acme/devices", token)).status).toBe(401);
  });

  /** The callback URL of a login, and the values that the library compares it with. */
  async function logIn({ emulator }: Deployment, config: openid.Configuration) {
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const expectedState = openid.randomState();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: "http://127.0.0.1:51004/callback",
      scope: "devices:read",
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    });
    const { callbackUrl } = emulator.login({ url: url.href, userId: "ada" });
    return [new URL(callbackUrl), { pkceCodeVerifier, expectedState }] as const;
  }

  test.each([
    { clientId: "portal", authentication: openid.None() },
    { clientId: "vault", authentication: openid.ClientSecretPost(PASSWORDS.vault) },
  ])("as a $clientId client logs in, lists devices, and refreshes with rotation", async (row) => {
    const deployment = await deploy({ issuerInCallback: true });
    const config = clientB(deployment, row.clientId, row.authentication);
    const first = await openid.authorizationCodeGrant(config, ...(await logIn(deployment, config)));
    expect((await call(deployment, "/v1/devices", first)).status).toBe(200);
    const refreshed = ({ refresh_token = "" }: { refresh_token?: string }) =>
      openid.refreshTokenGrant(config, refresh_token);
    const second = await refreshed(first);
    const third = await refreshed(second);
    expect(new Set([first, second, third].map((tokens) => tokens.refresh_token)).size).toBe(3);
    // The reuse of a rotated token ends the whole family.
    await expect(refreshed(first)).rejects.toMatchObject(invalidGrant);
    await expect(refreshed(third)).rejects.toMatchObject(invalidGrant);
  });
});
