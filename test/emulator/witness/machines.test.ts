// openid-client, which we did not write, gets machine tokens of both variants over HTTP, and is
// refused when it authenticates otherwise. The table of negative requests has every broken
// assertion.
import * as openid from "openid-client";
import { describe, expect, test } from "vitest";
import { emulatorRules, type RuleId } from "../../../src/emulator/index.js";
import { key, PASSWORDS, TOKEN_PATH_A } from "../negative/world.js";
import { cryptoKey, type Deployment, deploy, formToJson } from "./deployment.js";

const privateKey = await cryptoKey(key.privateKey);

/** With the token URL as `aud`, where the library puts the issuer. */
const privateKeyJwt = openid.PrivateKeyJwt(
  { key: privateKey, kid: "key-1" },
  {
    [openid.modifyAssertion](_, payload) {
      payload.aud = `${payload.aud}${TOKEN_PATH_A}`;
    },
  },
);

function clientA(
  { url, tokenUrlA }: Deployment,
  authentication = privateKeyJwt,
): openid.Configuration {
  const metadata = { issuer: url, token_endpoint: tokenUrlA };
  const config = new openid.Configuration(metadata, "reporter", undefined, authentication);
  openid.allowInsecureRequests(config);
  return config;
}

function clientB({ url, tokenUrlB }: Deployment): openid.Configuration {
  const metadata = { issuer: url, token_endpoint: tokenUrlB };
  const authentication = openid.ClientSecretPost(PASSWORDS.worker);
  const config = new openid.Configuration(metadata, "worker", undefined, authentication);
  openid.allowInsecureRequests(config);
  config[openid.customFetch] = formToJson as openid.CustomFetch;
  return config;
}

const refusedClients: readonly { name: string; authentication: openid.ClientAuth; rule: RuleId }[] =
  [
    {
      name: "aud is what the library chooses",
      authentication: openid.PrivateKeyJwt({ key: privateKey, kid: "key-1" }),
      rule: "assertion.audience",
    },
    {
      name: "a secret in the body authenticates",
      authentication: openid.ClientSecretPost("secret"),
      rule: "token-request.one-authentication",
    },
    {
      name: "Basic authenticates",
      authentication: openid.ClientSecretBasic("secret"),
      rule: "token-request.one-authentication",
    },
    {
      name: "nothing authenticates",
      authentication: openid.None(),
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
  const tokenA = (deployment: Deployment, authentication?: openid.ClientAuth) =>
    openid.clientCredentialsGrant(clientA(deployment, authentication));

  test("gets a token of Variant A by private_key_jwt and lists devices with it", async () => {
    const deployment = await deploy();
    const token = await tokenA(deployment);
    expect(token).toMatchObject({
      token_type: "bearer",
      expires_in: 3600,
      revo: { tenant: "acme" },
    });
    expect(await (await call(deployment, "/api/v1/acme/devices", token)).json()).toHaveLength(3);
  });

  test.each(refusedClients)(
    "is refused in Variant A when $name",
    async ({ authentication, rule }) => {
      const deployment = await deploy();
      await expect(tokenA(deployment, authentication)).rejects.toMatchObject(
        emulatorRules[rule].answer,
      );
      expect(deployment.lastRule()).toBe(rule);
    },
  );

  test("gets a token of Variant B by its secret, which lists devices of Variant B only", async () => {
    const deployment = await deploy();
    const token = await openid.clientCredentialsGrant(clientB(deployment));
    expect(await (await call(deployment, "/v1/devices", token)).json()).toHaveLength(3);
    expect((await call(deployment, "/api/v1/acme/devices", token)).status).toBe(401);
  });
});

test("openid-client is refused in Variant B when it sends the standard's form", async () => {
  const deployment = await deploy();
  const config = clientB(deployment);
  config[openid.customFetch] = fetch as openid.CustomFetch;
  await expect(openid.clientCredentialsGrant(config)).rejects.toThrow();
  expect(deployment.lastRule()).toBe("client-request.media-type");
});
