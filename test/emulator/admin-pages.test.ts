// What the pages at /_emulator show, and what they never show: markup of somebody else's, and secrets.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createEmulator, type Emulator, type EmulatorSnapshot } from "../../src/emulator/index.js";
import { AdminBrowser, at } from "./admin-browser.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { PluginClient, START } from "./plugin-client.js";
import { PORTAL_SECRET, Portal } from "./portal.js";
import { newSigningKey } from "./signing-key.js";

const PAGES = ["", "/log", "/flow", "/plugins", "/clients", "/operators", "/faults", "/rules", "/state"];
const PARTS = ["clock", "activity", "log", "journal", "flow", "faults"].map((part) => `/live/${part}`);

async function everyPage(emulator: Emulator): Promise<string> {
  const pages = [...PAGES, ...PARTS].map((path) => new AdminBrowser(emulator).open(`/_emulator${path}`));
  return (await Promise.all(pages)).map(({ html }) => html).join("\n");
}

test("the pages link each other, say which they are, and hold no script or style inline", async () => {
  for (const path of PAGES) {
    const { browser } = await at(path);
    expect(browser.response.status).toBe(200);
    expect(browser.html.match(/aria-current="page"/g)).toHaveLength(1);
    for (const other of PAGES) expect(browser.html).toContain(`href="/_emulator${other}"`);
    expect(browser.html).not.toMatch(
      /<style| style="| on\w+="|<script(?! src="\/_emulator\/admin\.js" defer><)/,
    );
    const policy = browser.response.headers.get("content-security-policy");
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
    ]) {
      expect(policy).toContain(part);
    }
    const ids = [...browser.html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, id] of browser.html.matchAll(/ for="([^"]*)"/g)) expect(ids).toContain(id);
  }
});

test("a page, its parts and its forms are in neither journal nor log, and draw nothing from a seeded emulator", async () => {
  const plugin = new PluginClient({ randomSeed: 7 });
  const { emulator, browser } = await at("", plugin);
  await everyPage(emulator);
  await browser.submit("run", { do: "freeze" });
  await browser.submit("set", { do: "set", instant: "never" });
  expect([emulator.journal.entries(), emulator.customerLog.entries()]).toEqual([[], []]);
  const untouched = new PluginClient({ randomSeed: 7 });
  expect(await plugin.accessToken()).toBe(await untouched.accessToken());
});

test("an empty emulator has pages too", async () => {
  const emulator = new Portal().emulator;
  emulator.restore({
    ...emulator.snapshot(),
    ...withState(emulator.snapshot(), { operators: [], apiClients: [] }),
  });
  expect(await everyPage(emulator)).toContain("Nothing is registered yet");
});

test("only what is served is on the overview, with the host applications of Variant A", async () => {
  const a = await at("", new PluginClient({ variants: ["A"] }));
  expect(a.browser.text()).toContain(
    "Variants A Base URL http://emulator.localhost Token endpoint, Variant A",
  );
  expect(a.browser.html).toContain('href="/host/acme"');
  expect(a.browser.text()).not.toContain("Authorization endpoint");
  const b = await at("", new PluginClient({ variants: ["B"] }));
  expect(b.browser.html).not.toContain('href="/host/acme"');
  expect(b.browser.text()).toContain("Authorization endpoint http://emulator.localhost/v1/auth/authorize");
});

describe("the tenants", () => {
  const redirectUris = ["https://portal.example/"];
  const cells = (html: string, tenantId: string) => {
    const row = html.split("<tr>").find((one) => one.includes(`<code>${tenantId}</code>`)) ?? "";
    return [...row.matchAll(/<td>(\d+)<\/td>/g)].map(([, cell]) => Number(cell));
  };

  test("count the API clients of every tenant in each, and say so", async () => {
    const { emulator, browser } = await at("");
    expect(browser.text()).not.toContain("every tenant");
    emulator.registerServiceAccount({ tenantId: "umbrella", clientId: "worker", clientSecret: "s" });
    emulator.registerApiClient({ clientId: "theirs", redirectUris, tenantId: "umbrella" });
    emulator.registerApiClient({ clientId: "everybody's", redirectUris });
    await browser.open("/_emulator");
    // Plugins, service accounts, API clients, operators.
    expect(cells(browser.html, "acme")).toEqual([1, 0, 1, 0]);
    expect(cells(browser.html, "umbrella")).toEqual([0, 1, 2, 0]);
    expect(browser.text()).toContain("1 API client is registered for every tenant and counted in each.");
    emulator.registerApiClient({ clientId: "everybody's too", redirectUris });
    await browser.open("/_emulator");
    expect(cells(browser.html, "acme")).toEqual([1, 0, 2, 0]);
    expect(browser.text()).toContain("2 API clients are registered for every tenant");
  });

  test("are none where there are only API clients of every tenant, and the page says that", async () => {
    const emulator = createEmulator({ seed: { apiClients: [{ clientId: "portal", redirectUris }] } });
    const browser = await new AdminBrowser(emulator).open("/_emulator");
    expect(browser.text()).toContain("1 API client is registered for every tenant, and nothing else is yet.");
    expect(browser.text()).not.toContain("Nothing is registered yet");
  });
});

describe("the log", () => {
  test("has each refusal with its request, newest first, as a live part too", async () => {
    const { plugin, browser } = await at("/log");
    expect(browser.text()).toContain("Nothing was refused yet.");
    await plugin.requestToken({ claims: { aud: "https://elsewhere.example" } });
    plugin.now += 1000;
    await plugin.call(undefined);
    await browser.open("/_emulator/live/log");
    const [first = "", second = ""] = browser.html.split("<li").slice(1);
    expect(first).toContain("bearer.present");
    expect(second).toContain("assertion.audience");
    const shown = browser.text();
    expect(shown).toMatch(
      /401 bearer\.present .* 2026-01-01 12:00:01\.000 .* Request #2 GET \/api\/v1\/acme\/devices 401/,
    );
    expect(shown).toMatch(
      /400 assertion\.audience section 2\.2, 7\.1 · invalid_client 2026-01-01 12:00:00\.000 acme · reporter Expected aud "http:.*\/token" Actual "https:\/\/elsewhere\.example" Remedy .{20,} Request #1 POST .*token 400/,
    );
    await browser.open("/_emulator/live/journal");
    expect(browser.text()).toMatch(
      /#2 .* 401 bearer\.present GET \/api\/v1\/acme\/devices listDevices .*#1 .* 400 assertion\.audience POST .* requestToken acme reporter client_credentials/,
    );
  });

  test("tells a refusal without a request, a request without a refusal and one without an answer", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    expect(() => emulator.launch({ tenantId: "acme", clientId: "nobody", userId: "ada" })).toThrow();
    emulator.faults.add({ name: "lost-answer" });
    await expect(plugin.requestToken()).rejects.toThrow();
    const { browser } = await at("/log", plugin);
    expect(browser.text()).toContain("Request none: refused in-process");
    expect(browser.text()).toMatch(/no answer .*fault lost-answer/);
  });

  test("shows the newest of many, and says of how many", async () => {
    const { plugin, emulator, browser } = await at("/log");
    for (let index = 0; index < 150; index += 1) await emulator.fetch("/v1/devices");
    plugin.now = START + 1;
    await emulator.fetch("/v1/devices");
    await browser.open("/_emulator/live/log");
    expect(browser.text()).toContain("100 of 151, newest first");
    expect(browser.html.match(/<li /g)).toHaveLength(100);
    expect(browser.html.split("<li")[1]).toContain("12:00:00.001");
  });
});

test("an instant that no calendar reaches is a number", async () => {
  const { plugin, emulator, browser } = await at("");
  emulator.clock.set(8.64e15);
  plugin.now += 5000;
  for (const path of ["", "/log", "/live/clock"]) {
    await browser.open(`/_emulator${path}`);
    expect(browser.response.status).toBe(200);
  }
});

describe("markup of somebody else's", () => {
  const EVIL = `"><script>alert(1)</script><img src=x onerror='alert(1)'>&amp;`;
  const TAGS =
    "a aside body button code datalist dd details div dl dt fieldset form h1 h2 h3 head header html input label legend li link main meta nav noscript ol option p script section select span strong summary table tbody td textarea th thead time title tr ul";

  /** Every tag and attribute is one of ours. */
  function expectHarmless(html: string): void {
    for (const [, name = "", attributes = ""] of html.matchAll(/<\/?([a-z0-9]+)((?:"[^"]*"|[^">])*)>/gi)) {
      expect(TAGS.split(" "), name).toContain(name);
      expect(attributes.replace(/"[^"]*"/g, "")).not.toMatch(/\son\w+=|[<'(]/);
    }
    expect(html).not.toContain("<script>");
    expect(html).not.toContain("&amp;amp;amp;");
  }

  test("stays text: names, ids, roles, devices, keys, pages", async () => {
    const plugin = new LaunchedPlugin({}, { name: EVIL, pageUrl: `https://plugin.example/?x=${EVIL}` });
    const { emulator } = plugin;
    const kid = EVIL;
    const roles = [{ name: EVIL, group: EVIL }];
    const key = { ...newSigningKey("key").publicJwk, kid };
    const registered = { tenantId: "acme", clientId: EVIL, devices: [EVIL, "</textarea><script>"], roles };
    emulator.registerPlugin({ ...registered, type: "service", jwks: { keys: [key] } });
    emulator.registerOperator({ tenantId: "acme", userId: EVIL, firstname: EVIL, roles });
    emulator.registerServiceAccount({ tenantId: "acme", clientId: `${EVIL}2`, clientSecret: "s" });
    const redirectUris = ["https://portal.example/?x='<script>"];
    emulator.registerApiClient({ clientId: `${EVIL}3`, name: EVIL, redirectUris });
    emulator.faults.add({
      name: "status",
      status: 503,
      body: EVIL,
      count: "always",
      at: "resource",
      match: { tenantId: EVIL },
    });
    await emulator.fetch(`/${encodeURIComponent(EVIL)}/<script>`);
    await plugin.requestToken({ claims: { aud: EVIL }, form: { client_id: EVIL } });
    emulator.launch({ tenantId: "acme", clientId: "reporter", userId: EVIL });
    const pages = await everyPage(emulator);
    expectHarmless(pages);
    expect(pages).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    const browser = await new AdminBrowser(emulator).open("/_emulator/plugins");
    await browser.submit(browser.formOf("enabled", "acme", EVIL), { enabled: "false" });
    expect(emulator.snapshot().state).toMatchObject({ plugins: [{}, { clientId: EVIL, enabled: false }] });
  });

  test("stays text in what is asked and typed", async () => {
    const query = new URLSearchParams({ name: EVIL, filter: EVIL, saved: EVIL });
    for (const path of PAGES) {
      const { browser } = await at(`${path}?${query}`);
      expect(browser.response.status).toBe(200);
      expectHarmless(browser.html);
    }
    const { browser } = await at("/faults?name=fields");
    await browser.submit("arm", { fields: EVIL, tenantId: `</textarea>${EVIL}`, operation: EVIL });
    expect(browser.response.status).toBe(400);
    expectHarmless(browser.html);
    expect(browser.fields("arm")).toContainEqual(["tenantId", `</textarea>${EVIL}`]);
  });

  test("stays text, and no link, in a snapshot that somebody made", async () => {
    const { emulator } = new LaunchedPlugin();
    const snapshot = emulator.snapshot();
    const { plugins, operators } = snapshot.state as { plugins: object[]; operators: object[] };
    const tenantId = `javascript:alert(1)//${EVIL}`;
    const changed = {
      plugins: plugins.map((plugin) => ({ ...plugin, tenantId, pageUrl: "javascript:alert(1)" })),
      operators: operators.map((operator) => ({ ...operator, tenantId })),
    };
    emulator.restore({ ...snapshot, ...withState(snapshot, changed) });
    const pages = await everyPage(emulator);
    expectHarmless(pages);
    expect(pages).not.toMatch(/(href|src|action)="(?!\/|data:,"|#|"|\?)/);
  });
});

describe("no secret is on any page", () => {
  function expectAbsent(text: string, secrets: Record<string, string | undefined>): void {
    for (const [name, secret = ""] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThan(8);
      const digest = createHash("sha256").update(secret).digest();
      for (const form of [
        secret,
        encodeURIComponent(secret),
        digest.toString("hex"),
        digest.toString("base64"),
        digest.toString("base64url"),
      ]) {
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
    emulator.registerApiClient({
      clientId: "portal",
      redirectUris: ["https://portal.example/"],
      clientSecret: PORTAL_SECRET,
    });
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
    const accessToken = (
      (await (await plugin.exchange(launched, { form: { client_assertion: assertion } })).json()) as {
        access_token: string;
      }
    ).access_token;
    // Again, and each in the place of another.
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
      secret,
      password,
      PORTAL_SECRET,
      cookie,
      formToken,
      opaqueCode,
      code,
      codeVerifier,
      codeChallenge,
      state,
      accessToken,
      assertion,
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
    // A request that is refused at once begins a flow too.
    const parameters = {
      client_id: PORTAL_SECRET,
      redirect_uri: password,
      scope: state,
      response_type: code,
    };
    await portal.emulator.fetch(portal.authorizationUrl(parameters));
    const after = await everyPage(portal.emulator);
    expect(after).toContain("authorization.client");
    expectAbsent(after, { password, PORTAL_SECRET, state, code });
  });
});

/** A snapshot as somebody makes it who can reckon its digest. */
function withState(snapshot: EmulatorSnapshot, changed: object): Pick<EmulatorSnapshot, "state" | "digest"> {
  const state = { ...(snapshot.state as object), ...changed };
  return { state, digest: createHash("sha256").update(JSON.stringify(state)).digest("base64url") };
}
