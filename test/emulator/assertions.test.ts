// Tests of client assertions that the table of negative requests does not cover: log entries, the edges of
// time, key rotation, and which attempts use up a jti.
import { describe, expect, test } from "vitest";
import { type Changed, PluginClient, pluginKey, rejectedWith, rejection, START } from "./plugin-client.js";
import { hs256, newSigningKey } from "./signing-key.js";

const NOW_SECONDS = START / 1000;
const otherKey = newSigningKey("key-2");
const smallKey = newSigningKey("key-1", 1024);
const identity = { clientId: "reporter", tenantId: "acme" };

/** Returns claims with iat and exp this many seconds from now. */
const times = (iat: number, exp: number): Changed => ({
  claims: { iat: NOW_SECONDS + iat, exp: NOW_SECONDS + exp },
});

const accepted: { name: string; changed: Changed }[] = [
  { name: "with iat and exp as fractions of seconds", changed: times(-0.5, 59.5) },
  { name: "with unknown claims", changed: { claims: { scope: "x", azp: ["y"] } } },
  { name: "with a jti of 10,000 characters", changed: { claims: { jti: "j".repeat(10_000) } } },
];
test.each(accepted)("a client assertion $name is accepted, and the log stays empty", async ({ changed }) => {
  const plugin = new PluginClient();
  expect((await plugin.requestToken(changed)).status).toBe(200);
  expect(plugin.emulator.customerLog.entries()).toEqual([]);
});

const claim = (claims: object): Changed => ({ claims: { ...claims } });
const TOKEN_URL = "http://emulator.localhost/api/v1/acme/external-plugin/oauth/token";
const refused: { name: string; changed: Changed; rule: string; actual?: string }[] = [
  { name: "iat 331 s old", changed: times(-331, -29), rule: "issued-at", actual: "331 s old" },
  { name: "iat 330.5 s old", changed: times(-330.5, -30.5), rule: "issued-at" },
  { name: "iat 31 s ahead", changed: times(31, 60), rule: "issued-at", actual: "31 s ahead" },
  { name: "exp 31 s past", changed: times(-60, -31), rule: "expiry", actual: "31 s past" },
  { name: "exp 301 s after iat", changed: times(-200, 101), rule: "lifetime", actual: "301 s after iat" },
  { name: "another iss", changed: claim({ iss: "other" }), rule: "issuer", actual: '"other"' },
  { name: "iss as an array", changed: claim({ iss: ["reporter"] }), rule: "issuer" },
  { name: "https in aud", changed: claim({ aud: TOKEN_URL.replace("http:", "https:") }), rule: "audience" },
  { name: "escapes in aud", changed: claim({ aud: TOKEN_URL.replace("acme", "%61cme") }), rule: "audience" },
  { name: "a space after aud", changed: claim({ aud: `${TOKEN_URL} ` }), rule: "audience" },
  { name: "several aud values", changed: claim({ aud: [TOKEN_URL, "x"] }), rule: "audience" },
];
test.each(refused)("a client assertion with $name is refused, and the log names $rule", async (row) => {
  const plugin = new PluginClient();
  expect(await rejection(await plugin.requestToken(row.changed))).toEqual(rejectedWith("invalid_client"));
  const entry = plugin.emulator.customerLog.last(identity);
  expect(entry?.rule).toBe(`assertion.${row.rule}`);
  if (row.actual !== undefined) expect(entry?.actual).toBe(row.actual);
});

const encoded = (json: string) => Buffer.from(json).toString("base64url");
const malformed = [
  { name: "characters outside base64url", assertion: "e3==.e30.e30" },
  { name: "a header that is an array", assertion: `${encoded("[]")}.e30.e30` },
  { name: "claims that are null", assertion: `${encoded('{"alg":"RS256"}')}.${encoded("null")}.e30` },
];
test.each(malformed)("a client assertion with $name is malformed", async ({ assertion }) => {
  const plugin = new PluginClient();
  await plugin.requestToken({ form: { client_assertion: assertion } });
  expect(plugin.lastRule()).toBe("assertion.form");
});

describe("keys", () => {
  test("an HMAC with the public key as its secret is a wrong signature, even under alg RS256", async () => {
    const plugin = new PluginClient();
    const pem = pluginKey.publicKey.export({ type: "spki", format: "pem" });
    const [header, claims] = plugin.assertion().split(".");
    const forged = hs256(String(pem))(Buffer.from(`${header}.${claims}`)).toString("base64url");
    await plugin.requestToken({ form: { client_assertion: `${header}.${claims}.${forged}` } });
    expect(plugin.lastRule()).toBe("assertion.signature");
  });

  test("two keys of one kid are both tried", async () => {
    const twin = { ...otherKey, kid: "key-1", publicJwk: { ...otherKey.publicJwk, kid: "key-1" } };
    const plugin = new PluginClient({}, { jwks: { keys: [pluginKey.publicJwk, twin.publicJwk] } });
    expect((await plugin.requestToken()).status).toBe(200);
    expect((await plugin.requestToken({ key: twin })).status).toBe(200);
  });
});

describe("a repeated jti", () => {
  test("of an assertion issued ahead of the clock is refused 330 s after its iat", async () => {
    const plugin = new PluginClient();
    const form = plugin.form(times(30, 330));
    expect((await plugin.post(form)).status).toBe(200);
    plugin.now += 360_000;
    await plugin.post(form);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  test("is refused after 1100 other assertions have made the store remove old entries", async () => {
    const plugin = new PluginClient();
    const form = plugin.form(times(0, 300));
    expect((await plugin.post(form)).status).toBe(200);
    // Signing with the registered key would take most of the time.
    plugin.emulator.rules.enforce("assertion.signature", false);
    for (let i = 0; i < 1100; i++) {
      plugin.now += 60;
      await plugin.requestToken({ key: smallKey });
    }
    await plugin.post(form);
    expect(plugin.lastRule()).toBe("assertion.replay");
  });

  const unspent: { name: string; changed: Changed }[] = [
    { name: "an assertion with a wrong aud", changed: claim({ aud: "http://other.example" }) },
    { name: "an assertion that is too old", changed: times(-400, -300) },
    { name: "a request for an unsupported grant", changed: { form: { grant_type: "refresh_token" } } },
  ];
  test.each(unspent)("is accepted after $name", async ({ changed }) => {
    const plugin = new PluginClient();
    const claims = { ...changed.claims, jti: "kept" };
    expect((await plugin.requestToken({ ...changed, claims })).status).toBe(400);
    expect((await plugin.requestToken({ claims: { jti: "kept" } })).status).toBe(200);
  });
});
