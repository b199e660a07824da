// The client assertion: claims, keys and replay (description, section 2.2).

import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Changed, PluginClient, pluginKey, rejectedWith, rejection, START } from "./plugin-client.js";
import { compactJws, hs256, newSigningKey, rs256, type SigningKey } from "./signing-key.js";

describe("claims and header", () => {
  const NOW_SECONDS = START / 1000;
  const TOKEN_URL = "http://emulator.localhost/api/v1/acme/external-plugin/oauth/token";

  /** iat and exp this many seconds from now. */
  const times = (iat: number, exp: number): Changed => ({
    claims: { iat: NOW_SECONDS + iat, exp: NOW_SECONDS + exp },
  });

  describe("a client assertion is accepted", () => {
    const accepted: { name: string; changed: Changed }[] = [
      { name: "with iat now and exp 60 s later", changed: {} },
      { name: "with iat 300 s old", changed: times(-300, 0) },
      { name: "with iat 329 s old", changed: times(-329, -29) },
      { name: "with iat 330 s old, exp 30 s past", changed: times(-330, -30) },
      { name: "with iat 29 s ahead", changed: times(29, 60) },
      { name: "with iat 30 s ahead", changed: times(30, 60) },
      { name: "with exp now", changed: times(-60, 0) },
      { name: "with exp 29 s past", changed: times(-60, -29) },
      { name: "with exp 30 s past", changed: times(-60, -30) },
      { name: "with exp one second after iat", changed: times(0, 1) },
      { name: "with exp 299 s after iat", changed: times(0, 299) },
      { name: "with exp 300 s after iat", changed: times(0, 300) },
      { name: "with iat and exp as fractions of seconds", changed: times(-0.5, 59.5) },
      { name: "with nbf 30 s ahead", changed: { claims: { nbf: NOW_SECONDS + 30 } } },
      { name: "with claims that no rule mentions", changed: { claims: { scope: "x", azp: ["y"] } } },
      { name: "with typ JWT", changed: { header: { typ: "JWT" } } },
      {
        name: "with typ client-authentication+jwt",
        changed: { header: { typ: "client-authentication+jwt" } },
      },
      { name: "with a jti of 10000 characters", changed: { claims: { jti: "j".repeat(10_000) } } },
    ];
    test.each(accepted)("$name", async ({ changed }) => {
      const plugin = new PluginClient();
      const response = await plugin.requestToken(changed);
      expect(plugin.emulator.customerLog.entries()).toEqual([]);
      expect(response.status).toBe(200);
    });
  });

  describe("a client assertion is refused as invalid_client", () => {
    const refused: { name: string; changed: Changed; rule: string; actual?: string }[] = [
      { name: "with iat 331 s old", changed: times(-331, -29), rule: "issued-at", actual: "331 s old" },
      { name: "with iat 330.5 s old", changed: times(-330.5, -30.5), rule: "issued-at" },
      { name: "with iat 31 s ahead", changed: times(31, 60), rule: "issued-at", actual: "31 s ahead" },
      {
        name: "with iat in milliseconds",
        changed: { claims: { iat: START, exp: START + 60 } },
        rule: "issued-at",
      },
      { name: "with iat as a string", changed: { claims: { iat: String(NOW_SECONDS) } }, rule: "issued-at" },
      { name: "with iat null", changed: { claims: { iat: null } }, rule: "issued-at" },
      { name: "without iat", changed: { claims: { iat: undefined } }, rule: "issued-at", actual: "absent" },
      { name: "with exp 31 s past", changed: times(-60, -31), rule: "expiry", actual: "31 s past" },
      { name: "with exp five minutes past", changed: times(-320, -300), rule: "expiry" },
      { name: "with exp equal to iat", changed: times(0, 0), rule: "expiry" },
      { name: "with exp before iat", changed: times(10, 5), rule: "expiry" },
      {
        name: "with exp as a string",
        changed: { claims: { exp: String(NOW_SECONDS + 60) } },
        rule: "expiry",
      },
      { name: "without exp", changed: { claims: { exp: undefined } }, rule: "expiry", actual: "absent" },
      {
        name: "with exp 301 s after iat",
        changed: times(0, 301),
        rule: "lifetime",
        actual: "301 s after iat",
      },
      { name: "with exp 301 s after an iat that is old", changed: times(-200, 101), rule: "lifetime" },
      { name: "with exp in milliseconds", changed: { claims: { exp: START + 60_000 } }, rule: "lifetime" },
      { name: "with nbf 31 s ahead", changed: { claims: { nbf: NOW_SECONDS + 31 } }, rule: "not-before" },
      { name: "with nbf as a string", changed: { claims: { nbf: "soon" } }, rule: "not-before" },
      { name: "without iss", changed: { claims: { iss: undefined } }, rule: "issuer", actual: "absent" },
      { name: "with another iss", changed: { claims: { iss: "other" } }, rule: "issuer", actual: '"other"' },
      { name: "with iss as an array", changed: { claims: { iss: ["reporter"] } }, rule: "issuer" },
      { name: "without sub", changed: { claims: { sub: undefined } }, rule: "subject", actual: "absent" },
      { name: "with another sub", changed: { claims: { sub: "other" } }, rule: "subject", actual: '"other"' },
      { name: "without jti", changed: { claims: { jti: undefined } }, rule: "id", actual: "absent" },
      { name: "with an empty jti", changed: { claims: { jti: "" } }, rule: "id" },
      { name: "with jti as a number", changed: { claims: { jti: 7 } }, rule: "id", actual: "7" },
      { name: "without aud", changed: { claims: { aud: undefined } }, rule: "audience", actual: "absent" },
    ];
    const wrongAudiences: { name: string; aud: unknown }[] = [
      { name: "of another server", aud: TOKEN_URL.replace("emulator", "other") },
      { name: "that is the base URL", aud: "http://emulator.localhost" },
      { name: "in an array of one", aud: [TOKEN_URL] },
      { name: "in an array among others", aud: [TOKEN_URL, "http://emulator.localhost"] },
      { name: "with a literal {tenantId}", aud: TOKEN_URL.replace("acme", "{tenantId}") },
      { name: "of another tenant", aud: TOKEN_URL.replace("acme", "globex") },
      { name: "with a trailing slash", aud: `${TOKEN_URL}/` },
      { name: "with an upper-case host", aud: TOKEN_URL.replace("emulator", "EMULATOR") },
      { name: "with the default port", aud: TOKEN_URL.replace(".localhost", ".localhost:80") },
      { name: "with a query", aud: `${TOKEN_URL}?a=b` },
      { name: "with https for http", aud: TOKEN_URL.replace("http:", "https:") },
      { name: "percent-encoded", aud: TOKEN_URL.replace("acme", "%61cme") },
      { name: "with a space after it", aud: `${TOKEN_URL} ` },
      { name: "that is a number", aud: 1 },
    ];
    const audienceRows = wrongAudiences.map(({ name, aud }) => ({
      name: `with an aud ${name}`,
      changed: { claims: { aud } },
      rule: "audience",
    }));

    test.each([...refused, ...audienceRows])("$name", async (row) => {
      const plugin = new PluginClient();
      const response = await plugin.requestToken(row.changed);
      expect(await rejection(response)).toEqual(rejectedWith("invalid_client"));
      const entry = plugin.emulator.customerLog.entries({ tenantId: "acme", clientId: "reporter" }).at(-1);
      expect(entry?.rule).toBe(`assertion.${row.rule}`);
      if ("actual" in row) expect(entry?.actual).toBe(row.actual);
    });
  });

  describe("the client assertion is no JWT in compact form", () => {
    const malformed = [
      { name: "one word", assertion: "assertion" },
      { name: "two parts", assertion: "e30.e30" },
      { name: "five parts, as encryption has", assertion: "e30.e30.e30.e30.e30" },
      { name: "characters outside base64url", assertion: "e3==.e30.e30" },
      { name: "a header that is an array", assertion: `${btoa("[]")}.e30.e30`.replaceAll("=", "") },
      { name: "a header that is not JSON", assertion: "YWJj.e30.e30" },
      {
        name: "claims that are null",
        assertion: `${btoa('{"alg":"RS256"}')}.bnVsbA.e30`.replaceAll("=", ""),
      },
    ];
    test.each(malformed)("$name is refused", async ({ assertion }) => {
      const plugin = new PluginClient();
      const response = await plugin.requestToken({ form: { client_assertion: assertion } });
      expect(await rejection(response)).toEqual(rejectedWith("invalid_client"));
      expect(plugin.lastRule()).toBe("assertion.form");
    });

    test("an absent one is refused", async () => {
      const plugin = new PluginClient();
      const response = await plugin.requestToken({ form: { client_assertion: undefined } });
      expect(await rejection(response)).toEqual(rejectedWith("invalid_client"));
      expect(plugin.lastRule()).toBe("assertion.present");
    });
  });
});

describe("keys", () => {
  const otherKey = newSigningKey("key-2");
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const claimsOf = (assertion: string) =>
    JSON.parse(Buffer.from(assertion.split(".")[1] ?? "", "base64url").toString());

  describe("an assertion not signed by RS256 with a registered key is refused as invalid_client", () => {
    const pem = pluginKey.publicKey.export({ type: "spki", format: "pem" });
    const pkcs1 = pluginKey.publicKey.export({ type: "pkcs1", format: "pem" });
    const der = pluginKey.publicKey.export({ type: "spki", format: "der" });
    const jwk = JSON.stringify(pluginKey.publicKey.export({ format: "jwk" }));
    const kid = pluginKey.kid;
    const rows: {
      name: string;
      header: Record<string, unknown>;
      signer: (i: Buffer) => Buffer;
      rule: string;
    }[] = [
      {
        name: "alg none without signature",
        header: { alg: "none", kid },
        signer: () => Buffer.of(),
        rule: "algorithm",
      },
      {
        name: "alg none in capitals",
        header: { alg: "NONE", kid },
        signer: () => Buffer.of(),
        rule: "algorithm",
      },
      {
        name: "alg none with a right signature",
        header: { alg: "none", kid },
        signer: rs256(pluginKey),
        rule: "algorithm",
      },
      { name: "no alg", header: { kid }, signer: rs256(pluginKey), rule: "algorithm" },
      {
        name: "alg in an array",
        header: { alg: ["RS256"], kid },
        signer: rs256(pluginKey),
        rule: "algorithm",
      },
      {
        name: "alg in small letters",
        header: { alg: "rs256", kid },
        signer: rs256(pluginKey),
        rule: "algorithm",
      },
      {
        name: "HS256 keyed with the public key as PEM",
        header: { alg: "HS256", kid },
        signer: hs256(String(pem)),
        rule: "algorithm",
      },
      {
        name: "HS256 keyed with the public key as PKCS#1 PEM",
        header: { alg: "HS256", kid },
        signer: hs256(String(pkcs1)),
        rule: "algorithm",
      },
      {
        name: "HS256 keyed with the public key as DER",
        header: { alg: "HS256", kid },
        signer: hs256(der),
        rule: "algorithm",
      },
      {
        name: "HS256 keyed with the public key as JWK",
        header: { alg: "HS256", kid },
        signer: hs256(jwk),
        rule: "algorithm",
      },
      {
        name: "RS256 in the header, HMAC in fact",
        header: { alg: "RS256", kid },
        signer: hs256(String(pem)),
        rule: "signature",
      },
      {
        name: "RS384",
        header: { alg: "RS384", kid },
        signer: (i) => sign("sha384", i, pluginKey.privateKey),
        rule: "algorithm",
      },
      {
        name: "RS512",
        header: { alg: "RS512", kid },
        signer: (i) => sign("sha512", i, pluginKey.privateKey),
        rule: "algorithm",
      },
      {
        name: "PS256",
        header: { alg: "PS256", kid },
        signer: (i) => sign("sha256", i, { key: pluginKey.privateKey, padding: 6, saltLength: 32 }),
        rule: "algorithm",
      },
      {
        name: "ES256",
        header: { alg: "ES256", kid },
        signer: (i) => sign("sha256", i, { key: ec.privateKey, dsaEncoding: "ieee-p1363" }),
        rule: "algorithm",
      },
      {
        name: "an empty signature",
        header: { alg: "RS256", kid },
        signer: () => Buffer.of(),
        rule: "signature",
      },
      {
        name: "a signature by another key",
        header: { alg: "RS256", kid },
        signer: rs256(otherKey),
        rule: "signature",
      },
      {
        name: "jwk in the header",
        header: { alg: "RS256", kid, jwk: otherKey.publicJwk },
        signer: rs256(otherKey),
        rule: "key-header",
      },
      {
        name: "jwk in the header, even the registered one",
        header: { alg: "RS256", kid, jwk: pluginKey.publicJwk },
        signer: rs256(pluginKey),
        rule: "key-header",
      },
      {
        name: "jku in the header",
        header: { alg: "RS256", kid, jku: "https://keys.example/" },
        signer: rs256(pluginKey),
        rule: "key-header",
      },
      {
        name: "x5u in the header",
        header: { alg: "RS256", kid, x5u: "https://keys.example/" },
        signer: rs256(pluginKey),
        rule: "key-header",
      },
      {
        name: "x5c in the header",
        header: { alg: "RS256", kid, x5c: ["MII"] },
        signer: rs256(pluginKey),
        rule: "key-header",
      },
      {
        name: "crit with an unknown extension",
        header: { alg: "RS256", kid, crit: ["exp"], exp: 1 },
        signer: rs256(pluginKey),
        rule: "critical-header",
      },
      {
        name: "crit, empty",
        header: { alg: "RS256", kid, crit: [] },
        signer: rs256(pluginKey),
        rule: "critical-header",
      },
      {
        name: "b64 false with crit",
        header: { alg: "RS256", kid, crit: ["b64"], b64: false },
        signer: rs256(pluginKey),
        rule: "critical-header",
      },
      {
        name: "b64 false without crit",
        header: { alg: "RS256", kid, b64: false },
        signer: rs256(pluginKey),
        rule: "critical-header",
      },
    ];
    test.each(rows)("$name", async ({ header, signer, rule }) => {
      const plugin = new PluginClient();
      const assertion = compactJws(header, claimsOf(plugin.assertion()), signer);
      const response = await plugin.requestToken({ form: { client_assertion: assertion } });
      expect(await rejection(response)).toEqual(rejectedWith("invalid_client"));
      expect(plugin.lastRule()).toBe(`assertion.${rule}`);
    });

    test("claims changed after signing", async () => {
      const plugin = new PluginClient();
      const [header, , signature] = plugin.assertion().split(".");
      const claims = Buffer.from(JSON.stringify(claimsOf(plugin.assertion()))).toString("base64url");
      const response = await plugin.requestToken({
        form: { client_assertion: `${header}.${claims}.${signature}` },
      });
      expect(await rejection(response)).toEqual(rejectedWith("invalid_client"));
      expect(plugin.lastRule()).toBe("assertion.signature");
    });
  });

  describe("kid is required, and binding once the JWKS holds more than one key", () => {
    const one = [pluginKey];
    const two = [pluginKey, otherKey];
    const rows: { name: string; keys: SigningKey[]; key?: SigningKey; kid: unknown; rule?: string }[] = [
      { name: "one key: its kid is accepted", keys: one, kid: "key-1" },
      { name: "one key: a wrong kid is accepted", keys: one, kid: "wrong" },
      { name: "one key: an absent kid is refused", keys: one, kid: undefined, rule: "key-id" },
      { name: "one key: an empty kid is refused", keys: one, kid: "", rule: "key-id" },
      { name: "one key: a kid that is a number is refused", keys: one, kid: 1, rule: "key-id" },
      {
        name: "one key: another key under its kid is refused",
        keys: one,
        key: otherKey,
        kid: "key-1",
        rule: "signature",
      },
      { name: "two keys: the first under its kid is accepted", keys: two, kid: "key-1" },
      { name: "two keys: the second under its kid is accepted", keys: two, key: otherKey, kid: "key-2" },
      { name: "two keys: a wrong kid is refused", keys: two, kid: "wrong", rule: "key-id" },
      { name: "two keys: the kid of the other key is refused", keys: two, kid: "key-2", rule: "key-id" },
      { name: "two keys: an absent kid is refused", keys: two, kid: undefined, rule: "key-id" },
    ];
    test.each(rows)("$name", async ({ keys, key = pluginKey, kid, rule }) => {
      const plugin = new PluginClient({}, { jwks: { keys: keys.map(({ publicJwk }) => publicJwk) } });
      const response = await plugin.requestToken({ key, header: { kid } });
      expect(response.status).toBe(rule === undefined ? 200 : 400);
      expect(plugin.lastRule()).toBe(rule && `assertion.${rule}`);
    });

    test("two keys of one kid are both tried", async () => {
      const twin = { ...otherKey, kid: "key-1", publicJwk: { ...otherKey.publicJwk, kid: "key-1" } };
      const plugin = new PluginClient({}, { jwks: { keys: [pluginKey.publicJwk, twin.publicJwk] } });
      expect((await plugin.requestToken()).status).toBe(200);
      expect((await plugin.requestToken({ key: twin })).status).toBe(200);
    });

    test("a key that was taken out of the JWKS is refused from the next request on", async () => {
      const plugin = new PluginClient({}, { jwks: { keys: two.map(({ publicJwk }) => publicJwk) } });
      expect((await plugin.requestToken({ key: otherKey })).status).toBe(200);
      plugin.emulator.updatePlugin({
        clientId: "reporter",
        tenantId: "acme",
        jwks: { keys: [pluginKey.publicJwk] },
      });
      expect((await plugin.requestToken({ key: otherKey })).status).toBe(400);
      expect(plugin.lastRule()).toBe("assertion.signature");
      expect((await plugin.requestToken()).status).toBe(200);
    });

    test("the key of another plugin is refused", async () => {
      const plugin = new PluginClient();
      const jwks = { keys: [otherKey.publicJwk] };
      plugin.emulator.registerPlugin({ clientId: "other", tenantId: "acme", type: "service", jwks });
      expect((await plugin.requestToken({ key: otherKey, header: { kid: "key-1" } })).status).toBe(400);
      expect(plugin.lastRule()).toBe("assertion.signature");
    });
  });
});

describe("replay", () => {
  describe("a repeated jti is refused", () => {
    test("the same assertion a second time", async () => {
      const plugin = new PluginClient();
      const form = plugin.form();
      expect((await plugin.post(form)).status).toBe(200);
      expect(await rejection(await plugin.post(form))).toEqual(rejectedWith("invalid_client"));
      expect(plugin.lastRule()).toBe("assertion.replay");
    });

    test("a new assertion with the same jti", async () => {
      const plugin = new PluginClient();
      expect((await plugin.requestToken({ claims: { jti: "once" } })).status).toBe(200);
      plugin.now += 1000;
      expect((await plugin.requestToken({ claims: { jti: "once" } })).status).toBe(400);
      expect(plugin.lastRule()).toBe("assertion.replay");
    });

    test("between exp and exp + 30 s, where tolerance still accepts the assertion", async () => {
      const plugin = new PluginClient();
      const form = plugin.form();
      expect((await plugin.post(form)).status).toBe(200);
      plugin.now += 85_000;
      expect((await plugin.post(form)).status).toBe(400);
      expect(plugin.lastRule()).toBe("assertion.replay");
    });

    const iat = START / 1000;
    const instants = [
      { name: "up to the last instant of the longest assertion", afterMs: 330_000, rule: "assertion.replay" },
      { name: "and after that for its age", afterMs: 330_001, rule: "assertion.issued-at" },
    ];
    test.each(instants)("$name", async ({ afterMs, rule }) => {
      const plugin = new PluginClient();
      const form = plugin.form({ claims: { exp: iat + 300 } });
      expect((await plugin.post(form)).status).toBe(200);
      plugin.now += afterMs;
      expect((await plugin.post(form)).status).toBe(400);
      expect(plugin.lastRule()).toBe(rule);
    });

    test("an assertion issued ahead of the clock is remembered from its iat on", async () => {
      const plugin = new PluginClient();
      const form = plugin.form({ claims: { iat: iat + 30, exp: iat + 330 } });
      expect((await plugin.post(form)).status).toBe(200);
      plugin.now += 360_000;
      expect((await plugin.post(form)).status).toBe(400);
      expect(plugin.lastRule()).toBe("assertion.replay");
    });

    test("after 1100 other assertions have made the store sweep itself", async () => {
      const plugin = new PluginClient();
      const form = plugin.form({ claims: { exp: iat + 300 } });
      expect((await plugin.post(form)).status).toBe(200);
      for (let i = 0; i < 1100; i++) {
        plugin.now += 60;
        await plugin.requestToken();
      }
      expect((await plugin.post(form)).status).toBe(400);
      expect(plugin.lastRule()).toBe("assertion.replay");
    });
  });

  describe("a jti is not burned", () => {
    const refused: { name: string; changed: Changed }[] = [
      { name: "by an assertion of a wrong key", changed: { key: newSigningKey("key-1") } },
      { name: "by an assertion with a wrong aud", changed: { claims: { aud: "http://other.example" } } },
      {
        name: "by an assertion that is too old",
        changed: { claims: { iat: START / 1000 - 400, exp: START / 1000 - 300 } },
      },
      { name: "by a request of an unsupported grant", changed: { form: { grant_type: "refresh_token" } } },
    ];
    test.each(refused)("$name", async ({ changed }) => {
      const plugin = new PluginClient();
      const claims = { ...changed.claims, jti: "kept" };
      expect((await plugin.requestToken({ ...changed, claims })).status).toBe(400);
      expect((await plugin.requestToken({ claims: { jti: "kept" } })).status).toBe(200);
    });

    test("by a plugin of another client_id or another tenant", async () => {
      const plugin = new PluginClient();
      const sheet = { type: "service", jwks: { keys: [pluginKey.publicJwk] } } as const;
      plugin.emulator.registerPlugin({ ...sheet, clientId: "second", tenantId: "acme" });
      plugin.emulator.registerPlugin({ ...sheet, clientId: "reporter", tenantId: "globex" });
      const second = { claims: { jti: "same", iss: "second", sub: "second" }, form: { client_id: "second" } };
      expect((await plugin.requestToken({ claims: { jti: "same" } })).status).toBe(200);
      expect((await plugin.requestToken(second)).status).toBe(200);
      expect((await plugin.requestToken({ tenantId: "globex", claims: { jti: "same" } })).status).toBe(200);
    });
  });

  test("an accepted assertion is spent even if the plugin's type is wrong for the grant", async () => {
    const plugin = new PluginClient({}, { type: "user_interface" });
    const form = plugin.form();
    await plugin.post(form);
    expect(plugin.lastRule()).toBe("plugin.grant");
    await plugin.post(form);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  test("of 50 concurrent posts of one assertion exactly one is answered 200", async () => {
    for (let round = 0; round < 20; round++) {
      const plugin = new PluginClient();
      const form = plugin.form();
      const statuses = await Promise.all(
        Array.from({ length: 50 }, async () => (await plugin.post(form)).status),
      );
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 400)).toHaveLength(49);
    }
  });
});
