/** The client's private_key_jwt, judged by oidc-provider, which we did not write, at Variant A's token path. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { errors } from "oidc-provider";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAuth, type ServicePluginSettings, servicePlugin, TokenRequestError } from "../../src/index.js";
import { startTokenServer, type TokenServer } from "./token-server.js";

const keyId = "key-2026";
const clientId = "nightly-report";
const tokenPath = "/api/v1/acme/external-plugin/oauth/token";
const registered = newKey();
const stranger = newKey();
const seen: { jti: unknown; kid: unknown }[] = [];
let server: TokenServer;

beforeAll(async () => {
  const jwk = { ...registered.publicKey.export({ format: "jwk" }), kid: keyId, use: "sig", alg: "RS256" };
  server = await startTokenServer({
    tokenPath,
    method: "private_key_jwt",
    client: { client_id: clientId, jwks: { keys: [jwk] }, token_endpoint_auth_signing_alg: "RS256" },
    checkAssertion({ claims, header }, tokenUrl) {
      // The provider takes its issuer and a list too; section 2.2 of the description takes the exact token URL only.
      if (claims.aud !== tokenUrl) throw new errors.InvalidClientAuth("aud is not exactly the token URL");
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

function newKey(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

function authOf(changed: Partial<ServicePluginSettings> = {}, tenantId = "acme") {
  return createAuth({
    baseUrl: server.url,
    tenantId,
    credential: servicePlugin({ clientId, privateKey: registered.privateKey, keyId, ...changed }),
  });
}

describe("oidc-provider at Variant A's token path", () => {
  test("gives a token for an assertion signed with the registered key, aud being exactly the token URL", async () => {
    const before = Date.now();

    const token = await authOf().getAccessToken();

    expect(token.value).toMatch(/^[\w-]{20,}$/);
    expect(token.expiresAt - before).toBeGreaterThan(590_000);
    expect(token.expiresAt - before).toBeLessThan(610_000);
    expect(seen).toEqual([{ jti: expect.any(String), kid: keyId }]);
  });

  test.each([
    {
      name: "a key that is not registered",
      changed: { privateKey: stranger.privateKey },
      reason: /invalid_client/,
    },
    { name: "a kid that is not registered", changed: { keyId: "key-1999" }, reason: /invalid_client/ },
    {
      name: "the issuer as audience, which the provider itself would take",
      changed: () => ({ audience: server.url }),
      reason: /aud is not exactly the token URL/,
    },
    {
      name: "the token URL of another tenant as audience",
      changed: () => ({ audience: server.url + tokenPath.replace("acme", "globex") }),
      reason: /audience \(aud\) must equal/,
    },
    {
      name: "a client id that is not registered",
      changed: { clientId: "nobody" },
      reason: /client not found/,
    },
  ])("refuses $name, and the client says so with a TokenRequestError", async ({ changed, reason }) => {
    const refusedBefore = server.refusals.length;
    const auth = authOf(typeof changed === "function" ? changed() : changed);

    const error = await auth.getAccessToken().catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(TokenRequestError);
    expect(error).toMatchObject({ code: "token_refused", error: "invalid_client", variant: "A" });
    expect(server.refusals.slice(refusedBefore)).toEqual([expect.stringMatching(reason)]);
  });

  test("sees a fresh jti with every token request, so that none is a replay", async () => {
    const auth = authOf();
    const values = new Set<string>();
    for (let request = 0; request < 25; request++) {
      const token = await auth.getAccessToken();
      values.add(token.value);
      auth.invalidate(token);
    }

    expect(values.size).toBe(25);
    expect(new Set(seen.map(({ jti }) => jti)).size).toBe(25);
  });

  test("refuses an assertion that somebody sends again: the provider does check the jti", async () => {
    let sent: RequestInit | undefined;
    const auth = createAuth({
      baseUrl: server.url,
      tenantId: "acme",
      credential: servicePlugin({ clientId, privateKey: registered.privateKey, keyId }),
      fetch: (url, init) => {
        sent = init;
        return fetch(url, init);
      },
    });
    await auth.getAccessToken();

    const { method, headers, body } = sent as RequestInit;
    const again = await fetch(server.url + tokenPath, { method, headers, body } as RequestInit);

    expect([again.status, await again.json()]).toEqual([
      401,
      expect.objectContaining({ error: "invalid_client" }),
    ]);
    expect(server.refusals.at(-1)).toMatch(/must only be used once/);
  });

  test("knows the key under the name that the customer registered: without keyId the thumbprint is sent", async () => {
    const credential = servicePlugin({ clientId, privateKey: registered.privateKey });
    const auth = createAuth({ baseUrl: server.url, tenantId: "acme", credential });

    await expect(auth.getAccessToken()).rejects.toBeInstanceOf(TokenRequestError);
  });
});
