// Tests of Variant B's logins that the table of negative requests does not cover: headers and cookies,
// loopback redirect URIs, the callback, the in-process login, and what a second exchange of a code ends.
import { describe, expect, test } from "vitest";
import { EmulatorError, rules } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import { CALLBACK, Portal } from "./portal.js";

type Changes = Record<string, string | undefined>;

async function authorize(portal: Portal, changes: Changes = {}, more = ""): Promise<FormBrowser> {
  return new FormBrowser(portal.emulator).open(portal.authorizationUrl(changes) + more);
}

function callbackOf(portal: Portal, changes: Changes = {}): string {
  return portal.emulator.login({ url: portal.authorizationUrl(changes), userId: "ada" }).callbackUrl;
}

describe("the authorization endpoint", () => {
  test("shows the login page, which no other site may frame, script or read", async () => {
    const browser = await authorize(new Portal());
    expect(browser.text()).toContain("Log in to continue to portal");
    const { headers } = browser.response;
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get("content-security-policy")).not.toMatch(/script-src|unsafe/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^emulator-login=[\w-]{43}; Path=\/v1\/auth; HttpOnly; SameSite=Lax$/),
    ]);
  });

  test("sets a Secure cookie for its path under an https URL", async () => {
    const { response } = await authorize(new Portal({ publicUrl: "https://service.example/site" }));
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/Path=\/site\/v1\/auth;.*Secure/),
    ]);
  });

  const uri = "authorization.redirect-uri";
  const twice = "authorization.duplicate-parameter";
  const untold: { name: string; changes?: Changes; more?: string; rule: string }[] = [
    { name: "a path with dots", changes: { redirect_uri: `${CALLBACK}/../x` }, rule: uri },
    { name: "a default port", changes: { redirect_uri: "https://portal.example:443/callback" }, rule: uri },
    { name: "another scheme", changes: { redirect_uri: "http://portal.example/callback" }, rule: uri },
    { name: "user info", changes: { redirect_uri: "https://portal.example@evil.example/" }, rule: uri },
    { name: "a redirect_uri twice", more: "&redirect_uri=https%3A%2F%2Fevil.example", rule: twice },
    { name: "a state twice", more: "&state=x", rule: twice },
  ];
  test.each(untold)("does not redirect to the client for $name", async ({ changes, more = "", rule }) => {
    const portal = new Portal();
    const { response } = await authorize(portal, changes, more);
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(portal.lastRule()).toBe(rule);
    const url = portal.authorizationUrl(changes) + more;
    expect(() => portal.emulator.login({ url, userId: "ada" })).toThrow(EmulatorError);
  });

  const told = [
    { name: "response_type code token", changes: { response_type: "code token" }, rule: "response-type" },
    { name: "an empty challenge", changes: { code_challenge: "" }, rule: "challenge" },
    { name: "two spaces between scopes", changes: { scope: "devices:read  devices:read" }, rule: "scope" },
  ] as const;
  test.each(told)("sends the client the error for $name", async ({ changes, ...row }) => {
    const portal = new Portal({}, { scopes: ["devices:read"] });
    const { location } = await authorize(portal, changes);
    const { searchParams } = new URL(location);
    const rule = `authorization.${row.rule}` as const;
    const { error } = rules[rule].answer;
    expect([searchParams.get("error"), searchParams.get("state")]).toEqual([error, "state-1"]);
    expect(searchParams.get("error_description")).toMatch(/./);
    expect(portal.emulator.customerLog.entries()).toMatchObject([{ rule, outcome: { status: 302, error } }]);
    expect(callbackOf(portal, changes)).toBe(location);
  });
});

describe("a loopback redirect URI", () => {
  const v4 = "http://127.0.0.1/cb";
  const rows: { name: string; registered?: string; requested: string; status: 200 | 400 }[] = [
    { name: "may omit the port", registered: "http://127.0.0.1:80/cb", requested: v4, status: 200 },
    {
      name: "of IPv6 may have any port",
      registered: "http://[::1]:1/cb",
      requested: "http://[::1]:65535/cb",
      status: 200,
    },
    {
      name: "without a path may vary in port",
      registered: "http://127.0.0.1",
      requested: "http://127.0.0.1:9",
      status: 200,
    },
    { name: "must not gain a query", requested: "http://127.0.0.1:51004/cb?a=1", status: 400 },
    { name: "must not be of another loopback address", requested: "http://[::1]/cb", status: 400 },
    { name: "must not become https", requested: "https://127.0.0.1/cb", status: 400 },
    { name: "must not have a port above 65535", requested: "http://127.0.0.1:65536/cb", status: 400 },
    { name: "must not have port 0", requested: "http://127.0.0.1:0/cb", status: 400 },
    { name: "must not have user info", requested: "http://127.0.0.1:1@evil.example/cb", status: 400 },
    { name: "must not have a longer host", requested: "http://127.0.0.1.evil.example/cb", status: 400 },
    {
      name: "named localhost must keep its port",
      registered: "http://localhost:3000/cb",
      requested: "http://localhost:3001/cb",
      status: 400,
    },
  ];
  test.each(rows)("$name", async ({ registered = v4, requested, status }) => {
    const portal = new Portal({}, { redirectUris: [registered] });
    expect((await authorize(portal, { redirect_uri: requested })).response.status).toBe(status);
    if (status === 400) expect(portal.lastRule()).toBe("authorization.redirect-uri");
  });
});

describe("the callback", () => {
  test("has code and state, and nothing else", () => {
    expect(Object.fromEntries(new URL(callbackOf(new Portal())).searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      state: "state-1",
    });
  });

  test("has the state of the request unchanged, and none if the request had none", () => {
    expect(new URL(callbackOf(new Portal(), { state: undefined })).searchParams.has("state")).toBe(false);
    const state = "a b&c=d#e/ü%20";
    expect(new URL(callbackOf(new Portal(), { state })).searchParams.get("state")).toBe(state);
  });

  const uris = [
    { name: "keeps the query of the redirect URI", uri: "https://portal.example/cb?x=%7E+1", joined: "&" },
    { name: "adds no second separator", uri: "https://portal.example/cb?", joined: "" },
    { name: "reaches an app's own scheme", uri: "com.example.portal:/cb", joined: "?" },
  ];
  test.each(uris)("$name", ({ uri, joined }) => {
    const portal = new Portal({}, { redirectUris: [uri] });
    expect(callbackOf(portal, { redirect_uri: uri }).startsWith(`${uri}${joined}code=`)).toBe(true);
  });

  test("has the public URL as iss with the option issuerInCallback, on errors too", () => {
    const portal = new Portal({ issuerInCallback: true });
    for (const url of [callbackOf(portal), callbackOf(portal, { scope: "openid" })])
      expect(new URL(url).searchParams.get("iss")).toBe("http://emulator.localhost");
  });

  test("has error access_denied if the person refuses in-process", () => {
    const portal = new Portal();
    const url = portal.authorizationUrl();
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada", decision: "deny" });
    expect(new URL(callbackUrl).searchParams.get("error")).toBe("access_denied");
    expect(portal.lastRule()).toBe("login.consent");
  });
});

describe("the in-process login", () => {
  const rows = [
    { name: "by an unknown person", login: { userId: "unknown" } },
    { name: "by a person of a tenant that the client does not serve", login: { userId: "grace" } },
    { name: "for another tenant than the person's", login: { userId: "ada", tenantId: "globex" } },
  ];
  test.each(rows)("is refused $name", ({ login }) => {
    const portal = new Portal({}, { tenantId: "acme" });
    portal.emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
    const url = portal.authorizationUrl();
    expect(() => portal.emulator.login({ url, ...login })).toThrow(/the page refuses the login/);
    expect(portal.lastRule()).toBe("login.credentials");
  });

  test("needs the tenant if two tenants have that user id", () => {
    const portal = new Portal();
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
    const url = portal.authorizationUrl();
    expect(() => portal.emulator.login({ url, userId: "ada" })).toThrow(EmulatorError);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada", tenantId: "globex" });
    expect(new URL(callbackUrl).searchParams.has("code")).toBe(true);
  });

  test("is refused at any other URL", () => {
    const { emulator } = new Portal();
    expect(() => emulator.login({ url: "/v1/devices", userId: "ada" })).toThrow(/authorization endpoint/);
  });
});

describe("an authorization code", () => {
  const reused = [
    { name: "at once", waitMs: 0 },
    { name: "after its two minutes", waitMs: 121_000 },
    { name: "just before its access token expires", waitMs: 3_599_000 },
  ];
  test.each(reused)("that is exchanged again $name ends only its own login", async ({ waitMs }) => {
    const portal = new Portal();
    const [login, other] = [portal.loginCode(), await portal.tokens()];
    const first = await portal.tokens(await portal.exchange(login));
    const second = await portal.tokens(await portal.refresh(first.refresh_token));
    portal.now += waitMs;
    expect((await portal.exchange(login)).status).toBe(400);
    expect(portal.lastRule()).toBe("client-code.unspent");
    for (const { access_token } of [first, second]) expect(await portal.statusOf(access_token)).toBe(401);
    expect((await portal.refresh(second.refresh_token)).status).toBe(400);
    expect(portal.lastRule()).toBe("refresh.revoked");
    expect(await portal.statusOf(other.access_token)).toBe(200);
  });

  test("is known as spent weeks and 1100 codes later", async () => {
    const portal = new Portal();
    const login = portal.loginCode();
    await portal.exchange(login);
    portal.now += 29 * 86_400_000;
    for (let other = 0; other < 1100; other++) portal.loginCode();
    await portal.exchange(login);
    expect(portal.lastRule()).toBe("client-code.unspent");
  });

  test("that another client presents ends no login", async () => {
    const portal = new Portal();
    portal.emulator.registerApiClient({ clientId: "neighbour", redirectUris: [CALLBACK] });
    const login = portal.loginCode();
    const { access_token } = await portal.tokens(await portal.exchange(login));
    await portal.exchange(login, { client_id: "neighbour" });
    expect(portal.lastRule()).toBe("client-code.client");
    expect(await portal.statusOf(access_token)).toBe(200);
  });

  const kept: { name: string; changes: Changes }[] = [
    { name: "no verifier", changes: { code_verifier: undefined } },
    { name: "another redirect_uri", changes: { redirect_uri: `${CALLBACK}#a` } },
    { name: "another client", changes: { client_id: "neighbour" } },
    { name: "an unknown client", changes: { client_id: "unknown" } },
    { name: "the secret of a public client", changes: { client_secret: "x" } },
  ];
  test.each(kept)("is not spent by an exchange with $name", async ({ changes }) => {
    const portal = new Portal();
    portal.emulator.registerApiClient({ clientId: "neighbour", redirectUris: [CALLBACK] });
    const login = portal.loginCode();
    expect((await portal.exchange(login, changes)).status).not.toBe(200);
    expect((await portal.exchange(login)).status).toBe(200);
  });
});

describe("a token of a login", () => {
  const write = ["devices:write"];
  const rows: { name: string; scopes?: string[]; capabilities?: string[]; rule?: string }[] = [
    { name: "is accepted where client and person have the scope", scopes: ["devices:read"] },
    { name: "is accepted where the client has no limit" },
    { name: "is refused where the client has another scope", scopes: write, rule: "route.scope" },
    { name: "is refused where the person has another", capabilities: write, rule: "route.operator" },
    { name: "is refused where the person has none", capabilities: [], rule: "route.operator" },
  ];
  test.each(rows)("$name", async ({ scopes, capabilities = ["devices:read"], rule }) => {
    const portal = new Portal({}, scopes && { scopes });
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", capabilities });
    const { access_token } = await portal.tokens();
    expect(await portal.statusOf(access_token)).toBe(rule === undefined ? 200 : 403);
    expect(portal.lastRule()).toBe(rule);
  });
});
