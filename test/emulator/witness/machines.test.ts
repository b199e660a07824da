// openid-client, which we did not write, gets machine tokens of both variants over HTTP, and is refused when it
// authenticates otherwise. The table of negative requests has every broken assertion.
import { generateKeyPairSync } from "node:crypto";
import * as openid from "openid-client";
import { describe, expect, test } from "vitest";
import { type RuleId, rules } from "../../../src/emulator/index.js";
import { key, PASSWORDS, unregisteredKey } from "../negative/world.js";
import { cryptoKey, type Deployment, deploy, formToJson } from "./deployment.js";

interface Client {
  readonly clientId?: string;
  /** Default: private_key_jwt with the token URL as `aud`, where the library puts the issuer. */
  readonly authentication?: openid.ClientAuth;
}

const privateKey = await cryptoKey(key.privateKey);

function privateKeyJwt(key: CryptoKey = privateKey): openid.ClientAuth {
  return openid.PrivateKeyJwt(
    { key, kid: "key-1" },
    {
      // The library identifies the server by its base URL, the issuer.
      [openid.modifyAssertion](_, payload) {
        payload.aud = `${payload.aud}/api/v1/acme/external-plugin/oauth/token`;
      },
    },
  );
}

function clientA(deployment: Deployment, client: Client): openid.Configuration {
  const { clientId = "reporter", authentication = privateKeyJwt() } = client;
  const metadata = { issuer: deployment.url, token_endpoint: deployment.tokenUrlA };
  const config = new openid.Configuration(metadata, clientId, undefined, authentication);
  openid.allowInsecureRequests(config);
  return config;
}

function clientB(deployment: Deployment, clientId: string, secret: string): openid.Configuration {
  const metadata = { issuer: deployment.url, token_endpoint: deployment.tokenUrlB };
  const config = new openid.Configuration(metadata, clientId, undefined, openid.ClientSecretPost(secret));
  openid.allowInsecureRequests(config);
  config[openid.customFetch] = formToJson as openid.CustomFetch;
  return config;
}

const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const publicPem = String(key.publicKey.export({ type: "spki", format: "pem" }));
const signedWith = async (...key: Parameters<typeof cryptoKey>): Promise<Client> => ({
  authentication: privateKeyJwt(await cryptoKey(...key)),
});

const refusedClients: readonly { name: string; client: () => Client | Promise<Client>; rule: RuleId }[] = [
  {
    name: "another key signs",
    client: () => signedWith(unregisteredKey.privateKey),
    rule: "assertion.signature",
  },
  {
    name: "PS256 signs",
    client: () => signedWith(key.privateKey, "RSA-PSS"),
    rule: "assertion.algorithm",
  },
  { name: "ES256 signs", client: () => signedWith(elliptic, "ECDSA"), rule: "assertion.algorithm" },
  {
    name: "HS256 signs, keyed with the public key",
    client: () => ({ authentication: openid.ClientSecretJwt(publicPem) }),
    rule: "assertion.algorithm",
  },
  {
    name: "aud is what the library chooses",
    client: () => ({ authentication: openid.PrivateKeyJwt({ key: privateKey, kid: "key-1" }) }),
    rule: "assertion.audience",
  },
  {
    name: "a secret in the body authenticates",
    client: () => ({ authentication: openid.ClientSecretPost("secret") }),
    rule: "token-request.one-authentication",
  },
  {
    name: "Basic authenticates",
    client: () => ({ authentication: openid.ClientSecretBasic("secret") }),
    rule: "token-request.one-authentication",
  },
  {
    name: "nothing authenticates",
    client: () => ({ authentication: openid.None() }),
    rule: "token-request.assertion-type",
  },
];

function call(
  { url }: Deployment,
  path: string,
  { access_token }: { access_token: string },
): Promise<Response> {
  return fetch(url + path, { headers: { authorization: `Bearer ${access_token}` } });
}

describe("openid-client", () => {
  const tokenA = (deployment: Deployment, client: Client = {}) =>
    openid.clientCredentialsGrant(clientA(deployment, client));
  const tokenB = (deployment: Deployment, clientId: string, secret: string) =>
    openid.clientCredentialsGrant(clientB(deployment, clientId, secret));

  test("gets a token of Variant A by private_key_jwt and lists devices with it", async () => {
    const deployment = await deploy();
    const token = await tokenA(deployment);
    expect(token).toMatchObject({ token_type: "bearer", expires_in: 3600, revo: { tenant: "acme" } });
    expect(await (await call(deployment, "/api/v1/acme/devices", token)).json()).toHaveLength(3);
  });

  test.each(refusedClients)("is refused in Variant A when $name", async ({ client, rule }) => {
    const deployment = await deploy();
    await expect(tokenA(deployment, await client())).rejects.toMatchObject(rules[rule].answer);
    expect(deployment.lastRule()).toBe(rule);
  });

  test("gets a token of Variant B by its secret, which lists devices of Variant B only", async () => {
    const deployment = await deploy();
    const token = await tokenB(deployment, "worker", PASSWORDS.worker);
    expect(await (await call(deployment, "/v1/devices", token)).json()).toHaveLength(3);
    expect((await call(deployment, "/api/v1/acme/devices", token)).status).toBe(401);
  });

  const wrongCredentials = [
    { name: "the secret is wrong", clientId: "worker", secret: "wrong" },
    { name: "the client is unknown", clientId: "unknown", secret: PASSWORDS.worker },
    { name: "the client is a plugin of Variant A", clientId: "reporter", secret: PASSWORDS.worker },
  ];
  test.each(wrongCredentials)("is refused in Variant B when $name", async ({ clientId, secret }) => {
    const deployment = await deploy();
    const refusal = { status: 401, error: "invalid_client" };
    await expect(tokenB(deployment, clientId, secret)).rejects.toMatchObject(refusal);
    expect(deployment.lastRule()).toBe("client.authentication");
  });
});

test("openid-client is refused a refresh in Variant A", async () => {
  const refresh = openid.refreshTokenGrant(clientA(await deploy(), {}), "any");
  await expect(refresh).rejects.toMatchObject({ status: 400, error: "unsupported_grant_type" });
});

test("openid-client is refused in Variant B when it sends the standard's form", async () => {
  const deployment = await deploy();
  const config = clientB(deployment, "worker", PASSWORDS.worker);
  config[openid.customFetch] = fetch as openid.CustomFetch;
  await expect(openid.clientCredentialsGrant(config)).rejects.toThrow();
  expect(deployment.lastRule()).toBe("client-request.media-type");
});
