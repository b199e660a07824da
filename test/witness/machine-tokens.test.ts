/**
 * Machine tokens judged by oidc-provider: A's private_key_jwt at its token path, B's secret behind
 * a JSON front.
 */
import { errors } from "oidc-provider";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createAuth,
  type ServicePluginSettings,
  serviceAccount,
  servicePlugin,
} from "../../src/index.js";
import { otherRsaKey, publicJwk, rsaKey } from "../support/keys.js";
import { rejectionOf } from "../support/wait.js";
import {
  type Seen,
  type Served,
  serveFront,
  startTokenServer,
  type TokenServer,
} from "./provider.js";

const clientId = "nightly-report";

describe("oidc-provider at Variant A's token path", () => {
  const keyId = "key-2026";
  const tokenPath = "/api/v1/acme/external-plugin/oauth/token";
  const seen: { jti: unknown; kid: unknown }[] = [];
  let server: TokenServer;

  beforeAll(async () => {
    const jwk = { ...publicJwk(rsaKey()), kid: keyId, use: "sig", alg: "RS256" };
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

  const authOf = (changed: Partial<ServicePluginSettings> = {}) => {
    const privateKey = rsaKey().privateKey;
    const credential = servicePlugin({ clientId, privateKey, keyId, ...changed });
    return createAuth({ baseUrl: server.url, tenantId: "acme", credential });
  };

  test("accepts assertions signed with the registered key, with the exact token URL as aud, each with its own jti", async () => {
    const auth = authOf();
    const before = Date.now();
    const token = await auth.getAccessToken();
    expect(token.value).toMatch(/^[\w-]{20,}$/);
    expect(Math.abs(token.expiresAt - before - 600_000)).toBeLessThan(100_000);
    auth.invalidate(token);
    for (let request = 0; request < 5; request++) auth.invalidate(await auth.getAccessToken());
    expect(seen[0]).toEqual({ jti: expect.any(String), kid: keyId });
    expect(new Set(seen.map(({ jti }) => jti)).size).toBe(6);
  });

  const globex = tokenPath.replace("acme", "globex");
  test.each<[name: string, changed: () => Partial<ServicePluginSettings>, reason: RegExp]>([
    ["an unknown key", () => ({ privateKey: otherRsaKey().privateKey }), /invalid_client/],
    ["a thumbprint as kid", () => ({ keyId: undefined }), /invalid_client/],
    ["the issuer as audience", () => ({ audience: server.url }), /aud is not exactly the token/],
    ["another tenant's token URL", () => ({ audience: server.url + globex }), /audience \(aud\)/],
    ["an unknown client id", () => ({ clientId: "unknown" }), /client not found/],
  ])("refuses %s, and the client rejects with token_refused", async (_, changed, reason) => {
    const before = server.refusals.length;
    const error = await rejectionOf(authOf(changed()).getAccessToken());
    expect(error).toMatchObject({ code: "token_refused", error: "invalid_client", variant: "A" });
    expect(server.refusals.slice(before)).toEqual([expect.stringMatching(reason)]);
  });
});

describe("oidc-provider behind Variant B's JSON body", () => {
  const clientSecret = "spaces & signs: 1+1=2, 100%";
  const seen: Seen[] = [];
  let shownFields: readonly string[] | undefined;
  let provider: TokenServer;
  let front: Served;

  beforeAll(async () => {
    provider = await startTokenServer({
      tokenPath: "/oauth/token",
      method: "client_secret_post",
      client: { client_id: clientId, client_secret: clientSecret },
    });
    const target = `${provider.url}/oauth/token`;
    front = await serveFront({ target, seen, only: () => shownFields });
  });
  afterAll(() => Promise.all([front.close(), provider.close()]));

  const tokenFor = (secret: string) => {
    const credential = serviceAccount({ clientId, clientSecret: secret });
    return createAuth({ baseUrl: front.url, credential }).getAccessToken();
  };

  test.each([
    { name: "with its lifetime", shows: undefined, lifetimeMs: 600_000 },
    { name: "for an hour if no lifetime is shown", shows: ["access_token"], lifetimeMs: 3_600_000 },
  ])(
    "accepts the three fields of section 4.2 as JSON, and the token is used $name",
    async ({ shows, lifetimeMs }) => {
      seen.length = 0;
      shownFields = shows;
      const before = Date.now();
      const token = await tokenFor(clientSecret);
      expect(token.value).toMatch(/^[\w-]{20,}$/);
      expect(Math.abs(token.expiresAt - before - lifetimeMs)).toBeLessThan(100_000);
      const client = { client_id: clientId, client_secret: clientSecret };
      const fields = { grant_type: "client_credentials", ...client };
      expect(seen).toEqual([{ contentType: "application/json", fields }]);
    },
  );

  test("refuses a wrong secret, and the client rejects with token_refused", async () => {
    const refusal = { code: "token_refused", error: "invalid_client", status: 401, variant: "B" };
    expect(await rejectionOf(tokenFor("wrong secret"))).toMatchObject(refusal);
    expect(provider.refusals.at(-1)).toMatch(/invalid secret provided/);
  });
});
