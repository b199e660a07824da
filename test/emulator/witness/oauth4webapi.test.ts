// oauth4webapi, which we did not write, against the emulator over HTTP, on both variants.
import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuleId } from "../../../src/emulator/index.js";
import { newSigningKey } from "../signing-key.js";
import { brokenAssertions, type Modify } from "./broken-assertions.js";
import {
  CLIENT_SECRET,
  cryptoKey,
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
const insecure = { [oauth.allowInsecureRequests]: true };

function privateKeyJwt(modify: Modify = () => {}, key: CryptoKey = privateKey): oauth.ClientAuth {
  return oauth.PrivateKeyJwt(
    { key, kid: "key-1" },
    {
      [oauth.modifyAssertion](header, payload) {
        payload.aud = deployment.tokenUrlA("acme");
        modify(header, payload);
      },
    },
  );
}

async function requestTokenA(authentication: oauth.ClientAuth, tenantId = "acme", clientId = "reporter") {
  const server = { issuer: deployment.url, token_endpoint: deployment.tokenUrlA(tenantId) };
  const client = { client_id: clientId };
  const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, insecure);
  return oauth.processClientCredentialsResponse(server, client, response);
}

async function requestTokenB(clientId: string, secret: string) {
  const server = { issuer: deployment.url, token_endpoint: deployment.tokenUrlB };
  const client = { client_id: clientId };
  const options = { ...insecure, [oauth.customFetch]: formToJson as typeof fetch };
  const authentication = oauth.ClientSecretPost(secret);
  const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, options);
  return oauth.processClientCredentialsResponse(server, client, response);
}

describe("Variant A by client_credentials and private_key_jwt", () => {
  test("gets a token and lists devices with it", async () => {
    const { access_token: token, expires_in: lifetime } = await requestTokenA(privateKeyJwt());
    expect(lifetime).toBe(3600);
    const url = new URL(`${deployment.url}/api/v1/acme/devices`);
    const response = await oauth.protectedResourceRequest(token, "GET", url, undefined, undefined, insecure);
    expect(await response.json()).toHaveLength(3);
  });

  test.each(brokenAssertions)("is refused when $name", async ({ rule, modify }) => {
    const refusal = { status: 400, error: "invalid_client" };
    await expect(requestTokenA(privateKeyJwt(modify))).rejects.toMatchObject(refusal);
    expect(lastRule()).toBe(rule);
  });

  test("is refused with the audience that the library chooses by itself", async () => {
    const authentication = oauth.PrivateKeyJwt({ key: privateKey, kid: "key-1" });
    await expect(requestTokenA(authentication)).rejects.toMatchObject({ error: "invalid_client" });
    expect(lastRule()).toBe("assertion.audience");
  });

  test("is refused when the jti is a repeat", async () => {
    const authentication = privateKeyJwt((_, payload) => Object.assign(payload, { jti: "oauth4webapi" }));
    await requestTokenA(authentication);
    await expect(requestTokenA(authentication)).rejects.toMatchObject({ error: "invalid_client" });
    expect(lastRule()).toBe("assertion.replay");
  });

  const others: { name: string; request: () => Promise<unknown>; error: string; rule: RuleId }[] = [
    {
      name: "another key signs",
      request: async () =>
        requestTokenA(privateKeyJwt(undefined, await cryptoKey(newSigningKey("k").privateKey))),
      error: "invalid_client",
      rule: "assertion.signature",
    },
    {
      name: "HS256 signs, keyed with the public key",
      request: () =>
        requestTokenA(
          oauth.ClientSecretJwt(String(witnessKey.publicKey.export({ type: "spki", format: "pem" }))),
        ),
      error: "invalid_client",
      rule: "assertion.algorithm",
    },
    {
      name: "it does not authenticate at all",
      request: () => requestTokenA(oauth.None()),
      error: "invalid_request",
      rule: "token-request.assertion-type",
    },
    {
      name: "the tenant is another",
      request: () => requestTokenA(privateKeyJwt(), "globex"),
      error: "invalid_grant",
      rule: "plugin.registered",
    },
    {
      name: "the plugin is a page",
      request: () => requestTokenA(privateKeyJwt(), "acme", "page"),
      error: "invalid_grant",
      rule: "plugin.grant",
    },
  ];
  test.each(others)("is refused when $name", async ({ request, error, rule }) => {
    await expect(request()).rejects.toMatchObject({ status: 400, error });
    expect(lastRule()).toBe(rule);
  });
});

describe("Variant B by client_credentials and a secret", () => {
  test("gets a token and lists devices with it, and none of Variant A's", async () => {
    const { access_token: token } = await requestTokenB("worker", CLIENT_SECRET);
    const call = (path: string) =>
      oauth.protectedResourceRequest(
        token,
        "GET",
        new URL(deployment.url + path),
        undefined,
        undefined,
        insecure,
      );
    expect(await (await call("/v1/devices")).json()).toHaveLength(3);
    await expect(call("/api/v1/acme/devices")).rejects.toMatchObject({ status: 401 });
  });

  const refused = [
    { name: "the secret is wrong", clientId: "worker", secret: "wrong" },
    { name: "the client is unknown", clientId: "nobody", secret: CLIENT_SECRET },
  ];
  test.each(refused)("is refused when $name", async ({ clientId, secret }) => {
    const refusal = { status: 401, error: "invalid_client" };
    await expect(requestTokenB(clientId, secret)).rejects.toMatchObject(refusal);
    expect(lastRule()).toBe("client.authentication");
  });
});
