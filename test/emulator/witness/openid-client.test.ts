// openid-client, which we did not write, against the emulator over HTTP, on both variants.
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuleId } from "../../../src/emulator/index.js";
import { newSigningKey } from "../signing-key.js";
import { brokenAssertions, type Modify } from "./broken-assertions.js";
import {
  CLIENT_SECRET,
  cryptoKey,
  ecPrivateKey,
  formToJson,
  type WitnessDeployment,
  witnessDeployment,
  witnessKey,
} from "./witness-deployment.js";

let deployment: WitnessDeployment;
let privateKey: CryptoKey;
beforeAll(async () => {
  deployment = await witnessDeployment();
  privateKey = await cryptoKey(witnessKey.privateKey);
});
afterAll(() => deployment.close());

const lastRule = () => deployment.emulator.customerLog.entries().at(-1)?.rule;

interface Client {
  clientId?: string;
  tenantId?: string;
  authentication?: client.ClientAuth;
}

/** A client of Variant A: aud is the token URL, which the library sets to the issuer. */
function clientA({
  clientId = "reporter",
  tenantId = "acme",
  authentication,
}: Client = {}): client.Configuration {
  const metadata = { issuer: deployment.url, token_endpoint: deployment.tokenUrlA(tenantId) };
  const config = new client.Configuration(metadata, clientId, undefined, authentication ?? privateKeyJwt());
  client.allowInsecureRequests(config);
  return config;
}

function privateKeyJwt(modify: Modify = () => {}, key: CryptoKey = privateKey): client.ClientAuth {
  return client.PrivateKeyJwt(
    { key, kid: "key-1" },
    {
      [client.modifyAssertion](header, payload) {
        payload.aud = deployment.tokenUrlA("acme");
        modify(header, payload);
      },
    },
  );
}

function clientB(clientId: string, secret: string): client.Configuration {
  const metadata = { issuer: deployment.url, token_endpoint: deployment.tokenUrlB };
  const config = new client.Configuration(metadata, clientId, undefined, client.ClientSecretPost(secret));
  client.allowInsecureRequests(config);
  config[client.customFetch] = formToJson as client.CustomFetch;
  return config;
}

describe("Variant A by client_credentials and private_key_jwt", () => {
  test("gets a token and lists devices with it", async () => {
    const config = clientA();
    const token = await client.clientCredentialsGrant(config);
    expect(token).toMatchObject({ token_type: "bearer", expires_in: 3600, revo: { tenant: "acme" } });
    const url = new URL(`${deployment.url}/api/v1/acme/devices`);
    const response = await client.fetchProtectedResource(config, token.access_token, url, "GET");
    expect(await response.json()).toHaveLength(3);
  });

  test.each(brokenAssertions)("is refused when $name", async ({ rule, modify }) => {
    const grant = client.clientCredentialsGrant(clientA({ authentication: privateKeyJwt(modify) }));
    await expect(grant).rejects.toMatchObject({ status: 400, error: "invalid_client" });
    expect(lastRule()).toBe(rule);
  });

  test("is refused when the jti is a repeat", async () => {
    const modify: Modify = (_, payload) => Object.assign(payload, { jti: "openid-client" });
    const config = clientA({ authentication: privateKeyJwt(modify) });
    await client.clientCredentialsGrant(config);
    await expect(client.clientCredentialsGrant(config)).rejects.toMatchObject({ error: "invalid_client" });
    expect(lastRule()).toBe("assertion.replay");
  });

  const others: { name: string; client: () => Promise<Client>; error: string; rule: RuleId }[] = [
    {
      name: "another key signs",
      client: async () => ({
        authentication: privateKeyJwt(undefined, await cryptoKey(newSigningKey("k").privateKey)),
      }),
      error: "invalid_client",
      rule: "assertion.signature",
    },
    {
      name: "PS256 signs",
      client: async () => ({
        authentication: privateKeyJwt(undefined, await cryptoKey(witnessKey.privateKey, "RSA-PSS")),
      }),
      error: "invalid_client",
      rule: "assertion.algorithm",
    },
    {
      name: "ES256 signs",
      client: async () => ({
        authentication: privateKeyJwt(undefined, await cryptoKey(ecPrivateKey, "ECDSA")),
      }),
      error: "invalid_client",
      rule: "assertion.algorithm",
    },
    {
      name: "HS256 signs, keyed with the public key",
      client: async () => ({ authentication: client.ClientSecretJwt(publicPem()) }),
      error: "invalid_client",
      rule: "assertion.algorithm",
    },
    {
      name: "it authenticates by a secret in the body",
      client: async () => ({ authentication: client.ClientSecretPost("secret") }),
      error: "invalid_request",
      rule: "token-request.one-authentication",
    },
    {
      name: "it authenticates by Basic",
      client: async () => ({ authentication: client.ClientSecretBasic("secret") }),
      error: "invalid_request",
      rule: "token-request.one-authentication",
    },
    {
      name: "the tenant is another",
      client: async () => ({ tenantId: "globex" }),
      error: "invalid_grant",
      rule: "plugin.registered",
    },
    {
      name: "the plugin is not registered",
      client: async () => ({ clientId: "nobody" }),
      error: "invalid_grant",
      rule: "plugin.registered",
    },
    {
      name: "the plugin is disabled",
      client: async () => ({ clientId: "off" }),
      error: "invalid_grant",
      rule: "plugin.enabled",
    },
    {
      name: "the plugin is a page",
      client: async () => ({ clientId: "page" }),
      error: "invalid_grant",
      rule: "plugin.grant",
    },
  ];
  test.each(others)("is refused when $name", async (row) => {
    const grant = client.clientCredentialsGrant(clientA(await row.client()));
    await expect(grant).rejects.toMatchObject({ status: 400, error: row.error });
    expect(lastRule()).toBe(row.rule);
  });

  test("is refused a refresh, whatever the token", async () => {
    const refresh = client.refreshTokenGrant(clientA(), "any");
    await expect(refresh).rejects.toMatchObject({ status: 400, error: "unsupported_grant_type" });
  });
});

describe("Variant B by client_credentials and a secret", () => {
  test("gets a token and lists devices with it", async () => {
    const config = clientB("worker", CLIENT_SECRET);
    const token = await client.clientCredentialsGrant(config);
    const devices = await fetch(`${deployment.url}/v1/devices`, {
      headers: { authorization: `Bearer ${token.access_token}` },
    });
    expect(await devices.json()).toHaveLength(3);
  });

  const refused = [
    { name: "the secret is wrong", clientId: "worker", secret: "wrong" },
    { name: "the client is unknown", clientId: "nobody", secret: CLIENT_SECRET },
    { name: "the client is Variant A's plugin", clientId: "reporter", secret: CLIENT_SECRET },
  ];
  test.each(refused)("is refused when $name", async ({ clientId, secret }) => {
    const grant = client.clientCredentialsGrant(clientB(clientId, secret));
    await expect(grant).rejects.toMatchObject({ status: 401, error: "invalid_client" });
    expect(lastRule()).toBe("client.authentication");
  });

  test("is refused when it sends the form that the standard asks for", async () => {
    const config = clientB("worker", CLIENT_SECRET);
    config[client.customFetch] = fetch as client.CustomFetch;
    await expect(client.clientCredentialsGrant(config)).rejects.toThrow();
    expect(lastRule()).toBe("client-request.media-type");
  });
});

function publicPem(): string {
  return String(witnessKey.publicKey.export({ type: "spki", format: "pem" }));
}
