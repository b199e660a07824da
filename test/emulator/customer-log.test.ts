// The customer log: its filters, what it may quote from a request, and canaries that no output may
// contain.
import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { shown, shownClientId, shownKeyId, shownUri } from "../../src/emulator/rules/shown.js";
import {
  accessTokenIn,
  LaunchedPlugin,
  PluginClient,
  PORTAL_SECRET,
  Portal,
  reporter,
  requestAccountToken,
  START,
  tokensIn,
} from "./deployment.js";
import { everyPage, FormBrowser } from "./form-browser.js";
import { newPkce } from "./signing-key.js";

const verifier = "Oh.V1FoODWw~YFsdAyZcJ3L.SwbN18X6Nz9.dyrEm30";

describe("the customer log", () => {
  test("is filtered by tenant, client, rule, request and instant", async () => {
    const plugin = new PluginClient();
    const { customerLog, journal } = plugin.emulator;
    await plugin.requestToken({ claims: { aud: "x" } });
    plugin.now += 1000;
    await plugin.requestToken({ claims: { iss: "x" } });
    await plugin.requestToken({ tenantId: "globex" });
    const rules = (filter: Parameters<typeof customerLog.entries>[0]) =>
      customerLog.entries(filter).map(({ rule }) => rule);
    expect(rules(reporter)).toEqual(["assertion.audience", "assertion.issuer"]);
    expect(rules({ rule: "assertion.issuer" })).toEqual(["assertion.issuer"]);
    expect(rules({ since: plugin.now })).toEqual(["assertion.issuer", "plugin.registered"]);
    expect(rules({ since: plugin.now + 1 })).toEqual([]);
    expect(rules({ requestId: journal.entries()[1]?.id })).toEqual(["assertion.issuer"]);
    expect(customerLog.last()?.rule).toBe("plugin.registered");
    expect(customerLog.last({ tenantId: "acme" })?.rule).toBe("assertion.issuer");
    expect(customerLog.last({ rule: "code.unspent" })).toBeUndefined();
  });

  test.each([{ tenant: "acme" }, { rule: "nonsense" }, { rule: "toString" }, { rule: null }])(
    "refuses the filter %j, which would match nothing",
    (filter) => {
      const { customerLog } = new PluginClient().emulator;
      const message = expect.stringMatching(Object.keys(filter)[0] ?? "");
      const refused = expect.objectContaining({ code: "option_invalid", message });
      expect(() => customerLog.entries(filter as object)).toThrow(refused);
      expect(() => customerLog.last(filter as object)).toThrow(refused);
    },
  );

  const fields = ["client_id", "grant_type", "client_assertion_type", "client_assertion", "code"];
  test.each(fields)("does not quote a secret sent as %s", async (field) => {
    for (const secret of [verifier, "open sesame", "gT7qLw92xPz"]) {
      const plugin = new LaunchedPlugin();
      await plugin.exchange(plugin.launchedCode(), { form: { [field]: secret } });
      expect(plugin.emulator.customerLog.entries()).toHaveLength(1);
      expect(JSON.stringify(plugin.emulator.customerLog.entries())).not.toContain(secret);
    }
  });

  test("has no client if a secret is launched in its place", () => {
    const { emulator } = new LaunchedPlugin();
    const launch = { tenantId: "acme", clientId: verifier, userId: "ada" };
    expect(() => emulator.launch(launch)).toThrow();
    expect(emulator.customerLog.last()).toMatchObject({ tenantId: "acme", rule: "launch.plugin" });
    expect(emulator.customerLog.last()).not.toHaveProperty("clientId");
  });

  test("does not quote a secret sent as redirect_uri", async () => {
    for (const redirect_uri of [verifier, PORTAL_SECRET, `https://portal.example/${verifier}`]) {
      const portal = new Portal();
      await portal.exchangeLogin(portal.loginCode(), { redirect_uri });
      await portal.emulator.fetch(portal.authorizationUrl({ redirect_uri }));
      const entries = portal.emulator.customerLog.entries();
      const rules = ["client-code.redirect-uri", "authorization.redirect-uri"];
      expect(entries.map(({ rule }) => rule)).toEqual(rules);
      expect(JSON.stringify(entries)).not.toContain(redirect_uri);
    }
  });

  test("quotes an unregistered client_id that consists of words", async () => {
    const plugin = new PluginClient();
    await plugin.requestToken({ form: { client_id: "planner-2" } });
    const entry = { rule: "plugin.registered", actual: '"planner-2"' };
    expect(plugin.emulator.customerLog.last({ clientId: "planner-2" })).toMatchObject(entry);
  });

  const now = START / 1000;
  test.each([
    { claims: { iat: now - 331 }, actual: "331 s old" },
    { claims: { iat: now + 31 }, actual: "31 s ahead" },
    { claims: { iat: now - 60, exp: now - 31 }, actual: "31 s past" },
    { claims: { exp: now + 301 }, actual: "301 s after iat" },
  ])("says that an assertion is $actual", async ({ claims, actual }) => {
    const plugin = new PluginClient();
    await plugin.requestToken({ claims });
    expect(plugin.emulator.customerLog.last(reporter)).toMatchObject({ actual });
  });

  test("has the id of its own request for each of 30 concurrent refusals", async () => {
    const plugin = new PluginClient();
    const { journal, customerLog } = plugin.emulator;
    const tenants = Array.from({ length: 30 }, (_, index) => `tenant-${index}`);
    await Promise.all(tenants.map((tenantId) => plugin.requestToken({ tenantId })));
    for (const { id, tenantId } of journal.entries())
      expect(customerLog.entries({ requestId: id })).toMatchObject([{ tenantId }]);
    expect(new Set(journal.entries().map(({ id }) => id)).size).toBe(30);
  });
});

describe("an entry", () => {
  const host = "https://staging-7.emulator.internal.services.customer.example:8443/x";
  const uuid = "0b8a5b1e-9d0c-4d5b-8d8e-3f6a2c1b7e90";

  test("quotes short texts, numbers and null, and describes everything else", () => {
    for (const value of ["http://h.example/x", host, uuid, 'a "b"'])
      expect(shown(value)).toBe(JSON.stringify(value));
    const values = [undefined, 1.5, null, ["secret"], { secret: 1 }];
    expect(values.map(shown)).toEqual(["absent", "1.5", "null", "an array of 1", "an object"]);
  });

  test.each([
    { name: "a JWT, however short", value: "eyJhbGciOiJub25lIn0.e30." },
    { name: "a JWT inside other text", value: "Bearer eyJh.e30.c2ln" },
    { name: "a string of 201 characters", value: "x".repeat(201) },
    { name: "a verifier with dots and tildes", value: verifier },
    { name: "a verifier in a URL", value: `http://h.example/${verifier}` },
    { name: "a verifier before a host", value: `http://${verifier}@h.ex/` },
    { name: "control characters", value: "a\nb" },
  ])("gives only the length of $name", ({ value }) => {
    expect(shown(value)).toBe(`a string of length ${value.length}`);
  });

  test("quotes a kid even if it is a thumbprint", () => {
    const thumbprint = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";
    expect(shownKeyId(thumbprint)).toBe(`"${thumbprint}"`);
  });

  test("quotes a client_id only if it consists of words", () => {
    for (const value of ["reporter", "plugin-2", "Acme.reports_eu-1", "com.example.device-list"])
      expect(shownClientId(value)).toBe(`"${value}"`);
    const long = "correct-horse-battery-staple-longpassword";
    for (const value of ["open sesame", "s3cr3t", "gT7qLw92", "AKIAIOSFODNN", long, uuid])
      expect(shownClientId(value)).toBe(`a string of length ${value.length}`);
  });

  test("quotes a redirect URI only if it is a URI", () => {
    const values = ["https://a.example/x", "urn:a:b", "open sesame", "", undefined];
    const texts = ['"https://a.example/x"', '"urn:a:b"', "no URI", "absent", "absent"];
    expect(values.map(shownUri)).toEqual(texts);
  });
});

describe("canaries and their hashes are absent from log, journal, pages and inspected emulator:", () => {
  async function expectAbsent(emulator: Emulator, canaries: Record<string, string | undefined>) {
    const everything = [
      JSON.stringify(emulator.customerLog.entries()),
      JSON.stringify(emulator.journal.entries()),
      JSON.stringify(emulator),
      inspect(emulator, { depth: 20, showHidden: true }),
      await everyPage(emulator),
    ].join("\n");
    for (const [name, canary = ""] of Object.entries(canaries)) {
      expect(canary.length, name).toBeGreaterThan(8);
      const digest = createHash("sha256").update(canary).digest();
      const digests = (["hex", "base64", "base64url"] as const).map((encoding) =>
        digest.toString(encoding),
      );
      for (const form of [canary, encodeURIComponent(canary), ...digests])
        expect(everything.includes(form), name).toBe(false);
    }
  }

  test("secret, assertion and tokens of machines, also in wrong fields, paths and queries", async () => {
    const plugin = new PluginClient();
    const { emulator } = plugin;
    const account = { clientId: "worker", clientSecret: "canary-secret-0123456789" };
    const secret = account.clientSecret;
    emulator.registerServiceAccount({ ...account, tenantId: "acme" });
    const form = plugin.form();
    const assertion = form.get("client_assertion") ?? "";
    const tokenA = await accessTokenIn(plugin.postForm(form));
    const tokenB = await accessTokenIn(requestAccountToken(emulator, account));
    await plugin.postForm(form);
    for (const name of ["grant_type", "client_assertion_type", "client_id", "client_assertion"])
      await plugin.requestToken({ form: { [name]: assertion } });
    for (const claim of ["iss", "aud", "jti", "iat"])
      await plugin.requestToken({ claims: { [claim]: assertion } });
    for (const header of ["kid", "alg", "crit"])
      await plugin.requestToken({ header: { [header]: assertion } });
    await requestAccountToken(emulator, { ...account, clientSecret: `${secret}x` });
    await requestAccountToken(emulator, { ...account, clientId: assertion });
    await requestAccountToken(emulator, { clientId: secret, clientSecret: "worker" });
    await plugin.postJson({ grant_type: assertion, client_id: "worker", client_secret: secret });
    for (const credential of [assertion, tokenA, tokenB]) {
      await plugin.call(tokenA, `/api/v1/acme/devices/${credential}?t=${credential}`);
      await plugin.call(tokenB, `/v1/${credential}`);
      await plugin.call(`${credential}x`);
      const headers = { authorization: `Basic ${secret}` };
      await emulator.fetch(`/v1/devices?access_token=${credential}`, { headers });
    }
    expect(emulator.customerLog.entries().length).toBeGreaterThan(15);
    const [header, claims, signature] = assertion.split(".");
    await expectAbsent(emulator, { secret, tokenA, tokenB, assertion, header, claims, signature });
  });

  test("opaque_code, state, code, verifier and token of a launch, also one for another", async () => {
    const plugin = new LaunchedPlugin();
    const identity = { ...reporter, userId: "ada" };
    const password = "canary-of-the-operator";
    plugin.emulator.updateOperator({ tenantId: "acme", userId: "ada", password });
    const host = await new FormBrowser(plugin.emulator).open("/host/acme");
    await (await host.submit({ userId: "ada", password })).follow();
    const [cookie] = host.cookies.values();
    const formToken = /data-form-token="([^"]*)"/.exec(host.html)?.[1];
    const { opaqueCode } = plugin.emulator.launch(identity);
    const accessToken = await plugin.launchedToken();
    const launched = plugin.launchedCode();
    const { code, codeVerifier, codeChallenge, state } = launched;
    const assertion = plugin.assertion();
    await plugin.exchange(launched, { form: { client_assertion: assertion } });
    await plugin.exchange(launched);
    await plugin.exchange(launched, {
      form: { client_id: code, client_assertion_type: codeVerifier },
    });
    const page = { password, cookie, formToken };
    const canaries = { opaqueCode, code, codeVerifier, state, accessToken, assertion, ...page };
    expect(await everyPage(plugin.emulator)).toContain("Code exchange");
    await expectAbsent(plugin.emulator, { ...canaries, codeChallenge });
    for (const secret of [opaqueCode, code, codeVerifier, state, accessToken, assertion]) {
      await plugin.exchange(plugin.launchedCode(), { form: { client_id: secret } });
      await plugin.exchange(plugin.launchedCode(), { form: { grant_type: secret } });
      await plugin.exchange({ ...plugin.launchedCode(), code: secret });
      await plugin.exchange({ ...plugin.launchedCode(), codeVerifier: secret });
      const launch = plugin.emulator.launch(identity);
      for (const wrong of [
        { codeChallenge: `${secret}x` },
        { ...newPkce(), opaqueCode: `${secret}x` },
      ])
        expect(() => launch.authorize(wrong)).toThrow(/refuses the launch/);
    }
    expect(plugin.emulator.customerLog.entries().length).toBeGreaterThan(12);
    await expectAbsent(plugin.emulator, canaries);
  });

  test("password, secret, code, verifier, refresh token, form token and cookie of a login", async () => {
    const password = "canary-password-0123456789";
    const portal = new Portal({}, { clientSecret: PORTAL_SECRET });
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", password });
    const pkce = newPkce();
    const state = "canary-of-the-state";
    const url = portal.authorizationUrl({ code_challenge: pkce.codeChallenge, state });
    const browser = await new FormBrowser(portal.emulator).open(url);
    await browser.submit({ userId: "ada", password: `${password}x` });
    await browser.submit({ userId: password, password: "ada" });
    await browser.submit({ userId: "ada", password });
    await browser.follow();
    const { form_token: formToken, request } = browser.hidden();
    const cookie = [...browser.cookies.values()].at(-1);
    await browser.submit({ decision: "allow" });
    const code = new URL(browser.location).searchParams.get("code") ?? "";
    await browser.open(browser.location.replace("portal.example", "emulator.localhost"));
    const first = await tokensIn(portal.exchangeLogin({ ...pkce, code }));
    const second = await tokensIn(portal.refresh(first.refresh_token));
    for (const changes of [
      { client_secret: `${PORTAL_SECRET}x` },
      { client_id: PORTAL_SECRET },
      {},
      { redirect_uri: PORTAL_SECRET, client_id: pkce.codeVerifier },
    ])
      await portal.exchangeLogin({ ...pkce, code }, changes);
    await portal.refresh(first.refresh_token);
    const misplaced = { client_id: PORTAL_SECRET, scope: second.access_token };
    for (const changes of [{ client_id: second.refresh_token }, misplaced])
      await portal.refresh(second.refresh_token, changes);
    const old = { oldRefreshToken: first.refresh_token, oldAccessToken: first.access_token };
    const typed = { password, PORTAL_SECRET, state };
    const canaries = { ...typed, code, ...second, ...old, formToken, request, cookie };
    expect((await everyPage(portal.emulator)).match(/Refresh</g)?.length).toBeGreaterThan(4);
    await expectAbsent(portal.emulator, { ...canaries, ...pkce });
    // A request that is refused immediately begins a flow too.
    const wrong = { client_id: PORTAL_SECRET, redirect_uri: password, scope: state };
    await portal.emulator.fetch(portal.authorizationUrl({ ...wrong, response_type: code }));
    expect(await everyPage(portal.emulator)).toContain("authorization.client");
    await expectAbsent(portal.emulator, canaries);
    const verifierTail = pkce.codeVerifier.slice(1);
    await portal.emulator.fetch(portal.authorizationUrl({ code_challenge: verifierTail }));
    expect(portal.emulator.customerLog.entries().length).toBeGreaterThan(7);
    await expectAbsent(portal.emulator, { ...canaries, verifierTail });
  });
});
