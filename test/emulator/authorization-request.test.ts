// Variant B's authorization endpoint: error pages, errors for the client, and logins.
import { describe, expect, test } from "vitest";
import { EmulatorError } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import { s256 } from "./pkce.js";
import { CALLBACK, Portal } from "./portal.js";

type Changes = Record<string, string | undefined>;

async function authorize(portal: Portal, changes: Changes = {}, more = ""): Promise<FormBrowser> {
  return new FormBrowser(portal.emulator).open(portal.authorizationUrl(changes) + more);
}

test("a right request is shown the login page, which no other site may frame, script or read", async () => {
  const browser = await authorize(new Portal());
  expect(browser.response.status).toBe(200);
  expect(browser.text()).toContain("Log in to continue to portal");
  const { headers } = browser.response;
  expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  expect(headers.get("content-security-policy")).not.toMatch(/script-src|unsafe/);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^emulator-login=[\w-]{43}; Path=\/v1\/auth; HttpOnly; SameSite=Lax$/),
  ]);
});

test("under https the cookie is Secure", async () => {
  const portal = new Portal({ publicUrl: "https://service.example/site" });
  const { response } = await authorize(portal);
  expect(response.headers.getSetCookie()).toEqual([expect.stringMatching(/Path=\/site\/v1\/auth;.*Secure/)]);
});

describe("client and redirect URI are told to the person, never by a redirect", () => {
  const uri = "authorization.redirect-uri";
  const rows: { name: string; changes?: Changes; more?: string; rule: string }[] = [
    { name: "no client_id", changes: { client_id: undefined }, rule: "authorization.client" },
    { name: "an unknown client_id", changes: { client_id: "nobody" }, rule: "authorization.client" },
    { name: "a service account's client_id", changes: { client_id: "worker" }, rule: "authorization.client" },
    { name: "no redirect_uri", changes: { redirect_uri: undefined }, rule: uri },
    { name: "another host", changes: { redirect_uri: "https://evil.example/callback" }, rule: uri },
    { name: "another path", changes: { redirect_uri: "https://portal.example/callback2" }, rule: uri },
    { name: "a longer path", changes: { redirect_uri: `${CALLBACK}/../x` }, rule: uri },
    { name: "an added query", changes: { redirect_uri: `${CALLBACK}?a=1` }, rule: uri },
    { name: "an added fragment", changes: { redirect_uri: `${CALLBACK}#a` }, rule: uri },
    { name: "a default port", changes: { redirect_uri: "https://portal.example:443/callback" }, rule: uri },
    { name: "an upper-case host", changes: { redirect_uri: "https://PORTAL.example/callback" }, rule: uri },
    { name: "another scheme", changes: { redirect_uri: "http://portal.example/callback" }, rule: uri },
    {
      name: "user info",
      changes: { redirect_uri: "https://portal.example@evil.example/callback" },
      rule: uri,
    },
    { name: "a client_id twice", more: "&client_id=portal", rule: "authorization.duplicate-parameter" },
    {
      name: "a redirect_uri twice",
      more: "&redirect_uri=https%3A%2F%2Fevil.example",
      rule: "authorization.duplicate-parameter",
    },
    { name: "a state twice", more: "&state=x", rule: "authorization.duplicate-parameter" },
  ];
  test.each(rows)("$name", async ({ changes, more, rule }) => {
    const portal = new Portal();
    portal.emulator.registerServiceAccount({ clientId: "worker", clientSecret: "x", tenantId: "acme" });
    const { response } = await authorize(portal, changes, more);
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(portal.lastRule()).toBe(rule);
    const url = portal.authorizationUrl(changes) + (more ?? "");
    expect(() => portal.emulator.login({ url, userId: "ada" })).toThrow(EmulatorError);
  });
});

describe("what else is wrong is told to the client, with its state", () => {
  const response = { error: "unsupported_response_type", rule: "authorization.response-type" };
  const method = { error: "invalid_request", rule: "authorization.challenge-method" };
  const challenge = { error: "invalid_request", rule: "authorization.challenge" };
  const scope = { error: "invalid_scope", rule: "authorization.scope" };
  const rows: { name: string; changes: Changes; error: string; rule: string }[] = [
    { name: "no response_type", changes: { response_type: undefined }, ...response },
    { name: "response_type token", changes: { response_type: "token" }, ...response },
    { name: "response_type code token", changes: { response_type: "code token" }, ...response },
    { name: "no challenge", changes: { code_challenge: undefined }, ...challenge },
    { name: "an empty challenge", changes: { code_challenge: "" }, ...challenge },
    { name: "a challenge of 42 characters", changes: { code_challenge: "c".repeat(42) }, ...challenge },
    { name: "a padded challenge", changes: { code_challenge: `${s256("v")}=` }, ...challenge },
    { name: "method plain", changes: { code_challenge_method: "plain" }, ...method },
    { name: "no method, which means plain", changes: { code_challenge_method: undefined }, ...method },
    { name: "a scope of no known form", changes: { scope: "openid" }, ...scope },
    { name: "a scope that is not the client's", changes: { scope: "devices:read devices:write" }, ...scope },
    { name: "two spaces between scopes", changes: { scope: "devices:read  devices:read" }, ...scope },
  ];
  test.each(rows)("$name", async ({ changes, error, rule }) => {
    const portal = new Portal({}, { scopes: ["devices:read"] });
    const browser = await authorize(portal, changes);
    expect(browser.response.status).toBe(302);
    const location = new URL(browser.location);
    expect(location.origin + location.pathname).toBe(CALLBACK);
    const { error_description, ...told } = Object.fromEntries(location.searchParams);
    expect(told).toEqual({ error, state: "state-1" });
    expect(error_description).toEqual(expect.any(String));
    expect(portal.emulator.customerLog.entries()).toMatchObject([{ rule, outcome: { status: 302, error } }]);
    const url = portal.authorizationUrl(changes);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada" });
    expect(callbackUrl).toBe(browser.location);
  });
});

describe("a loopback redirect URI", () => {
  type Row = { name: string; registered: string; requested: string; taken: boolean };
  const v4 = "http://127.0.0.1/cb";
  const rows: Row[] = [
    { name: "takes any port", registered: v4, requested: "http://127.0.0.1:51004/cb", taken: true },
    { name: "takes no port", registered: "http://127.0.0.1:80/cb", requested: v4, taken: true },
    {
      name: "of IPv6 takes any port",
      registered: "http://[::1]:1/cb",
      requested: "http://[::1]:65535/cb",
      taken: true,
    },
    {
      name: "without a path takes any port",
      registered: "http://127.0.0.1",
      requested: "http://127.0.0.1:9",
      taken: true,
    },
    { name: "takes no other path", registered: v4, requested: "http://127.0.0.1:51004/other", taken: false },
    {
      name: "takes no added query",
      registered: v4,
      requested: "http://127.0.0.1:51004/cb?a=1",
      taken: false,
    },
    { name: "takes no localhost", registered: v4, requested: "http://localhost/cb", taken: false },
    { name: "takes no other loopback address", registered: v4, requested: "http://[::1]/cb", taken: false },
    { name: "takes no https", registered: v4, requested: "https://127.0.0.1/cb", taken: false },
    {
      name: "takes no port above 65535",
      registered: v4,
      requested: "http://127.0.0.1:65536/cb",
      taken: false,
    },
    { name: "takes no port 0", registered: v4, requested: "http://127.0.0.1:0/cb", taken: false },
    {
      name: "takes no user info",
      registered: v4,
      requested: "http://127.0.0.1:1@evil.example/cb",
      taken: false,
    },
    {
      name: "takes no longer host",
      registered: v4,
      requested: "http://127.0.0.1.evil.example/cb",
      taken: false,
    },
    {
      name: "named localhost is a host like any other",
      registered: "http://localhost:3000/cb",
      requested: "http://localhost:3001/cb",
      taken: false,
    },
  ];
  test.each(rows)("$name", async ({ registered, requested, taken }) => {
    const portal = new Portal({}, { redirectUris: [registered] });
    const { response } = await authorize(portal, { redirect_uri: requested });
    expect(response.status).toBe(taken ? 200 : 400);
    if (!taken) expect(portal.lastRule()).toBe("authorization.redirect-uri");
  });

  test("is exchanged with the port of the request and with no other", async () => {
    const portal = new Portal({}, { redirectUris: [v4] });
    const redirect_uri = "http://127.0.0.1:51004/cb";
    const login = portal.loginCode({ redirect_uri });
    expect((await portal.exchange(login, { redirect_uri: v4 })).status).toBe(400);
    expect(portal.lastRule()).toBe("client-code.redirect-uri");
    expect((await portal.exchange(login, { redirect_uri })).status).toBe(200);
  });
});

describe("the callback", () => {
  function callbackOf(portal: Portal, changes: Changes = {}): string {
    return portal.emulator.login({ url: portal.authorizationUrl(changes), userId: "ada" }).callbackUrl;
  }

  test("has code and state, and nothing else", () => {
    const url = new URL(callbackOf(new Portal()));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      state: "state-1",
    });
  });

  test("has no state where the request had none, and repeats any other unchanged", () => {
    expect(new URL(callbackOf(new Portal(), { state: undefined })).searchParams.has("state")).toBe(false);
    const state = "a b&c=d#e/ü%20";
    expect(new URL(callbackOf(new Portal(), { state })).searchParams.get("state")).toBe(state);
  });

  test("keeps the query of the redirect URI as it is", () => {
    const redirect_uri = "https://portal.example/cb?x=%7E+1";
    const portal = new Portal({}, { redirectUris: [redirect_uri] });
    expect(callbackOf(portal, { redirect_uri }).startsWith(`${redirect_uri}&code=`)).toBe(true);
  });

  test("reaches an app's own scheme", () => {
    const redirect_uri = "com.example.portal:/cb";
    const portal = new Portal({}, { redirectUris: [redirect_uri] });
    expect(callbackOf(portal, { redirect_uri })).toMatch(/^com\.example\.portal:\/cb\?code=[\w-]{43}&state=/);
  });

  test("has iss, the public URL, if the option asks for it, on errors too", () => {
    const portal = new Portal({ issuerInCallback: true });
    const urls = [callbackOf(portal), callbackOf(portal, { scope: "openid" })];
    expect(urls.map((url) => new URL(url).searchParams.get("iss"))).toEqual(
      Array(2).fill("http://emulator.localhost"),
    );
  });

  test("has access_denied where the person refuses", () => {
    const portal = new Portal();
    const url = portal.authorizationUrl();
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada", decision: "deny" });
    expect(new URL(callbackUrl).searchParams.get("error")).toBe("access_denied");
    expect(portal.lastRule()).toBe("login.consent");
  });
});

describe("the in-process login is refused", () => {
  const rows = [
    { name: "by a person who is not registered", login: { userId: "nobody" } },
    { name: "by one of a tenant that the client may not ask", login: { userId: "grace" } },
    { name: "for another tenant than the person's", login: { userId: "ada", tenantId: "globex" } },
  ];
  test.each(rows)("$name", ({ login }) => {
    const portal = new Portal({}, { tenantId: "acme" });
    portal.emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
    const url = portal.authorizationUrl();
    expect(() => portal.emulator.login({ url, ...login })).toThrow(/the page refuses the login/);
    expect(portal.lastRule()).toBe("login.credentials");
  });

  test("where two tenants have that user id and none is named", async () => {
    const portal = new Portal();
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
    const url = portal.authorizationUrl();
    expect(() => portal.emulator.login({ url, userId: "ada" })).toThrow(EmulatorError);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada", tenantId: "globex" });
    expect(new URL(callbackUrl).searchParams.has("code")).toBe(true);
  });

  test("at any other URL", () => {
    const { emulator } = new Portal();
    expect(() => emulator.login({ url: "/v1/devices", userId: "ada" })).toThrow(/authorization endpoint/);
  });
});
