/**
 * Machine tokens judged by oidc-provider: A's private_key_jwt at its token path, B's secret behind
 * a JSON front.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { errors } from "oidc-provider";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createAuth,
  type ServicePluginSettings,
  serviceAccount,
  servicePlugin,
  TokenRequestError,
} from "../../src/index.js";
import { type FetchCall, scriptedFetch } from "../support/fetch.js";
import { rejectionOf } from "../support/wait.js";
import { jsonToForm, type Served, serve, startTokenServer, type TokenServer } from "./provider.js";

const clientId = "nightly-report";
const newKey = (): { privateKey: KeyObject; publicKey: KeyObject } =>
  generateKeyPairSync("rsa", { modulusLength: 2048 });

describe("oidc-provider at Variant A's token path", () => {
  const keyId = "key-2026";
  const tokenPath = "/api/v1/acme/external-plugin/oauth/token";
  const registered = newKey();
  const seen: { jti: unknown; kid: unknown }[] = [];
  let server: TokenServer;

  beforeAll(async () => {
    const jwk = {
      ...registered.publicKey.export({ format: "jwk" }),
      kid: keyId,
      use: "sig",
      alg: "RS256",
    };
    server = await startTokenServer({
      tokenPath,
      method: "private_key_jwt",
      client: {
        client_id: clientId,
        jwks: { keys: [jwk] },
        token_endpoint_auth_signing_alg: "RS256",
      },
      checkAssertion(claims, header) {
        // The provider also accepts its issuer or a list, but section 2.2 allows only the exact
        // token URL.
        if (claims.aud !== server.url + tokenPath)
          throw new errors.InvalidClientAuth("aud is not exactly the token URL");
        if (header.typ !== undefined && header.typ !== "JWT")
          throw new errors.InvalidClientAuth("typ is not JWT");
        seen.push({ jti: claims.jti, kid: header.kid });
      },
    });
  });
  afterAll(() => server.close());
  beforeEach(() => {
    seen.length = 0;
  });

  const credentialOf = (changed: Partial<ServicePluginSettings> = {}) =>
    servicePlugin({ clientId, privateKey: registered.privateKey, keyId, ...changed });
  const authOf = (changed: Partial<ServicePluginSettings> = {}) =>
    createAuth({ baseUrl: server.url, tenantId: "acme", credential: credentialOf(changed) });

  test("accepts an assertion signed with the registered key, with the exact token URL as aud", async () => {
    const before = Date.now();
    const token = await authOf().getAccessToken();
    expect(token.value).toMatch(/^[\w-]{20,}$/);
    expect(token.expiresAt - before).toBeGreaterThan(590_000);
    expect(token.expiresAt - before).toBeLessThan(700_000);
    expect(seen).toEqual([{ jti: expect.any(String), kid: keyId }]);
  });

  test.each([
    {
      name: "an unknown key",
      changed: () => ({ privateKey: newKey().privateKey }),
      reason: /invalid_client/,
    },
    { name: "an unknown kid", changed: () => ({ keyId: "key-1999" }), reason: /invalid_client/ },
    {
      name: "a thumbprint as kid",
      changed: () => ({ keyId: undefined }),
      reason: /invalid_client/,
    },
    {
      name: "the issuer as audience, which the provider itself would accept",
      changed: () => ({ audience: server.url }),
      reason: /aud is not exactly the token URL/,
    },
    {
      name: "the token URL of another tenant as audience",
      changed: () => ({ audience: server.url + tokenPath.replace("acme", "globex") }),
      reason: /audience \(aud\) must equal/,
    },
    {
      name: "an unknown client id",
      changed: () => ({ clientId: "unknown" }),
      reason: /client not found/,
    },
  ])(
    "refuses $name, and the client rejects with a TokenRequestError",
    async ({ changed, reason }) => {
      const before = server.refusals.length;
      const error = await rejectionOf(
        authOf(changed() as Partial<ServicePluginSettings>).getAccessToken(),
      );
      expect(error).toBeInstanceOf(TokenRequestError);
      expect(error).toMatchObject({ code: "token_refused", error: "invalid_client", variant: "A" });
      expect(server.refusals.slice(before)).toEqual([expect.stringMatching(reason)]);
    },
  );

  test("gets a fresh jti with every token request", async () => {
    const auth = authOf();
    for (let request = 0; request < 10; request++) auth.invalidate(await auth.getAccessToken());
    expect(new Set(seen.map(({ jti }) => jti)).size).toBe(10);
  });

  test("refuses a replayed assertion, so it does check the jti", async () => {
    const sending = scriptedFetch(({ url, init }) => fetch(url, init));
    const options = {
      baseUrl: server.url,
      tenantId: "acme",
      credential: credentialOf(),
      fetch: sending,
    };
    await createAuth(options).getAccessToken();
    const { method, headers, body } = sending.calls[0] as FetchCall;
    const again = await fetch(server.url + tokenPath, { method, headers, body });
    expect(again.status).toBe(401);
    expect(await again.json()).toMatchObject({ error: "invalid_client" });
    expect(server.refusals.at(-1)).toMatch(/must only be used once/);
  });
});

describe("oidc-provider behind Variant B's JSON body", () => {
  const clientSecret = "spaces & signs: 1+1=2, 100%";
  const seen: { contentType: string | undefined; fields: unknown }[] = [];
  let shownFields: readonly string[] | undefined;
  let provider: TokenServer;
  let front: Served;

  beforeAll(async () => {
    provider = await startTokenServer({
      tokenPath: "/oauth/token",
      method: "client_secret_post",
      client: { client_id: clientId, client_secret: clientSecret },
    });
    front = await serve();
    front.handle(
      jsonToForm({ target: `${provider.url}/oauth/token`, seen, only: () => shownFields }),
    );
  });
  afterAll(() => Promise.all([front.close(), provider.close()]));

  const authOf = (secret = clientSecret) =>
    createAuth({
      baseUrl: front.url,
      credential: serviceAccount({ clientId, clientSecret: secret }),
    });

  test.each([
    { name: "with its lifetime", shows: undefined, lifetimeMs: 600_000 },
    {
      name: "for an hour if the response shows access_token only",
      shows: ["access_token"],
      lifetimeMs: 3_600_000,
    },
  ])(
    "accepts the three fields of section 4.2 as JSON, and the token is used $name",
    async ({ shows, lifetimeMs }) => {
      seen.length = 0;
      shownFields = shows;
      const before = Date.now();
      const token = await authOf().getAccessToken();
      expect(token.value).toMatch(/^[\w-]{20,}$/);
      expect(Math.abs(token.expiresAt - before - lifetimeMs)).toBeLessThan(100_000);
      const fields = {
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: clientSecret,
      };
      expect(seen).toEqual([{ contentType: "application/json", fields }]);
    },
  );

  test("refuses a wrong secret, and the client rejects with a TokenRequestError", async () => {
    const error = await rejectionOf(authOf("wrong secret").getAccessToken());
    expect(error).toBeInstanceOf(TokenRequestError);
    expect(error).toMatchObject({ error: "invalid_client", status: 401, variant: "B" });
    expect(provider.refusals.at(-1)).toMatch(/invalid secret provided/);
  });
});
