// Tests of Variant B's logins that the table of negative requests does not cover: headers and
// cookies, the callback, the in-process login, and what a second exchange of a code ends.
import { describe, expect, test } from "vitest";
import { EmulatorError } from "../../src/emulator/index.js";
import { CALLBACK, Portal, tokensIn } from "./deployment.js";
import { FormBrowser } from "./form-browser.js";

type Changes = Record<string, string | undefined>;

const authorize = (portal: Portal, changes: Changes = {}) =>
  new FormBrowser(portal.emulator).open(portal.authorizationUrl(changes));

function callbackOf(portal: Portal, changes: Changes = {}): string {
  const url = portal.authorizationUrl(changes);
  return portal.emulator.login({ url, userId: "ada" }).callbackUrl;
}

describe("the authorization endpoint", () => {
  test("shows the login page, which no other site may frame, script or read", async () => {
    const { headers } = (await authorize(new Portal())).response;
    const policy = headers.get("content-security-policy");
    expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(policy).not.toMatch(/script-src|unsafe/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^emulator-login=[\w-]{43}; Path=\/v1\/auth; HttpOnly; SameSite=Lax$/),
    ]);
  });

  test("sets a Secure cookie for its path under an https URL", async () => {
    const { response } = await authorize(new Portal({ publicUrl: "https://service.example/site" }));
    expect(response.headers.get("set-cookie")).toMatch(/Path=\/site\/v1\/auth;.*Secure/);
  });
});

describe("the callback", () => {
  test("has the state of the request unchanged, and none if the request had none", () => {
    const stateOf = (state: string | undefined) =>
      new URL(callbackOf(new Portal(), { state })).searchParams.get("state");
    expect(stateOf(undefined)).toBe(null);
    expect(stateOf("a b&c=d#e/ü%20")).toBe("a b&c=d#e/ü%20");
  });

  test.each([
    ["https://portal.example/cb?x=%7E+1", "&"],
    ["https://portal.example/cb?", ""],
    ["com.example.portal:/cb", "?"],
  ])("at %s has the code after %j", (uri, joined) => {
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
  test.each([{ userId: "unknown" }, { userId: "grace" }, { userId: "ada", tenantId: "globex" }])(
    "of a client of one tenant is refused for %o",
    (login) => {
      const portal = new Portal({}, { tenantId: "acme" });
      portal.emulator.registerOperator({ tenantId: "globex", userId: "grace" });
      portal.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
      const url = portal.authorizationUrl();
      expect(() => portal.emulator.login({ url, ...login })).toThrow(/the page refuses the login/);
      expect(portal.lastRule()).toBe("login.credentials");
    },
  );

  test("needs the tenant if two tenants have that user id", () => {
    const portal = new Portal();
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
    const url = portal.authorizationUrl();
    expect(() => portal.emulator.login({ url, userId: "ada" })).toThrow(EmulatorError);
    const { callbackUrl } = portal.emulator.login({ url, userId: "ada", tenantId: "globex" });
    expect(new URL(callbackUrl).searchParams.has("code")).toBe(true);
  });

  test("of a wrong request is redirected or refused as at the page", async () => {
    const portal = new Portal();
    const { location } = await authorize(portal, { code_challenge: "" });
    expect(callbackOf(portal, { code_challenge: "" })).toBe(location);
    const outcome = { status: 302, error: "invalid_request" };
    expect(portal.emulator.customerLog.entries()).toMatchObject([{ outcome }, {}]);
    const foreign = { redirect_uri: "https://evil.example/" };
    expect(() => callbackOf(portal, foreign)).toThrow(EmulatorError);
    const elsewhere = () => portal.emulator.login({ url: "/v1/devices", userId: "ada" });
    expect(elsewhere).toThrow(/authorization endpoint/);
  });
});

describe("an authorization code", () => {
  test.each([
    { name: "after its two minutes", waitMs: 121_000 },
    { name: "just before its access token expires", waitMs: 3_599_000 },
  ])("that is exchanged again $name ends only its own login", async ({ waitMs }) => {
    const portal = new Portal();
    const [login, other] = [portal.loginCode(), await portal.personTokens()];
    const first = await tokensIn(portal.exchangeLogin(login));
    const second = await tokensIn(portal.refresh(first.refresh_token));
    portal.now += waitMs;
    expect((await portal.exchangeLogin(login)).status).toBe(400);
    expect(portal.lastRule()).toBe("client-code.unspent");
    for (const { access_token } of [first, second])
      expect(await portal.statusOf(access_token)).toBe(401);
    expect((await portal.refresh(second.refresh_token)).status).toBe(400);
    expect(portal.lastRule()).toBe("refresh.revoked");
    expect(await portal.statusOf(other.access_token)).toBe(200);
  });

  test("that another client presents ends no login", async () => {
    const portal = new Portal();
    portal.emulator.registerApiClient({ clientId: "neighbour", redirectUris: [CALLBACK] });
    const login = portal.loginCode();
    const { access_token } = await tokensIn(portal.exchangeLogin(login));
    await portal.exchangeLogin(login, { client_id: "neighbour" });
    expect(portal.lastRule()).toBe("client-code.client");
    expect(await portal.statusOf(access_token)).toBe(200);
  });
});
