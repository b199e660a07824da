// Variant A's host application over HTTP: sign-in, the sidebar, and the two requests of its page's script.
import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../src/emulator/index.js";
import { FormBrowser } from "./form-browser.js";
import { ada, LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";
import { pluginKey } from "./plugin-client.js";

const PASSWORD = "difference engine";

function host(options: EmulatorOptions = {}): LaunchedPlugin {
  const plugin = new LaunchedPlugin(options, { name: "Reports & <more>" });
  plugin.emulator.updateOperator({ ...ada, password: PASSWORD });
  plugin.emulator.registerOperator({ tenantId: "acme", userId: "eve" });
  return plugin;
}

async function signedIn({ emulator }: LaunchedPlugin, userId = "ada"): Promise<FormBrowser> {
  const browser = await new FormBrowser(emulator).open("/host/acme");
  await browser.submit({ userId, password: userId === "ada" ? PASSWORD : "" });
  return browser.follow();
}

/** What the page's script sends. */
async function ask(browser: FormBrowser, path: string, body: unknown, headers: Record<string, string> = {}) {
  const formToken = /data-form-token="([^"]*)"/.exec(browser.html)?.[1] ?? "";
  const response = await browser.request(`/host/acme/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-form-token": formToken, ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

async function launch(browser: FormBrowser, clientId = "reporter"): Promise<string> {
  const { body } = await ask(browser, "launches", { clientId });
  return new URL(body.url).searchParams.get("opaque_code") ?? "";
}

test("sign-in, launch, authorisation, exchange", async () => {
  const plugin = host();
  const browser = await signedIn(plugin);
  expect(browser.text()).toContain("Ada Lovelace");
  expect(browser.html).toContain('data-client-id="reporter" data-name="Reports &amp; &lt;more&gt;"');
  const { status, body } = await ask(browser, "launches", { clientId: "reporter" });
  expect([status, body.origin]).toEqual([201, "https://plugin.example"]);
  const { searchParams } = new URL(body.url);
  const pkce = newPkce();
  const asked = {
    clientId: "reporter",
    opaque_code: searchParams.get("opaque_code"),
    challenge: pkce.codeChallenge,
  };
  const answer = await ask(browser, "authorizations", asked);
  expect(answer).toEqual({
    status: 200,
    body: {
      code: expect.stringMatching(/^[\w-]{43}$/),
      state: searchParams.get("state"),
      tenantId: "acme",
    },
  });
  expect((await plugin.exchange({ ...answer.body, ...pkce })).status).toBe(200);
  expect(plugin.emulator.journal.entries({ tenantId: "acme" }).map(({ operation }) => operation)).toEqual([
    "showHost",
    "signInAtHost",
    "showHost",
    "launchPlugin",
    "authorizeLaunch",
    "requestToken",
  ]);
});

test("the page may load its own script and any site's frame, and nobody may frame it", async () => {
  const browser = await signedIn(host());
  const policy = browser.response.headers.get("content-security-policy") ?? "";
  expect(policy.split("; ")).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "frame-src http: https:",
      "frame-ancestors 'none'",
    ]),
  );
  expect(browser.response.headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
});

test("the sidebar lists the tenant's enabled user-interface plugins and no other", async () => {
  const plugin = host();
  const jwks = { keys: [pluginKey.publicJwk] };
  const page = { type: "user_interface", jwks } as const;
  plugin.emulator.registerPlugin({ ...page, tenantId: "acme", clientId: "pageless" });
  plugin.emulator.registerPlugin({ ...page, tenantId: "acme", clientId: "disabled", enabled: false });
  plugin.emulator.registerPlugin({ ...page, tenantId: "globex", clientId: "foreign" });
  plugin.emulator.registerPlugin({ type: "service", jwks, tenantId: "acme", clientId: "background" });
  const { html } = await signedIn(plugin);
  const listed = [...html.matchAll(/data-client-id="([^"]*)"/g)].map(([, id]) => id);
  expect(listed).toEqual(["reporter", "pageless"]);
  expect(html).toMatch(/data-client-id="pageless"[^>]* disabled/);
});

describe("a sign-in is refused", () => {
  const rows = [
    { name: "with a wrong password", fields: { userId: "ada", password: "x" }, rule: "launch.signed-in" },
    { name: "without a password", fields: { userId: "ada" }, rule: "launch.signed-in" },
    { name: "by a person of another tenant", fields: { userId: "grace" }, rule: "launch.signed-in" },
    { name: "without the form token", fields: { userId: "eve", form_token: undefined }, rule: "launch.form" },
    { name: "with another form token", fields: { userId: "eve", form_token: "x" }, rule: "launch.form" },
  ];
  test.each(rows)("$name", async ({ fields, rule }) => {
    const plugin = host();
    plugin.emulator.registerOperator({ tenantId: "globex", userId: "grace" });
    const browser = await new FormBrowser(plugin.emulator).open("/host/acme");
    await browser.submit(fields);
    expect(plugin.lastRule()).toBe(rule);
    expect((await browser.open("/host/acme")).text()).toContain("Sign in");
  });

  test("but not because the page was opened in another tab meanwhile", async () => {
    const browser = await new FormBrowser(host().emulator).open("/host/acme");
    const { html } = browser;
    await browser.open("/host/acme");
    browser.html = html;
    await browser.submit({ userId: "eve", password: "" });
    expect((await browser.follow()).text()).toContain("Sign out");
  });

  test("a planted cookie is worth nothing after the sign-in", async () => {
    const plugin = host();
    const attacker = await new FormBrowser(plugin.emulator).open("/host/acme");
    const victim = new FormBrowser(plugin.emulator);
    for (const [name, value] of attacker.cookies) victim.cookies.set(name, value);
    victim.html = attacker.html;
    await victim.submit({ userId: "ada", password: PASSWORD });
    expect((await victim.follow()).text()).toContain("Sign out");
    expect((await attacker.open("/host/acme")).text()).toContain("Sign in");
  });
});

test("who signed out is gone, and so is the cookie's worth", async () => {
  const plugin = host();
  const browser = await signedIn(plugin);
  const cookies = new Map(browser.cookies);
  await browser.submit({});
  expect((await browser.follow()).text()).toContain("Sign in");
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  expect((await browser.open("/host/acme")).text()).toContain("Sign in");
});

test("a session of one tenant is none in another", async () => {
  const plugin = host();
  plugin.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
  const browser = await signedIn(plugin);
  expect((await browser.open("/host/globex")).text()).toContain("Sign in");
});

describe("the page's server refuses", () => {
  const right = (opaque_code: string) => ({
    clientId: "reporter",
    opaque_code,
    challenge: newPkce().codeChallenge,
  });
  type Row = { name: string; change: object; headers?: Record<string, string>; status: number; rule: string };
  const rows: Row[] = [
    { name: "no form token", change: {}, headers: { "x-form-token": "" }, status: 403, rule: "launch.form" },
    {
      name: "a form instead of JSON",
      change: {},
      headers: { "content-type": "text/plain" },
      status: 403,
      rule: "launch.form",
    },
    { name: "nobody's session", change: {}, headers: { cookie: "x=y" }, status: 403, rule: "launch.form" },
    { name: "an unknown opaque_code", change: { opaque_code: "x" }, status: 400, rule: "launch.known" },
    { name: "no opaque_code", change: { opaque_code: undefined }, status: 400, rule: "launch.known" },
    {
      name: "an opaque_code that is an object",
      change: { opaque_code: {} },
      status: 400,
      rule: "launch.known",
    },
    {
      name: "another plugin's opaque_code",
      change: { clientId: "neighbour" },
      status: 400,
      rule: "launch.known",
    },
    {
      name: "an opaque_code without its plugin",
      change: { clientId: undefined },
      status: 400,
      rule: "launch.known",
    },
    { name: "no challenge", change: { challenge: undefined }, status: 400, rule: "launch.challenge" },
    {
      name: "a challenge that is no S256",
      change: { challenge: "v".repeat(44) },
      status: 400,
      rule: "launch.challenge",
    },
    { name: "a challenge that is a number", change: { challenge: 1 }, status: 400, rule: "launch.challenge" },
  ];
  test.each(rows)(
    "$name, and the launch can still be authorised",
    async ({ change, headers, status, rule }) => {
      const plugin = host();
      const browser = await signedIn(plugin);
      const opaqueCode = await launch(browser);
      const refused = await ask(browser, "authorizations", { ...right(opaqueCode), ...change }, headers);
      expect(refused).toEqual({
        status,
        body: { error: expect.any(String), error_description: expect.any(String) },
      });
      expect(plugin.lastRule()).toBe(rule);
      expect((await ask(browser, "authorizations", right(opaqueCode))).status).toBe(200);
    },
  );

  test("an opaque_code a second time, and another operator's", async () => {
    const plugin = host();
    const [browser, eve] = [await signedIn(plugin), await signedIn(plugin, "eve")];
    const [first, second] = [await launch(browser), await launch(browser)];
    expect((await ask(eve, "authorizations", right(second))).status).toBe(400);
    expect(plugin.lastRule()).toBe("launch.known");
    const twice = await Promise.all([1, 2].map(() => ask(browser, "authorizations", right(first))));
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(plugin.lastRule()).toBe("launch.unused");
    expect((await ask(browser, "authorizations", right(second))).status).toBe(200);
  });

  test("the launch of a plugin that was disabled meanwhile", async () => {
    const plugin = host();
    const browser = await signedIn(plugin);
    plugin.emulator.updatePlugin({ clientId: "reporter", tenantId: "acme", enabled: false });
    expect((await ask(browser, "launches", { clientId: "reporter" })).status).toBe(403);
    expect(plugin.lastRule()).toBe("launch.plugin");
  });

  test.each([
    { name: "whoever is signed in for 12 hours", laterMs: 12 * 3_600_000, status: 403 },
    { name: "but not a millisecond before", laterMs: 12 * 3_600_000 - 1, status: 201 },
  ])("$name", async ({ laterMs, status }) => {
    const plugin = host();
    const browser = await signedIn(plugin);
    plugin.now += laterMs;
    expect((await ask(browser, "launches", { clientId: "reporter" })).status).toBe(status);
  });
});

test("a tenant that can be none, and the whole host where Variant A is not served, are 404", async () => {
  const { emulator } = host();
  expect((await emulator.fetch("/host/a%3Bb")).status).toBe(404);
  expect((await host({ variants: ["B"] }).emulator.fetch("/host/acme")).status).toBe(404);
  expect((await host({ variants: ["A"] }).emulator.fetch("/v1/auth/authorize")).status).toBe(404);
});
