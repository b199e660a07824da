// The claims of the client assertion, each accepted up to its boundary and refused beyond it (description, 2.2).
import { describe, expect, test } from "vitest";
import { type Changed, PluginClient, rejectedWith, rejection, START } from "./plugin-client.js";

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
    { name: "with claims nobody asked for", changed: { claims: { scope: "x", azp: ["y"] } } },
    { name: "with typ JWT", changed: { header: { typ: "JWT" } } },
    { name: "with typ client-authentication+jwt", changed: { header: { typ: "client-authentication+jwt" } } },
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
    { name: "with exp as a string", changed: { claims: { exp: String(NOW_SECONDS + 60) } }, rule: "expiry" },
    { name: "without exp", changed: { claims: { exp: undefined } }, rule: "expiry", actual: "absent" },
    { name: "with exp 301 s after iat", changed: times(0, 301), rule: "lifetime", actual: "301 s after iat" },
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
    { name: "a header that is no JSON", assertion: "YWJj.e30.e30" },
    { name: "claims that are null", assertion: `${btoa('{"alg":"RS256"}')}.bnVsbA.e30`.replaceAll("=", "") },
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
