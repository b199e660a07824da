// The host application (Variant A) and the login and consent pages (Variant B), used by a browser
// without JavaScript. The rules that these pages enforce are in the table of negative requests.
import { describe, expect, test } from "vitest";
import { ada, CALLBACK, LaunchedPlugin, Portal, pluginKey, tokensIn } from "./deployment.js";
import { FormBrowser } from "./form-browser.js";
import { newPkce } from "./signing-key.js";

const HOUR = 3_600_000;
const person = { userId: "ada", password: "difference engine" };

describe("the host application", () => {
  function host(): LaunchedPlugin {
    const plugin = new LaunchedPlugin({}, { name: "Reports & <more>" });
    plugin.emulator.updateOperator({ ...ada, ...person });
    return plugin;
  }

  async function signedIn({ emulator }: LaunchedPlugin): Promise<FormBrowser> {
    const browser = await new FormBrowser(emulator).open("/host/acme");
    await browser.submit(person);
    return browser.follow();
  }

  async function ask(browser: FormBrowser, path: string, fields: object) {
    const response = await browser.ask(`/host/acme/${path}`, { clientId: "reporter", ...fields });
    return { status: response.status, body: await response.json() };
  }

  test("authorises a launch once, even if its page asks twice at the same time or with bad types first", async () => {
    const plugin = host();
    const browser = await signedIn(plugin);
    const { body } = await ask(browser, "launches", {});
    const opaque_code = new URL(body.url).searchParams.get("opaque_code");
    const message = { opaque_code, challenge: newPkce().codeChallenge };
    for (const bad of [{ opaque_code: {} }, { clientId: undefined }, { challenge: 1 }]) {
      const refused = await ask(browser, "authorizations", { ...message, ...bad });
      const text = expect.any(String);
      expect(refused).toEqual({ status: 400, body: { error: text, error_description: text } });
    }
    const twice = await Promise.all([1, 2].map(() => ask(browser, "authorizations", message)));
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(plugin.lastRule()).toBe("launch.unused");
  });

  test("lists the enabled user-interface plugins of the tenant", async () => {
    const plugin = host();
    const jwks = { keys: [pluginKey.publicJwk] };
    const registered = { type: "user_interface", tenantId: "acme", jwks } as const;
    plugin.emulator.registerPlugin({ ...registered, clientId: "pageless" });
    plugin.emulator.registerPlugin({ ...registered, clientId: "disabled", enabled: false });
    plugin.emulator.registerPlugin({ ...registered, tenantId: "globex", clientId: "foreign" });
    plugin.emulator.registerPlugin({ ...registered, type: "service", clientId: "background" });
    const { html } = await signedIn(plugin);
    const listed = [...html.matchAll(/data-client-id="([^"]*)"/g)].map(([, id]) => id);
    expect(listed).toEqual(["reporter", "pageless"]);
    expect(html).toContain('data-name="Reports &amp; &lt;more&gt;"');
    expect(html).toMatch(/data-client-id="pageless"[^>]* disabled/);
  });

  test("lets its page load its own script and frames of any site, and lets no site frame the page", async () => {
    const { headers } = (await signedIn(host())).response;
    const policy = (headers.get("content-security-policy") ?? "").split("; ");
    const own = ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"];
    expect(policy).toEqual(expect.arrayContaining([...own, "frame-src http: https:"]));
    expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
  });

  test("accepts a form that was loaded before another tab opened the page", async () => {
    const browser = await new FormBrowser(host().emulator).open("/host/acme");
    const { html } = browser;
    await browser.open("/host/acme");
    browser.html = html;
    await browser.submit(person);
    expect((await browser.follow()).text()).toContain("Sign out");
  });

  test("replaces the cookie at sign-in, so that a planted one is worthless, and ends it at sign-out", async () => {
    const plugin = host();
    const attacker = await new FormBrowser(plugin.emulator).open("/host/acme");
    const victim = new FormBrowser(plugin.emulator);
    for (const [name, value] of attacker.cookies) victim.cookies.set(name, value);
    victim.html = attacker.html;
    await victim.submit(person);
    expect((await victim.follow()).text()).toContain("Sign out");
    expect((await attacker.open("/host/acme")).text()).toContain("Sign in");
    const cookies = new Map(victim.cookies);
    await victim.submit({});
    expect((await victim.follow()).text()).toContain("Sign in");
    for (const [name, value] of cookies) victim.cookies.set(name, value);
    expect((await victim.open("/host/acme")).text()).toContain("Sign in");
  });

  test("keeps a session for 12 hours, in its tenant only", async () => {
    const plugin = host();
    plugin.emulator.registerOperator({ tenantId: "globex", userId: "ada" });
    const browser = await signedIn(plugin);
    expect(await (await browser.request("/host/globex")).text()).toContain("Sign in");
    plugin.now += 12 * HOUR - 1;
    expect((await ask(browser, "launches", {})).status).toBe(201);
    plugin.now += 1;
    expect((await ask(browser, "launches", {})).status).toBe(403);
  });

  test("answers 404 for an impossible tenant id, as do the pages of a variant that is not served", async () => {
    expect((await host().emulator.fetch("/host/a%3Bb")).status).toBe(404);
    const { emulator } = new LaunchedPlugin({ variants: ["B"] });
    expect((await emulator.fetch("/host/acme")).status).toBe(404);
    emulator.reset({ variants: ["A"] });
    expect((await emulator.fetch("/v1/auth/authorize")).status).toBe(404);
  });
});

describe("the login pages", () => {
  function portalWithPassword(options: ConstructorParameters<typeof Portal>[0] = {}): Portal {
    const scopes = ["devices:read", "schedules:execute"];
    const portal = new Portal(options, { name: "Portal & <Sons>", scopes });
    portal.emulator.updateOperator({ tenantId: "acme", ...person });
    return portal;
  }

  const begun = (portal: Portal, changes: Record<string, string> = {}) =>
    new FormBrowser(portal.emulator).open(portal.authorizationUrl(changes));

  async function loggedIn(portal: Portal, changes: Record<string, string> = {}) {
    const browser = await begun(portal, changes);
    await browser.submit(person);
    return browser.follow();
  }

  test("lead from login and consent to a code that can be exchanged", async () => {
    const portal = portalWithPassword();
    const pkce = newPkce();
    const browser = await loggedIn(portal, { code_challenge: pkce.codeChallenge });
    expect(browser.text()).toContain("Allow Portal &amp; &lt;Sons&gt;?");
    expect(browser.text()).toContain("You are Ada Lovelace");
    expect(browser.text()).toMatch(/schedules:execute +You do not have this/);
    expect(browser.text()).toContain(CALLBACK);
    await browser.submit({ decision: "allow" });
    expect(browser.response.status).toBe(303);
    const { searchParams } = new URL(browser.location);
    expect(searchParams.get("state")).toBe("state-1");
    const code = searchParams.get("code") ?? "";
    await tokensIn(portal.exchangeLogin({ ...pkce, code }));
    const operations = portal.emulator.journal.entries().map(({ operation }) => operation);
    expect(operations.join(" ")).toBe("authorize logIn showConsent decideConsent requestToken");
  });

  test("are shown again after markup as user id, and the login can be repeated", async () => {
    const portal = portalWithPassword();
    const browser = await begun(portal);
    await browser.submit({ userId: `"><script>alert(1)</script>`, password: "x" });
    expect(browser.response.status).toBe(403);
    expect(browser.text()).toContain("do not belong together");
    expect(browser.html).not.toContain("<script>");
    await browser.submit(person);
    expect(browser.response.status).toBe(303);
  });

  test("ask for the tenant if people of several tenants may log in", async () => {
    const portal = portalWithPassword();
    portal.emulator.registerOperator({ tenantId: "globex", userId: "ada", firstname: "Other" });
    const browser = await begun(portal);
    expect(browser.html).toContain('<select id="tenantId" name="tenantId">');
    await browser.submit({ userId: "ada", password: "", tenantId: "globex" });
    expect((await browser.follow()).text()).toContain("You are Other");
  });

  test("of a client of one tenant show no other tenant, and ignore a session of another", async () => {
    const portal = portalWithPassword();
    const narrow = { clientId: "narrow", redirectUris: [CALLBACK], tenantId: "globex" };
    portal.emulator.registerApiClient(narrow);
    const browser = await loggedIn(portal);
    await browser.open(portal.authorizationUrl({ client_id: "narrow" }));
    expect(browser.text()).toContain("Log in to continue to narrow");
    expect(browser.html).not.toContain("acme");
  });

  test("ask a logged-in browser for consent only, which a form without a decision refuses", async () => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    await browser.submit({ decision: "allow" });
    await browser.open(portal.authorizationUrl({ state: "state-2" }));
    expect(browser.text()).toContain("Allow Portal");
    await browser.submit({});
    const { searchParams } = new URL(browser.location);
    expect(searchParams.get("state")).toBe("state-2");
    expect(searchParams.get("error")).toBe("access_denied");
  });

  test("let another person log in from the consent page", async () => {
    const portal = portalWithPassword();
    portal.emulator.registerOperator({ tenantId: "acme", userId: "grace", firstname: "Grace" });
    const browser = await loggedIn(portal);
    await browser.open(/<a href="([^"]*)"/.exec(browser.html)?.[1] ?? "");
    await browser.submit({ userId: "grace" });
    expect((await browser.follow()).text()).toContain("You are Grace");
  });

  test("refuse a consent with the cookie of another browser, or as JSON", async () => {
    const portal = portalWithPassword();
    const browser = await loggedIn(portal);
    const body = JSON.stringify({ ...browser.hidden(), decision: "allow" });
    const headers = { "content-type": "application/json" };
    const asJson = await browser.request("/v1/auth/consent", { method: "POST", headers, body });
    expect([asJson.status, portal.lastRule()]).toEqual([403, "login.form"]);
    for (const [name, value] of (await loggedIn(portal)).cookies) browser.cookies.set(name, value);
    await browser.submit({ decision: "allow" });
    expect([browser.response.status, browser.location]).toEqual([403, ""]);
    expect(portal.lastRule()).toBe("login.form");
  });

  test("of two emulators on one host use cookies of different names, because cookies ignore ports", async () => {
    const portal = portalWithPassword({ publicUrl: "http://127.0.0.1:4001" });
    expect([...(await begun(portal)).cookies.keys()]).toEqual(["emulator-login-4001"]);
  });
});
