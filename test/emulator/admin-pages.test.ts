// The pages at /_emulator show what happened, and never show a secret or markup from outside.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Emulator } from "../../src/emulator/index.js";
import { AdminBrowser, atAdmin, FormBrowser } from "./form-browser.js";
import { LaunchedPlugin, PluginClient, START } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";
import { newPkce, newSigningKey } from "./signing-key.js";

const PAGES = ["", "/log", "/flow", "/plugins", "/accounts", "/clients", "/operators", "/faults", "/rules"];
const PARTS = ["clock", "log", "journal", "flow", "faults"].map((part) => `/live/${part}`);

async function everyPage(emulator: Emulator): Promise<string> {
  const pages = [...PAGES, ...PARTS].map((path) => new AdminBrowser(emulator).open(`/_emulator${path}`));
  return (await Promise.all(pages)).map(({ html }) => html).join("\n");
}

test("the pages link to each other, mark the current one, and have no inline script or style", async () => {
  for (const path of PAGES) {
    const { browser } = await atAdmin(path);
    expect(browser.response.status).toBe(200);
    expect(browser.html.match(/aria-current="page"/g)).toHaveLength(1);
    for (const other of PAGES) expect(browser.html).toContain(`href="/_emulator${other}"`);
    const inline = /<style| style="| on\w+="|<script(?! src="\/_emulator\/admin\.js" defer><)/;
    expect(browser.html).not.toMatch(inline);
    const policy = (browser.response.headers.get("content-security-policy") ?? "").split("; ");
    const parts = ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"];
    expect(policy).toEqual(expect.arrayContaining(parts));
    const ids = [...browser.html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, id] of browser.html.matchAll(/ for="([^"]*)"/g)) expect(ids).toContain(id);
  }
});

test("pages, live parts and forms are not in the journal or the log, and take no random numbers", async () => {
  const plugin = new PluginClient({ randomSeed: 7 });
  const { emulator, browser } = await atAdmin("", plugin);
  await everyPage(emulator);
  await browser.send("run", { do: "freeze" });
  await browser.send("set", { do: "set", clock: "never" });
  expect([emulator.journal.entries(), emulator.customerLog.entries()]).toEqual([[], []]);
  const untouched = new PluginClient({ randomSeed: 7 });
  expect(await plugin.accessToken()).toBe(await untouched.accessToken());
});

describe("the overview", () => {
  test("shows only the endpoints of the served variants", async () => {
    const a = await atAdmin("", new PluginClient({ variants: ["A"] }));
    expect(a.browser.text()).toContain(
      "Variants A Base URL http://emulator.localhost Token endpoint, Variant A",
    );
    expect(a.browser.html).toContain('href="/host/acme"');
    expect(a.browser.text()).not.toContain("Authorization endpoint");
    const b = await atAdmin("", new PluginClient({ variants: ["B"] }));
    expect(b.browser.html).not.toContain('href="/host/acme"');
    expect(b.browser.text()).toContain("Authorization endpoint http://emulator.localhost/v1/auth/authorize");
  });

  test("shows an instant beyond the calendar as a number", async () => {
    const { plugin, emulator, browser } = await atAdmin("");
    emulator.clock.set(8.64e15);
    plugin.now += 5000;
    for (const path of ["", "/log", "/live/clock"]) {
      expect((await browser.open(`/_emulator${path}`)).response.status).toBe(200);
    }
  });
});

describe("the log", () => {
  test("lists each refusal with its request, newest first", async () => {
    const { plugin, browser } = await atAdmin("/log");
    expect(browser.text()).toContain("Nothing was refused yet.");
    await plugin.requestToken({ claims: { aud: "https://elsewhere.example" } });
    plugin.now += 1000;
    await plugin.call(undefined);
    await browser.open("/_emulator/live/log");
    const [first = "", second = ""] = browser.html.split("<li").slice(1);
    expect([first, second]).toEqual([
      expect.stringContaining("bearer.present"),
      expect.stringContaining("assertion.audience"),
    ]);
    expect(browser.text()).toMatch(
      /401 bearer\.present .* 2026-01-01 12:00:01\.000 .* Request #2 GET \/api\/v1\/acme\/devices 401/,
    );
    expect(browser.text()).toMatch(
      /400 assertion\.audience section 2\.2, 7\.1 · invalid_client 2026-01-01 12:00:00\.000 acme · reporter Expected aud "http:.*\/token" Actual "https:\/\/elsewhere\.example" Remedy .{20,} Request #1 POST .*token 400/,
    );
    await browser.open("/_emulator/live/journal");
    expect(browser.text()).toMatch(
      /#2 .* 401 bearer\.present GET \/api\/v1\/acme\/devices listDevices .*#1 .* 400 assertion\.audience POST .* requestToken acme reporter client_credentials/,
    );
  });

  test("marks a refusal without a request and a request without an answer", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    expect(() => emulator.launch({ tenantId: "acme", clientId: "absent", userId: "ada" })).toThrow();
    emulator.faults.add({ name: "lost-answer" });
    await expect(plugin.requestToken()).rejects.toThrow();
    const { browser } = await atAdmin("/log", plugin);
    expect(browser.text()).toContain("Request none: refused in-process");
    expect(browser.text()).toMatch(/no answer .*fault lost-answer/);
  });

  test("shows the newest 100 entries and the number of all", async () => {
    const { plugin, emulator, browser } = await atAdmin("/log");
    for (let index = 0; index < 150; index += 1) await emulator.fetch("/v1/devices");
    plugin.now = START + 1;
    await emulator.fetch("/v1/devices");
    await browser.open("/_emulator/live/log");
    expect(browser.text()).toContain("100 of 151, newest first");
    expect(browser.html.match(/<li /g)).toHaveLength(100);
    expect(browser.html.split("<li")[1]).toContain("12:00:00.001");
  });
});

describe("markup from outside", () => {
  const EVIL = `"><script>alert(1)</script><img src=x onerror='alert(1)'>&amp;`;
  const TAGS =
    "a aside body button code dd details div dl dt fieldset form h1 h2 h3 head header html input label legend li link main meta nav noscript ol option p script section select span strong summary table tbody td textarea th thead time title tr ul";

  /** Checks that the pages contain no tags and attributes except their own. */
  function expectHarmless(html: string): void {
    for (const [, name = "", attributes = ""] of html.matchAll(/<\/?([a-z0-9]+)((?:"[^"]*"|[^">])*)>/gi)) {
      expect(TAGS.split(" "), name).toContain(name);
      expect(attributes.replace(/"[^"]*"/g, "")).not.toMatch(/\son\w+=|[<'(]/);
    }
    expect(html).not.toContain("<script>");
    expect(html).not.toContain("&amp;amp;amp;");
    expect(html).not.toMatch(/(href|src|action)="(?!\/|data:,"|#|"|\?)/);
  }

  test("stays text in registrations, faults and requests", async () => {
    const plugin = new LaunchedPlugin({}, { name: EVIL, pageUrl: `https://plugin.example/?x=${EVIL}` });
    const { emulator } = plugin;
    const roles = [{ name: EVIL, group: EVIL }];
    const jwks = { keys: [{ ...newSigningKey("key").publicJwk, kid: EVIL }] };
    const devices = [EVIL, "</textarea><script>"];
    emulator.registerPlugin({ tenantId: "acme", clientId: EVIL, type: "service", devices, roles, jwks });
    emulator.registerOperator({ tenantId: "acme", userId: EVIL, firstname: EVIL, roles });
    emulator.registerServiceAccount({ tenantId: "acme", clientId: `${EVIL}2`, clientSecret: "s" });
    const redirectUris = ["https://portal.example/?x='<script>"];
    emulator.registerApiClient({ clientId: `${EVIL}3`, name: EVIL, redirectUris });
    const match = { tenantId: EVIL };
    emulator.faults.add({ name: "status", status: 503, body: EVIL, count: "always", at: "resource", match });
    await emulator.fetch(`/${encodeURIComponent(EVIL)}/<script>`);
    await plugin.requestToken({ claims: { aud: EVIL }, form: { client_id: EVIL } });
    emulator.launch({ tenantId: "acme", clientId: "reporter", userId: EVIL });
    const pages = await everyPage(emulator);
    expectHarmless(pages);
    expect(pages).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    const browser = await new AdminBrowser(emulator).open("/_emulator/plugins");
    await browser.send(browser.formOf("update", "acme", EVIL), { enabled: "false" });
    expect(browser.text()).toContain("disabled");
  });

  test("stays text in the query and in refused input", async () => {
    const query = new URLSearchParams({ name: EVIL, filter: EVIL, saved: EVIL });
    for (const path of PAGES) {
      const { browser } = await atAdmin(`${path}?${query}`);
      expect(browser.response.status).toBe(200);
      expectHarmless(browser.html);
    }
    const { browser } = await atAdmin("/faults?name=fields");
    await browser.send("arm", { fields: EVIL, "match.tenantId": `</textarea>${EVIL}` });
    expect(browser.response.status).toBe(400);
    expectHarmless(browser.html);
    expect(browser.value("arm", "match.tenantId")).toBe(`</textarea>${EVIL}`);
  });
});

describe("no page shows a secret or its hash", () => {
  function expectAbsent(text: string, secrets: Record<string, string | undefined>): void {
    for (const [name, secret = ""] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThan(8);
      const digest = createHash("sha256").update(secret).digest();
      const digests = (["hex", "base64", "base64url"] as const).map((encoding) => digest.toString(encoding));
      for (const form of [secret, encodeURIComponent(secret), ...digests]) {
        expect(text.includes(form), name).toBe(false);
      }
    }
  }

  test("of registrations, a launch and its exchanges", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    const secret = "canary-of-the-account";
    const password = "canary-of-the-operator";
    emulator.registerServiceAccount({ tenantId: "acme", clientId: "worker", clientSecret: secret });
    const redirectUris = ["https://portal.example/"];
    emulator.registerApiClient({ clientId: "portal", redirectUris, clientSecret: PORTAL_SECRET });
    emulator.updateOperator({ tenantId: "acme", userId: "ada", password });
    const host = await new FormBrowser(emulator).open("/host/acme");
    await host.submit({ userId: "ada", password });
    await host.follow();
    const [cookie] = host.cookies.values();
    const formToken = /data-form-token="([^"]*)"/.exec(host.html)?.[1];
    const { opaqueCode } = emulator.launch({ tenantId: "acme", clientId: "reporter", userId: "ada" });
    const launched = plugin.launchedCode();
    const { code, codeVerifier, codeChallenge, state } = launched;
    const assertion = plugin.assertion();
    const exchanged = await plugin.exchange(launched, { form: { client_assertion: assertion } });
    const { access_token: accessToken } = (await exchanged.json()) as { access_token: string };
    // Sends it again, and each secret in the place of another field.
    await plugin.exchange(launched);
    for (const wrong of [code, codeVerifier, accessToken, assertion]) {
      await plugin.exchange(plugin.launchedCode(), { form: { client_id: wrong } });
      await plugin.exchange(plugin.launchedCode(), { form: { grant_type: wrong } });
      await plugin.exchange({ ...plugin.launchedCode(), codeVerifier: wrong });
    }
    await plugin.exchange(launched, { form: { client_id: code, client_assertion_type: codeVerifier } });
    const pages = await everyPage(emulator);
    expect(pages).toContain("Code exchange");
    expectAbsent(pages, {
      ...{ secret, password, PORTAL_SECRET, cookie, formToken, opaqueCode },
      ...{ code, codeVerifier, codeChallenge, state, accessToken, assertion },
    });
  });

  test("of a login, its exchange and its refreshes", async () => {
    const portal = new Portal({}, { clientSecret: PORTAL_SECRET });
    const password = "canary-of-the-operator";
    portal.emulator.updateOperator({ tenantId: "acme", userId: "ada", password });
    const pkce = newPkce();
    const state = "canary-of-the-state";
    const url = portal.authorizationUrl({ code_challenge: pkce.codeChallenge, state });
    const browser = await new FormBrowser(portal.emulator).open(url);
    await browser.submit({ userId: password, password: "ada" });
    await browser.submit({ userId: "ada", password });
    await browser.follow();
    const { form_token: formToken, request } = browser.hidden();
    const cookie = [...browser.cookies.values()].at(-1);
    await browser.submit({ decision: "allow" });
    const code = new URL(browser.location).searchParams.get("code") ?? "";
    const first = await portal.tokens(await portal.exchange({ ...pkce, code }));
    const second = await portal.tokens(await portal.refresh(first.refresh_token));
    await portal.refresh(second.refresh_token, { client_id: second.refresh_token });
    await portal.refresh(second.refresh_token, { client_id: PORTAL_SECRET, scope: second.access_token });
    await portal.exchange({ ...pkce, code }, { redirect_uri: PORTAL_SECRET, client_id: pkce.codeVerifier });
    const pages = await everyPage(portal.emulator);
    expect(pages.match(/Refresh</g)?.length).toBeGreaterThan(4);
    expectAbsent(pages, {
      ...{ password, PORTAL_SECRET, state, formToken, request, cookie, code, ...pkce },
      ...{ accessToken: first.access_token, refreshToken: first.refresh_token },
      ...{ newAccessToken: second.access_token, newRefreshToken: second.refresh_token },
    });
    // A request that is refused immediately begins a flow too.
    const wrong = { client_id: PORTAL_SECRET, redirect_uri: password, scope: state, response_type: code };
    await portal.emulator.fetch(portal.authorizationUrl(wrong));
    const after = await everyPage(portal.emulator);
    expect(after).toContain("authorization.client");
    expectAbsent(after, { password, PORTAL_SECRET, state, code });
  });
});
