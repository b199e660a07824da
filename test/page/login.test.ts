// A page opened on its own: to the login and back, once.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeInChromium } from "../support/chromium.js";
import type { FakePluginOptions } from "./fake-plugin.js";
import { keptBy } from "./kept-by.js";
import { type Outcome, pageWorld, run, type World } from "./page-world.js";

describeInChromium("a page opened on its own", (browser) => {
  async function opened(path: string, plugin: FakePluginOptions = {}): Promise<{ world: World; page: Page }> {
    const world = await pageWorld(browser(), { plugin });
    const page = await world.context.newPage();
    await page.goto(world.plugin.origin + path);
    return { world, page };
  }

  /** Begins, follows the browser to the login, and begins again where it comes back to. */
  async function loggedIn(world: World, page: Page, options: object = {}): Promise<Outcome> {
    const all = { hostOrigins: [world.host.origin], ...options };
    await Promise.all([page.waitForURL(/bivariant_login=/), run(page, "leave", all)]);
    await page.waitForFunction("window.begin");
    return run(page, "begin", all);
  }

  function paths({ plugin }: World): string[] {
    return plugin.requests
      .map(({ method, url }) => `${method} ${url.pathname}`)
      .filter((p) => p.includes("/auth/"));
  }

  /** What the page asked for its session with. */
  function bodies({ plugin }: World): unknown[] {
    const asked = plugin.requests.filter(({ url }) => url.pathname === "/auth/session");
    return asked.map(({ body }) => JSON.parse(body));
  }

  test("goes to log in and comes back with a session, to the address it had", async () => {
    const { world, page } = await opened("/?view=list&q=a%20b");
    expect(await loggedIn(world, page)).toMatchObject({ session: { variant: "B", tenantId: "acme" } });
    expect(paths(world)).toEqual(["POST /auth/session", "GET /auth/login", "POST /auth/session"]);
    const login = world.plugin.requests.find(({ url }) => url.pathname === "/auth/login");
    expect(Object.fromEntries(login?.url.searchParams ?? [])).toEqual({
      return_to: expect.stringMatching(/^\/\?view=list&q=a\+b&bivariant_login=[\w-]{43}$/),
    });
    const mark = login?.url.searchParams.get("return_to")?.split("bivariant_login=")[1];
    expect(bodies(world)).toEqual([{ login: null }, { login: mark }]);
    expect(page.url()).toBe(`${world.plugin.origin}/?view=list&q=a+b`);
    expect(await run(page, "call", "/api/devices")).toMatchObject({ status: 200 });
    const [token] = world.plugin.tokens as [string];
    expect(await keptBy(page)).toContain(page.url());
    expect(await keptBy(page)).not.toContain(token);
    expect(world.plugin.requests.map(({ url }) => url.href).join()).not.toContain(token);
  });

  test("a session that ended asks for a login, and startSession goes there again", async () => {
    const { world, page } = await opened("/");
    await loggedIn(world, page);
    world.plugin.over = "login_required";
    expect(await run(page, "call", "/api/devices")).toMatchObject({ error: { code: "session_ended" } });
    expect(await page.evaluate("endings")).toEqual([{ reason: "login_required", ask: "login" }]);
    world.plugin.over = undefined;
    expect(await loggedIn(world, page)).toMatchObject({ session: { variant: "B" } });
  });

  const tenants = [
    { name: "tenant", options: { tenant: "acme" } },
    { name: "tenantId", options: { tenantId: "acme" } },
    { name: "tenant before tenantId", options: { tenant: "acme", tenantId: "umbrella" } },
  ];
  test.each(tenants)("names the tenant to log in to: $name", async ({ options }) => {
    const { world, page } = await opened("/");
    await loggedIn(world, page, options);
    const login = world.plugin.requests.find(({ url }) => url.pathname === "/auth/login");
    expect(login?.url.searchParams.get("tenant")).toBe("acme");
    expect(bodies(world)).toMatchObject([{ tenant: "acme" }, { tenant: "acme" }]);
  });

  test("takes no session of another tenant than the one it asked to log in to", async () => {
    const { world, page } = await opened("/");
    const outcome = await loggedIn(world, page, { tenant: "umbrella" });
    expect(outcome).toMatchObject({ error: { code: "tenant_mismatch" } });
  });

  test("a login that failed: its code, once; the next start goes to log in again", async () => {
    const { world, page } = await opened("/?a=1", { login: { error: "login_denied" } });
    const outcome = await loggedIn(world, page);
    expect(outcome).toMatchObject({ error: { name: "PageError", code: "login_denied" } });
    expect(page.url()).toBe(`${world.plugin.origin}/?a=1`);
    expect(paths(world)).toEqual(["POST /auth/session", "GET /auth/login"]);
    expect(await loggedIn(world, page)).toMatchObject({ error: { code: "login_denied" } });
  });

  test("a login that left no session, with cookies blocked: session_missing, not another login", async () => {
    const { world, page } = await opened("/", { login: "lost" });
    expect(await loggedIn(world, page)).toMatchObject({ error: { code: "session_missing" } });
    expect(paths(world).filter((path) => path === "GET /auth/login")).toHaveLength(1);
    expect(page.url()).toBe(`${world.plugin.origin}/`);
  });

  test("an error in the address that no backend would make is not repeated", async () => {
    const { world, page } = await opened("/#login_error=%3Cimg%20src=x%3E");
    const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "backend_failed", message: "backend_failed" } });
    expect(page.url()).toBe(`${world.plugin.origin}/`);
  });

  test("another fragment is left alone", async () => {
    const { world, page } = await opened("/?a=%20#/devices", { cookie: true });
    await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
    expect(page.url()).toBe(`${world.plugin.origin}/?a=%20#/devices`);
  });

  test("with login: false it does not go: not_framed", async () => {
    const { world, page } = await opened("/");
    const outcome = await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
    expect(outcome).toMatchObject({ error: { code: "not_framed" } });
    expect(paths(world)).toEqual(["POST /auth/session"]);
  });

  test("a backend that has no session may say so with 204, which browsers do not log as an error", async () => {
    const { world, page } = await opened("/", {
      answer: ({ url }) => (url.pathname === "/auth/session" ? { status: 204 } : undefined),
    });
    const outcome = await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
    expect(outcome).toMatchObject({ error: { code: "not_framed" } });
    expect(world.errors).toEqual([]);
  });

  test("a refusal of the backend's is told, and nobody is sent to log in", async () => {
    const { world, page } = await opened("/", {
      answer: ({ url }) =>
        url.pathname === "/auth/session" ? { status: 403, body: '{"error":"origin_refused"}' } : undefined,
    });
    const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "origin_refused" } });
    expect(paths(world)).toEqual(["POST /auth/session"]);
  });

  test("the back button from the login, to a page the browser had kept: session_missing, not pending for ever", async () => {
    // Answered so, the browser stays where it is.
    const { world, page } = await opened("/", {
      answer: ({ url }) => (url.pathname === "/auth/login" ? { status: 204 } : undefined),
    });
    const outcome = run(page, "begin", { hostOrigins: [world.host.origin] });
    await expect.poll(() => paths(world)).toContain("GET /auth/login");
    let isOver = false;
    void outcome.then(() => {
      isOver = true;
    });
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: false })));
    await page.evaluate("0");
    expect(isOver).toBe(false);
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
    expect(await outcome).toMatchObject({ error: { code: "session_missing" } });
  });

  const backends = [
    { name: "another path", backend: "/plugin/auth", url: "/plugin/auth/session" },
    {
      name: "a path that could be taken for a host",
      backend: "//evil.localhost",
      url: "//evil.localhost/session",
    },
    { name: "a whole URL", backend: (world: World) => `${world.plugin.origin}/x`, url: "/x/session" },
  ];
  test.each(backends)("asks the backend at $name", async ({ backend, url }) => {
    const { world, page } = await opened("/");
    const named = typeof backend === "string" ? backend : backend(world);
    await run(page, "begin", { hostOrigins: [world.host.origin], backend: named, login: false });
    expect(world.plugin.requests.at(-1)?.url.href).toBe(world.plugin.origin + url);
  });
});
