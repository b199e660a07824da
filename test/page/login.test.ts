// A page opened on its own: to the login and back. The session of a page, and a session in a cookie, in a real browser.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Frame, Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { rig } from "../backend/rig.js";
import { describeInChromium } from "../support/chromium.js";
import { type FakePluginOptions, keptBy, type Outcome, pageWorld, run, type World } from "./page-world.js";

interface Called {
  readonly status?: number;
  readonly error?: { readonly code: string; readonly reason?: string };
}

async function serving(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

describeInChromium("the page", (browser) => {
  describe("opened on its own", () => {
    async function opened(
      path: string,
      plugin: FakePluginOptions = {},
    ): Promise<{ world: World; page: Page }> {
      const world = await pageWorld(browser(), { plugin });
      const page = await world.context.newPage();
      await page.goto(world.plugin.origin + path);
      return { world, page };
    }

    /** Starts, follows the browser to the login, and starts again on the page that it comes back to. */
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

    /** The bodies of the page's requests for its session. */
    function bodies({ plugin }: World): unknown[] {
      const asked = plugin.requests.filter(({ url }) => url.pathname === "/auth/session");
      return asked.map(({ body }) => JSON.parse(body));
    }

    test("goes to the login and comes back to its address with a session", async () => {
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

    test("asks for a login when the session ends, and startSession goes to the login again", async () => {
      const { world, page } = await opened("/");
      await loggedIn(world, page);
      world.plugin.over = "login_required";
      expect(await run(page, "call", "/api/devices")).toMatchObject({ error: { code: "session_ended" } });
      expect(await page.evaluate("endings")).toEqual([{ reason: "login_required", ask: "login" }]);
      world.plugin.over = undefined;
      expect(await loggedIn(world, page)).toMatchObject({ session: { variant: "B" } });
    });

    test.each([
      { name: "tenantId", options: { tenantId: "acme" } },
      { name: "tenant rather than tenantId", options: { tenant: "acme", tenantId: "umbrella" } },
    ])("names the tenant to log in to: $name", async ({ options }) => {
      const { world, page } = await opened("/");
      await loggedIn(world, page, options);
      const login = world.plugin.requests.find(({ url }) => url.pathname === "/auth/login");
      expect(login?.url.searchParams.get("tenant")).toBe("acme");
      expect(bodies(world)).toMatchObject([{ tenant: "acme" }, { tenant: "acme" }]);
    });

    test("refuses a session of another tenant than it logged in to", async () => {
      const { world, page } = await opened("/");
      const outcome = await loggedIn(world, page, { tenant: "umbrella" });
      expect(outcome).toMatchObject({ error: { code: "tenant_mismatch" } });
    });

    test("rejects once with the code of a failed login; the next start goes to the login again", async () => {
      const { world, page } = await opened("/?a=1", { login: { error: "login_denied" } });
      const outcome = await loggedIn(world, page);
      expect(outcome).toMatchObject({ error: { name: "PageError", code: "login_denied" } });
      expect(page.url()).toBe(`${world.plugin.origin}/?a=1`);
      expect(paths(world)).toEqual(["POST /auth/session", "GET /auth/login"]);
      expect(await loggedIn(world, page)).toMatchObject({ error: { code: "login_denied" } });
    });

    test("rejects with session_missing after a login without a session, as with blocked cookies", async () => {
      const { world, page } = await opened("/", { login: "lost" });
      expect(await loggedIn(world, page)).toMatchObject({ error: { code: "session_missing" } });
      expect(paths(world).filter((path) => path === "GET /auth/login")).toHaveLength(1);
      expect(page.url()).toBe(`${world.plugin.origin}/`);
    });

    test("does not repeat an invalid error code from the address", async () => {
      const { world, page } = await opened("/#login_error=%3Cimg%20src=x%3E");
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ error: { code: "backend_failed", message: "backend_failed" } });
      expect(page.url()).toBe(`${world.plugin.origin}/`);
    });

    test("leaves another fragment alone", async () => {
      const { world, page } = await opened("/?a=%20#/devices", { cookie: true });
      await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
      expect(page.url()).toBe(`${world.plugin.origin}/?a=%20#/devices`);
    });

    test("rejects with not_framed instead of a login with login: false", async () => {
      const { world, page } = await opened("/");
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
      expect(outcome).toMatchObject({ error: { code: "not_framed" } });
      expect(paths(world)).toEqual(["POST /auth/session"]);
    });

    test("accepts a 204 of a backend without a session, which browsers do not log as an error", async () => {
      const { world, page } = await opened("/", {
        answer: ({ url }) => (url.pathname === "/auth/session" ? { status: 204 } : undefined),
      });
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
      expect(outcome).toMatchObject({ error: { code: "not_framed" } });
      expect(world.errors).toEqual([]);
    });

    test("rejects with a refusal of the backend, and does not go to the login", async () => {
      const { world, page } = await opened("/", {
        answer: ({ url }) =>
          url.pathname === "/auth/session" ? { status: 403, body: '{"error":"origin_refused"}' } : undefined,
      });
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ error: { code: "origin_refused" } });
      expect(paths(world)).toEqual(["POST /auth/session"]);
    });

    test("rejects with session_missing when the person goes back from the login to a cached page", async () => {
      // With a 204 the browser stays on the page.
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

    test("calls the backend at another path or URL, and never reads a path as a host", async () => {
      const { world, page } = await opened("/");
      const { origin } = world.plugin;
      const rows = [
        { backend: "/plugin/auth", url: "/plugin/auth/session" },
        { backend: "//evil.localhost", url: "//evil.localhost/session" },
        { backend: `${origin}/x`, url: "/x/session" },
      ];
      for (const { backend, url } of rows) {
        await run(page, "begin", { hostOrigins: [world.host.origin], backend, login: false });
        expect(world.plugin.requests.at(-1)?.url.href).toBe(origin + url);
      }
    });
  });

  describe("with a session", () => {
    async function started(plugin: FakePluginOptions = {}): Promise<{ world: World; frame: Frame }> {
      const world = await pageWorld(browser(), { plugin });
      const { frame } = await world.launch();
      const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toHaveProperty("session");
      return { world, frame };
    }

    function calls({ plugin }: World, path: string) {
      return plugin.requests.filter(({ url }) => url.pathname === path);
    }

    test("sends its token with calls to the backend's origin, whatever header the caller sets", async () => {
      const { world, frame } = await started();
      const init = { method: "POST", body: "{}", headers: { Authorization: "Bearer mine", "x-own": "1" } };
      expect(await run<Called>(frame, "call", "/api/devices?page=2", init)).toMatchObject({ status: 200 });
      const [call] = calls(world, "/api/devices");
      expect(call).toMatchObject({ method: "POST", body: "{}" });
      expect(call?.headers).toMatchObject({
        authorization: `Bearer ${world.plugin.tokens[0]}`,
        "x-own": "1",
      });
      expect(call?.headers).not.toHaveProperty("x-bivariant-csrf");
    });

    test("follows no redirect, even if the caller asks for it", async () => {
      let location = "/api/devices";
      const { world, frame } = await started({
        answer: ({ url }) => (url.pathname === "/moved" ? { status: 302, headers: { location } } : undefined),
      });
      for (location of ["/api/devices", `${world.evil.origin}/steal`]) {
        const called = await run<Called>(frame, "call", "/moved", { redirect: "follow" });
        expect(called).toMatchObject({ error: { name: "TypeError" } });
      }
      expect([...world.evil.requests, ...calls(world, "/api/devices")]).toEqual([]);
    });

    test("ends once for five calls at the same time, and later calls are not sent", async () => {
      const { world, frame } = await started();
      world.plugin.over = "relaunch_required";
      const error = { name: "PageError", code: "session_ended", reason: "relaunch_required" };
      const many = await Promise.all([1, 2, 3, 4, 5].map(() => run<Called>(frame, "call", "/api/devices")));
      for (const outcome of many) expect(outcome).toMatchObject({ error });
      const sent = world.plugin.requests.length;
      world.plugin.over = undefined;
      expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject({ error });
      expect(world.plugin.requests).toHaveLength(sent);
      expect(await frame.evaluate("endings")).toEqual([{ reason: "relaunch_required", ask: "relaunch" }]);
    });

    test("ends at once at a logout, which the backend receives with the token", async () => {
      const { world, frame } = await started();
      const during = await frame.evaluate(async () => {
        const { session, call } = globalThis as unknown as {
          session: { logout(): Promise<void> };
          call(url: string): Promise<unknown>;
        };
        const [, call1] = await Promise.all([session.logout(), call("/api/devices"), session.logout()]);
        return call1;
      });
      expect(during).toMatchObject({ error: { code: "session_ended", reason: "logged_out" } });
      const [logout, ...more] = calls(world, "/auth/logout");
      expect(logout).toMatchObject({
        method: "POST",
        body: "{}",
        headers: { authorization: `Bearer ${world.plugin.tokens[0]}`, "content-type": "application/json" },
      });
      expect([...more, ...calls(world, "/api/devices")]).toEqual([]);
      expect(await frame.evaluate("endings")).toEqual([{ reason: "logged_out", ask: "relaunch" }]);
    });

    test("ends at a logout that does not reach the backend, and reports that", async () => {
      const { world, frame } = await started();
      await world.context.route("**/auth/logout", (route) => route.abort());
      const failed = frame.evaluate("session.logout().catch(({ code }) => code)");
      expect(await failed).toBe("backend_failed");
      expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject({
        error: { code: "session_ended" },
      });
    });

    test("refuses a session for another tenant than expected", async () => {
      const world = await pageWorld(browser(), {
        plugin: {
          answer: ({ url }) =>
            url.pathname === "/auth/session"
              ? { body: '{"session":"s","variant":"B","tenantId":"umbrella","expiresAt":1}' }
              : undefined,
        },
      });
      const page = await world.context.newPage();
      await page.goto(world.plugin.origin);
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin], tenantId: "acme" });
      expect(outcome).toMatchObject({ error: { code: "tenant_mismatch" } });
    });
  });

  describe("with a session in a cookie, in an iframe of another site", () => {
    test("is sent by the plugin's page, and cannot be read by scripts", async () => {
      const parts = rig({ session: { cookie: true } });
      const handler = toNodeHandler(parts.backend);
      const pluginPort = await serving((incoming, outgoing) => {
        if (incoming.url?.startsWith("/auth/")) return handler(incoming, outgoing);
        outgoing.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>plugin</title>");
      });
      const plugin = `http://127.0.0.1:${pluginPort}`;
      const hostPort = await serving((_incoming, outgoing) => {
        outgoing.writeHead(200, { "content-type": "text/html" });
        outgoing.end(`<!doctype html><title>host</title><iframe src="${plugin}/page"></iframe>`);
      });
      const context = await browser().newContext();
      onTestFinished(() => context.close());
      const page = await context.newPage();
      await page.goto(`http://localhost:${hostPort}/`);
      const frame = await page.waitForSelector("iframe").then((element) => element.contentFrame());
      await frame?.waitForURL(`${plugin}/page`);
      const seen = await frame?.evaluate(async (body) => {
        const post = (route: string, sent: unknown, headers = {}) =>
          fetch(`/auth/${route}`, {
            ...{ method: "POST", body: JSON.stringify(sent) },
            headers: { "content-type": "application/json", ...headers },
          });
        const { csrf } = (await (await post("launch", body)).json()) as { csrf: string };
        const me = await fetch("/auth/me");
        const without = await post("logout", {});
        const again = (await (await post("session", {})).json()) as { csrf: string };
        const logout = await post("logout", {}, { "x-bivariant-csrf": again.csrf });
        const after = await fetch("/auth/me");
        return [document.cookie, me.status, without.status, again.csrf === csrf, logout.status, after.status];
      }, parts.launchBody());
      expect(seen).toEqual(["", 200, 403, true, 204, 401]);
    });
  });
});
