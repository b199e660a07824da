// oauth4webapi and openid-client, which we did not write, get machine tokens of both variants over HTTP, and are
// refused when a test makes them break a rule of the client assertion.
import { generateKeyPairSync } from "node:crypto";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { describe, expect, test } from "vitest";
import { type RuleId, rules } from "../../../src/emulator/index.js";
import { newSigningKey } from "../signing-key.js";
import { CLIENT_SECRET, cryptoKey, type Deployment, deploy, formToJson, witnessKey } from "./deployment.js";

/** The arguments that both libraries pass to their `modifyAssertion` hook. */
type Modify = (header: Record<string, unknown>, payload: Record<string, unknown>) => void;

interface Client {
  readonly clientId?: string;
  readonly tenantId?: string;
  /** Default: private_key_jwt with the token URL as `aud`, where the libraries put the issuer. */
  readonly authentication?: oauth.ClientAuth & openid.ClientAuth;
}

interface Token {
  readonly access_token: string;
  readonly expires_in?: number | undefined;
}

interface Library {
  readonly name: string;
  tokenA(deployment: Deployment, client: Client): Promise<Token>;
  tokenB(deployment: Deployment, clientId: string, secret: string): Promise<Token>;
}

const privateKey = await cryptoKey(witnessKey.privateKey);

function privateKeyJwt(
  modify: Modify = () => {},
  key: CryptoKey = privateKey,
): NonNullable<Client["authentication"]> {
  const options = {
    // The libraries identify the server by its base URL, the issuer.
    [oauth.modifyAssertion](header: Record<string, unknown>, payload: Record<string, unknown>) {
      payload.aud = `${payload.aud}/api/v1/acme/external-plugin/oauth/token`;
      modify(header, payload);
    },
  };
  return oauth.PrivateKeyJwt({ key, kid: "key-1" }, options);
}

const insecure = { [oauth.allowInsecureRequests]: true };

const libraries: readonly Library[] = [
  {
    name: "oauth4webapi",
    async tokenA(deployment, { clientId = "reporter", tenantId, authentication = privateKeyJwt() }) {
      const server = { issuer: deployment.url, token_endpoint: deployment.tokenUrlA(tenantId) };
      const client = { client_id: clientId };
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        authentication,
        {},
        insecure,
      );
      return oauth.processClientCredentialsResponse(server, client, response);
    },
    async tokenB(deployment, clientId, secret) {
      const server = { issuer: deployment.url, token_endpoint: deployment.tokenUrlB };
      const client = { client_id: clientId };
      const options = { ...insecure, [oauth.customFetch]: formToJson as typeof fetch };
      const authentication = oauth.ClientSecretPost(secret);
      const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, options);
      return oauth.processClientCredentialsResponse(server, client, response);
    },
  },
  {
    name: "openid-client",
    async tokenA(deployment, client) {
      return openid.clientCredentialsGrant(openidClientA(deployment, client));
    },
    async tokenB(deployment, clientId, secret) {
      const config = openidClientB(deployment, clientId, secret);
      config[openid.customFetch] = formToJson as openid.CustomFetch;
      return openid.clientCredentialsGrant(config);
    },
  },
];

function openidClientA(deployment: Deployment, client: Client): openid.Configuration {
  const { clientId = "reporter", tenantId, authentication = privateKeyJwt() } = client;
  const metadata = { issuer: deployment.url, token_endpoint: deployment.tokenUrlA(tenantId) };
  const config = new openid.Configuration(metadata, clientId, undefined, authentication);
  openid.allowInsecureRequests(config);
  return config;
}

function openidClientB(deployment: Deployment, clientId: string, secret: string): openid.Configuration {
  const metadata = { issuer: deployment.url, token_endpoint: deployment.tokenUrlB };
  const config = new openid.Configuration(metadata, clientId, undefined, openid.ClientSecretPost(secret));
  openid.allowInsecureRequests(config);
  return config;
}

const claims =
  (change: (payload: Record<string, unknown>) => object): Modify =>
  (_, payload) =>
    Object.assign(payload, change(payload));
const header =
  (change: object): Modify =>
  (parameters) =>
    Object.assign(parameters, change);
const shifted = (seconds: number): Modify =>
  claims(({ iat, nbf, exp }) => ({
    iat: Number(iat) + seconds,
    nbf: Number(nbf) + seconds,
    exp: Number(exp) + seconds,
  }));

const brokenAssertions: readonly { name: string; rule: RuleId; modify: Modify }[] = [
  {
    name: "aud is the issuer",
    rule: "assertion.audience",
    modify: claims(({ aud }) => ({ aud: new URL(String(aud)).origin })),
  },
  { name: "aud is an array", rule: "assertion.audience", modify: claims(({ aud }) => ({ aud: [aud] })) },
  {
    name: "aud names another tenant",
    rule: "assertion.audience",
    modify: claims(({ aud }) => ({ aud: String(aud).replace("acme", "globex") })),
  },
  { name: "kid is absent", rule: "assertion.key-id", modify: header({ kid: undefined }) },
  { name: "the key is in the header", rule: "assertion.key-header", modify: header({ jwk: { kty: "RSA" } }) },
  { name: "crit is set", rule: "assertion.critical-header", modify: header({ crit: ["exp"], exp: 1 }) },
  { name: "alg is none", rule: "assertion.algorithm", modify: header({ alg: "none" }) },
  { name: "iss is wrong", rule: "assertion.issuer", modify: claims(() => ({ iss: "x" })) },
  { name: "sub is absent", rule: "assertion.subject", modify: claims(() => ({ sub: undefined })) },
  { name: "jti is absent", rule: "assertion.id", modify: claims(() => ({ jti: undefined })) },
  { name: "exp is absent", rule: "assertion.expiry", modify: claims(() => ({ exp: undefined })) },
  { name: "iat is absent", rule: "assertion.issued-at", modify: claims(() => ({ iat: undefined })) },
  { name: "the assertion is 400 s old", rule: "assertion.issued-at", modify: shifted(-400) },
  { name: "the assertion is from the future", rule: "assertion.issued-at", modify: shifted(60) },
  { name: "the assertion has expired", rule: "assertion.expiry", modify: shifted(-120) },
  {
    name: "the assertion lives for 301 s",
    rule: "assertion.lifetime",
    modify: claims(({ iat }) => ({ exp: Number(iat) + 301 })),
  },
];

const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const publicPem = String(witnessKey.publicKey.export({ type: "spki", format: "pem" }));
const signedWith = async (...key: Parameters<typeof cryptoKey>): Promise<Client> => ({
  authentication: privateKeyJwt(undefined, await cryptoKey(...key)),
});

const refusedClients: readonly { name: string; client: () => Client | Promise<Client>; rule: RuleId }[] = [
  {
    name: "another key signs",
    client: () => signedWith(newSigningKey("k").privateKey),
    rule: "assertion.signature",
  },
  {
    name: "PS256 signs",
    client: () => signedWith(witnessKey.privateKey, "RSA-PSS"),
    rule: "assertion.algorithm",
  },
  { name: "ES256 signs", client: () => signedWith(elliptic, "ECDSA"), rule: "assertion.algorithm" },
  {
    name: "HS256 signs, keyed with the public key",
    client: () => ({ authentication: oauth.ClientSecretJwt(publicPem) }),
    rule: "assertion.algorithm",
  },
  {
    name: "aud is what the library chooses",
    client: () => ({ authentication: oauth.PrivateKeyJwt({ key: privateKey, kid: "key-1" }) }),
    rule: "assertion.audience",
  },
  {
    name: "a secret in the body authenticates",
    client: () => ({ authentication: oauth.ClientSecretPost("secret") }),
    rule: "token-request.one-authentication",
  },
  {
    name: "Basic authenticates",
    client: () => ({ authentication: oauth.ClientSecretBasic("secret") }),
    rule: "token-request.one-authentication",
  },
  {
    name: "nothing authenticates",
    client: () => ({ authentication: oauth.None() }),
    rule: "token-request.assertion-type",
  },
  { name: "the tenant is another", client: () => ({ tenantId: "globex" }), rule: "plugin.registered" },
  {
    name: "the plugin is not registered",
    client: () => ({ clientId: "unknown" }),
    rule: "plugin.registered",
  },
  { name: "the plugin is disabled", client: () => ({ clientId: "off" }), rule: "plugin.enabled" },
  {
    name: "the plugin is a user-interface plugin",
    client: () => ({ clientId: "planner" }),
    rule: "plugin.grant",
  },
];

function call({ url }: Deployment, path: string, { access_token }: Token): Promise<Response> {
  return fetch(url + path, { headers: { authorization: `Bearer ${access_token}` } });
}

describe.each(libraries)("$name", ({ tokenA, tokenB }) => {
  test("gets a token of Variant A by private_key_jwt and lists devices with it", async () => {
    const deployment = await deploy();
    const token = await tokenA(deployment, {});
    expect(token).toMatchObject({ token_type: "bearer", expires_in: 3600, revo: { tenant: "acme" } });
    expect(await (await call(deployment, "/api/v1/acme/devices", token)).json()).toHaveLength(3);
  });

  test.each(brokenAssertions)("is refused in Variant A when $name", async ({ rule, modify }) => {
    const deployment = await deploy();
    const refused = tokenA(deployment, { authentication: privateKeyJwt(modify) });
    await expect(refused).rejects.toMatchObject(rules[rule].answer);
    expect(deployment.lastRule()).toBe(rule);
  });

  test("is refused in Variant A when the jti is a repeat", async () => {
    const deployment = await deploy();
    const authentication = privateKeyJwt(claims(() => ({ jti: "one" })));
    await tokenA(deployment, { authentication });
    await expect(tokenA(deployment, { authentication })).rejects.toMatchObject({ error: "invalid_client" });
    expect(deployment.lastRule()).toBe("assertion.replay");
  });

  test.each(refusedClients)("is refused in Variant A when $name", async ({ client, rule }) => {
    const deployment = await deploy();
    await expect(tokenA(deployment, await client())).rejects.toMatchObject(rules[rule].answer);
    expect(deployment.lastRule()).toBe(rule);
  });

  test("gets a token of Variant B by its secret, which lists devices of Variant B only", async () => {
    const deployment = await deploy();
    const token = await tokenB(deployment, "worker", CLIENT_SECRET);
    expect(await (await call(deployment, "/v1/devices", token)).json()).toHaveLength(3);
    expect((await call(deployment, "/api/v1/acme/devices", token)).status).toBe(401);
  });

  const wrongCredentials = [
    { name: "the secret is wrong", clientId: "worker", secret: "wrong" },
    { name: "the client is unknown", clientId: "unknown", secret: CLIENT_SECRET },
    { name: "the client is a plugin of Variant A", clientId: "reporter", secret: CLIENT_SECRET },
  ];
  test.each(wrongCredentials)("is refused in Variant B when $name", async ({ clientId, secret }) => {
    const deployment = await deploy();
    const refusal = { status: 401, error: "invalid_client" };
    await expect(tokenB(deployment, clientId, secret)).rejects.toMatchObject(refusal);
    expect(deployment.lastRule()).toBe("client.authentication");
  });
});

test("openid-client is refused a refresh in Variant A", async () => {
  const refresh = openid.refreshTokenGrant(openidClientA(await deploy(), {}), "any");
  await expect(refresh).rejects.toMatchObject({ status: 400, error: "unsupported_grant_type" });
});

test("openid-client is refused in Variant B when it sends the standard's form", async () => {
  const deployment = await deploy();
  const config = openidClientB(deployment, "worker", CLIENT_SECRET);
  await expect(openid.clientCredentialsGrant(config)).rejects.toThrow();
  expect(deployment.lastRule()).toBe("client-request.media-type");
});
