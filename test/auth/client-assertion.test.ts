// The client assertion of Variant A: the claims of section 2.2, and nothing else.
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { createAuth } from "../../src/index.js";
import { START, steppedClock } from "../support/clock.js";
import { deployment, PLUGIN_ID, plugin } from "../support/deployment.js";
import { scriptedFetch, tokenAnswer } from "../support/fetch.js";
import { otherRsaKey, pkcs8 } from "../support/keys.js";
import { rejectionOf } from "../support/wait.js";

async function assertionFor(baseUrl: string, settings: { audience?: string } = {}) {
  const fetch = scriptedFetch(() => tokenAnswer());
  const { now } = steppedClock(START + 999);
  const credential = plugin(settings);
  await createAuth({ baseUrl, tenantId: "acme", credential, fetch, now }).getAccessToken();
  const sent = fetch.calls[0];
  const assertion = new URLSearchParams(sent?.body).get("client_assertion") ?? "";
  return { url: sent?.url, header: decodeProtectedHeader(assertion), claims: decodeJwt(assertion) };
}

test("holds iss, sub, aud, jti, iat and exp, and no nbf", async () => {
  const { claims } = await assertionFor("https://service.example");
  expect(Object.keys(claims).sort()).toEqual(["aud", "exp", "iat", "iss", "jti", "sub"]);
  expect(claims).toMatchObject({ iss: PLUGIN_ID, sub: PLUGIN_ID, iat: START / 1000, exp: START / 1000 + 60 });
  expect(claims.jti).toMatch(/^[\w-]{20,}$/);
});

test("is RS256, with the kid", async () => {
  const { header } = await assertionFor("https://service.example");
  expect(header).toEqual({ alg: "RS256", typ: "JWT", kid: expect.stringMatching(/^[\w-]{43}$/) });
});

describe("aud is the exact URL posted to, as one string", () => {
  const path = "/api/v1/acme/external-plugin/oauth/token";
  const rows = [
    { name: "an origin", baseUrl: "https://service.example", aud: `https://service.example${path}` },
    { name: "a trailing slash", baseUrl: "https://service.example/", aud: `https://service.example${path}` },
    { name: "a prefix", baseUrl: "https://service.example/x/y", aud: `https://service.example/x/y${path}` },
    { name: "a default port", baseUrl: "https://service.example:443", aud: `https://service.example${path}` },
    { name: "capital letters", baseUrl: "HTTPS://Service.Example", aud: `https://service.example${path}` },
    {
      name: "a letter beyond ASCII",
      baseUrl: "https://bücher.example",
      aud: `https://xn--bcher-kva.example${path}`,
    },
  ];
  test.each(rows)("$name", async ({ baseUrl, aud }) => {
    const { url, claims } = await assertionFor(baseUrl);
    expect(claims.aud).toBe(aud);
    expect(url).toBe(aud);
  });

  test("unless audience says otherwise, for sites behind a proxy that rewrites", async () => {
    const audience = "https://inner.example/api/v1/acme/external-plugin/oauth/token";
    const { url, claims } = await assertionFor("https://outer.example", { audience });
    expect(claims.aud).toBe(audience);
    expect(url).toBe(`https://outer.example${path}`);
  });
});

describe("the emulator, which checks every rule, accepts it", () => {
  test("as it is", async () => {
    const emulator = deployment({ variants: ["A"] });
    const options = { baseUrl: "http://service.localhost", tenantId: "acme", fetch: emulator.fetch };
    const token = await createAuth({ ...options, credential: plugin() }).getAccessToken();
    expect(token).toMatchObject({ tenant: "acme" });
    expect(emulator.customerLog.entries()).toEqual([]);
  });

  const broken: { name: string; settings: Parameters<typeof plugin>[0] }[] = [
    { name: "another audience", settings: { audience: "http://service.localhost/elsewhere" } },
    {
      name: "the audience of another tenant",
      settings: { audience: "http://service.localhost/api/v1/globex/x" },
    },
    { name: "another key", settings: { privateKey: pkcs8(otherRsaKey()) } },
  ];
  test.each(broken)("and refuses one with $name", async ({ settings }) => {
    const emulator = deployment({ variants: ["A"] });
    const options = { baseUrl: "http://service.localhost", tenantId: "acme", fetch: emulator.fetch };
    const error = await rejectionOf(
      createAuth({ ...options, credential: plugin(settings) }).getAccessToken(),
    );
    expect(error).toMatchObject({ code: "token_refused", error: "invalid_client", status: 400 });
    expect(emulator.customerLog.entries()).toHaveLength(1);
  });
});
