// Which algorithm and which key may sign: algorithm confusion, keys in the header, and the rules of kid.
import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { PluginClient, pluginKey, rejectedWith, rejection } from "./plugin-client.js";
import { compactJws, hs256, newSigningKey, rs256, type SigningKey } from "./signing-key.js";

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
    { name: "alg in an array", header: { alg: ["RS256"], kid }, signer: rs256(pluginKey), rule: "algorithm" },
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
