// The pages at /_emulator show what happened, and never markup from outside.
import { describe, expect, test } from "vitest";
import { LaunchedPlugin, PluginClient, START } from "./deployment.js";
import { AdminBrowser, atAdmin, everyPage, PAGES } from "./form-browser.js";
import { newSigningKey } from "./signing-key.js";

test("the pages link to each other, mark the current one, and have no inline script or style", async () => {
  for (const path of PAGES) {
    const { browser } = await atAdmin(path);
    expect(browser.html.match(/aria-current="page"/g)).toHaveLength(1);
    for (const other of PAGES) expect(browser.html).toContain(`href="/_emulator${other}"`);
    const inline = /<style| style="| on\w+="|<script(?! src="\/_emulator\/admin\.js" defer><)/;
    expect(browser.html).not.toMatch(inline);
    const policy = (browser.response.headers.get("content-security-policy") ?? "").split("; ");
    const own = ["script-src 'self'", "style-src 'self'"];
    const none = ["default-src 'none'", "frame-ancestors 'none'"];
    expect(policy).toEqual(expect.arrayContaining([...own, ...none]));
    const ids = [...browser.html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, id] of browser.html.matchAll(/ for="([^"]*)"/g)) expect(ids).toContain(id);
  }
});

test("pages, live parts and forms are not in the journal or the log, and take no random numbers", async () => {
  const plugin = new PluginClient({ randomSeed: 7 });
  const { emulator, browser } = await atAdmin("", plugin);
  await everyPage(emulator);
  await browser.send("steer", { do: "freeze" });
  await browser.send("steer", { do: "set", clock: "never" });
  expect([emulator.journal.entries(), emulator.customerLog.entries()]).toEqual([[], []]);
  const untouched = new PluginClient({ randomSeed: 7 });
  expect(await plugin.pluginToken()).toBe(await untouched.pluginToken());
});

test("the overview shows only the endpoints of the served variants", async () => {
  const a = (await atAdmin("", new PluginClient({ variants: ["A"] }))).browser;
  expect(a.text()).toContain("Base URL http://emulator.localhost Token endpoint, Variant A");
  expect(a.html).toContain('href="/host/acme"');
  expect(a.text()).not.toContain("Authorization endpoint");
  const b = (await atAdmin("", new PluginClient({ variants: ["B"] }))).browser;
  expect(b.html).not.toContain('href="/host/acme"');
  expect(b.text()).toContain("Authorization endpoint http://emulator.localhost/v1/auth/authorize");
});

test("an instant beyond the calendar is shown as a number", async () => {
  const { plugin, emulator, browser } = await atAdmin("");
  emulator.clock.set(8.64e15);
  plugin.now += 5000;
  for (const path of ["", "/log", "/live/clock"])
    expect((await browser.open(`/_emulator${path}`)).response.status).toBe(200);
});

describe("the log", () => {
  test("lists each refusal with its request, newest first", async () => {
    const { plugin, browser } = await atAdmin("/log");
    expect(browser.text()).toContain("Nothing was refused yet.");
    await plugin.requestToken({ claims: { aud: "https://elsewhere.example" } });
    plugin.now += 1000;
    await plugin.call(undefined);
    await browser.open("/_emulator/live/log");
    const [bearer, audience] = browser
      .text()
      .split(/(?=40\d [a-z]+\.)/)
      .slice(1);
    expect(bearer).toMatch(
      /^401 bearer\.present .* 2026-01-01 12:00:01\.000 .* Request #2 GET \/api\/v1\/acme\/devices 401/,
    );
    expect(audience).toMatch(
      /^400 assertion\.audience section 2\.2, 7\.1 · invalid_client 2026-01-01 12:00:00\.000 acme · reporter Expected aud "http:.*\/token" Actual "https:\/\/elsewhere\.example" Remedy .{20,} Request #1 POST .*token 400/,
    );
    await browser.open("/_emulator/live/journal");
    expect(browser.text()).toMatch(
      /#2 .* 401 bearer\.present GET \/api\/v1\/acme\/devices listDevices .*#1 .* 400 assertion\.audience POST .* requestToken acme reporter client_credentials/,
    );
  });

  test("marks a refusal without a request and a request without an answer", async () => {
    const plugin = new LaunchedPlugin();
    const { emulator } = plugin;
    const absent = { tenantId: "acme", clientId: "absent", userId: "ada" };
    expect(() => emulator.launch(absent)).toThrow();
    emulator.faults.add({ name: "lost-answer" });
    await expect(plugin.requestToken()).rejects.toThrow();
    const { browser } = await atAdmin("/log", plugin);
    expect(browser.text()).toContain("Request none: refused in-process");
    expect(browser.text()).toMatch(/no answer .*fault lost-answer/);
  });

  test("shows the newest 100 entries and the number of all", async () => {
    const { plugin, emulator, browser } = await atAdmin("/log");
    for (let index = 0; index < 110; index += 1) await emulator.fetch("/v1/devices");
    plugin.now = START + 1;
    await emulator.fetch("/v1/devices");
    await browser.open("/_emulator/live/log");
    expect(browser.text()).toContain("100 of 111, newest first");
    expect(browser.html.match(/<li /g)).toHaveLength(100);
    expect(browser.html.split("<li")[1]).toContain("12:00:00.001");
  });
});

describe("markup from outside", () => {
  const EVIL = `"><script>alert(1)</script><img src=x onerror='alert(1)'>&amp;`;
  const TAGS =
    "a aside body button code dd details div dl dt fieldset form g h1 h2 h3 head header html " +
    "input label legend li line link main meta nav noscript ol option p path script section " +
    "select span strong summary svg table tbody td text textarea th thead time title tr ul";

  /** Checks that the pages contain no tags and attributes except their own. */
  function expectHarmless(html: string): void {
    const tags = html.matchAll(/<\/?([a-z0-9]+)((?:"[^"]*"|[^">])*)>/gi);
    const names = new Set<string | undefined>();
    for (const [, name, attributes = ""] of tags) {
      names.add(name);
      if (/\son\w+=|[<'(]/.test(attributes.replace(/"[^"]*"/g, "")))
        throw new Error(`foreign attributes: ${attributes}`);
    }
    expect(TAGS.split(" ")).toEqual(expect.arrayContaining([...names]));
    expect(html).not.toContain("<script>");
    expect(html).not.toContain("&amp;amp;amp;");
    expect(html).not.toMatch(/(href|src|action)="(?!\/|data:,"|#|"|\?)/);
  }

  test("stays text in registrations, faults and requests", async () => {
    const pageUrl = `https://plugin.example/?x=${EVIL}`;
    const plugin = new LaunchedPlugin({}, { name: EVIL, pageUrl });
    const { emulator } = plugin;
    const roles = [{ name: EVIL, group: EVIL }];
    const jwks = { keys: [{ ...newSigningKey("key").publicJwk, kid: EVIL }] };
    const devices = [EVIL, "</textarea><script>"];
    const acme = { tenantId: "acme", clientId: EVIL };
    emulator.registerPlugin({ ...acme, type: "service", devices, roles, jwks });
    emulator.registerOperator({ tenantId: "acme", userId: EVIL, firstname: EVIL, roles });
    emulator.registerServiceAccount({ ...acme, clientId: `${EVIL}2`, clientSecret: "s" });
    const redirectUris = ["https://portal.example/?x='<script>"];
    emulator.registerApiClient({ clientId: `${EVIL}3`, name: EVIL, redirectUris });
    const match = { tenantId: EVIL };
    emulator.faults.add({ name: "status", status: 503, body: EVIL, at: "resource", match });
    await emulator.fetch(`/${encodeURIComponent(EVIL)}/<script>`);
    await plugin.requestToken({ claims: { aud: EVIL }, form: { client_id: EVIL } });
    emulator.launch({ tenantId: "acme", clientId: "reporter", userId: EVIL });
    const pages = await everyPage(emulator);
    expectHarmless(pages);
    expect(pages).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    const browser = await new AdminBrowser(emulator).open("/_emulator/plugins");
    await browser.send(browser.formOf("enabled", "acme", EVIL));
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
    await browser.send("arm", { members: `</textarea>${EVIL}` });
    expectHarmless(browser.html);
    expect(browser.value("arm", "members")).toBe(`</textarea>${EVIL}`);
  });
});
