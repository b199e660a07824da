// The session of a page: where it goes, how it ends, and that this is told once.
import type { Frame } from "playwright-core";
import { expect, test } from "vitest";
import { describeInChromium } from "../support/chromium.js";
import type { FakePluginOptions } from "./fake-plugin.js";
import type { SiteAnswer } from "./loopback-site.js";
import { pageWorld, run, type World } from "./page-world.js";

interface Called {
  readonly status?: number;
  readonly error?: { readonly code: string; readonly reason?: string };
}

describeInChromium("a session", (browser) => {
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

  test("is a bearer on calls to the backend's origin, whatever header the caller gave", async () => {
    const { world, frame } = await started();
    const init = { method: "POST", body: "{}", headers: { Authorization: "Bearer mine", "x-own": "1" } };
    expect(await run<Called>(frame, "call", "/api/devices?page=2", init)).toMatchObject({ status: 200 });
    const [call] = calls(world, "/api/devices");
    expect(call).toMatchObject({ method: "POST", body: "{}" });
    expect(call?.headers).toMatchObject({ authorization: `Bearer ${world.plugin.tokens[0]}`, "x-own": "1" });
    expect(call?.headers).not.toHaveProperty("x-bivariant-csrf");
  });

  const inputs = [
    { name: "a path", input: "/api/devices", path: "/api/devices" },
    { name: "a relative path", input: "devices", path: "/devices" },
    { name: "a whole URL of the origin", input: (origin: string) => `${origin}/a`, path: "/a" },
  ];
  test.each(inputs)("goes to $name", async ({ input, path }) => {
    const { world, frame } = await started();
    const url = typeof input === "string" ? input : input(world.plugin.origin);
    expect(await run<Called>(frame, "call", url)).toMatchObject({ status: 200 });
    expect(calls(world, path)).toHaveLength(1);
  });

  const foreign = [
    { name: "another origin", input: (world: World) => `${world.evil.origin}/steal` },
    { name: "one without a scheme", input: (world: World) => `//${new URL(world.evil.origin).host}/steal` },
    { name: "backslashes", input: (world: World) => `\\\\${new URL(world.evil.origin).host}\\steal` },
    {
      name: "user information that looks like the backend",
      input: (world: World) =>
        `http://${new URL(world.plugin.origin).hostname}@${new URL(world.evil.origin).host}/`,
    },
    { name: "the same host at another port", input: () => "http://plugin.localhost:9/" },
    { name: "a data URL", input: () => "data:,x" },
  ];
  test.each(foreign)("does not go to $name: origin_refused", async ({ input }) => {
    const { world, frame } = await started();
    const called = await run<Called>(frame, "call", input(world));
    expect(called).toMatchObject({ error: { code: "origin_refused" } });
    expect(world.evil.requests).toEqual([]);
  });

  const targets = [
    { name: "another origin", location: (world: World) => `${world.evil.origin}/steal` },
    { name: "another path", location: () => "/api/devices" },
  ];
  test.each(targets)(
    "follows no redirect to $name, not even where the caller asks for it",
    async ({ location }) => {
      const { world, frame } = await started({
        answer: ({ url }): SiteAnswer | undefined =>
          url.pathname === "/moved" ? { status: 302, headers: { location: location(world) } } : undefined,
      });
      const called = await run<Called>(frame, "call", "/moved", { redirect: "follow" });
      expect(called).toMatchObject({ error: { name: "TypeError" } });
      expect([...world.evil.requests, ...calls(world, "/api/devices")]).toEqual([]);
    },
  );

  const ends = [
    "relaunch_required",
    "login_required",
    "session_missing",
    "session_unknown",
    "session_expired",
  ];
  test.each(ends)("ends at a 401 with %s: told once, and later calls are not sent", async (code) => {
    const { world, frame } = await started();
    world.plugin.over = code;
    const ended = { error: { name: "PageError", code: "session_ended", reason: code } };
    const many = await Promise.all([1, 2, 3, 4, 5].map(() => run<Called>(frame, "call", "/api/devices")));
    expect(many).toEqual(
      many.map(() => expect.objectContaining({ error: expect.objectContaining(ended.error) })),
    );
    const sent = world.plugin.requests.length;
    world.plugin.over = undefined;
    expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject(ended);
    expect(world.plugin.requests).toHaveLength(sent);
    expect(await frame.evaluate("endings")).toEqual([{ reason: code, ask: "relaunch" }]);
  });

  test("does not end at a 401 of the application's own, and hands it out whole", async () => {
    const { frame } = await started();
    const called = await run<Called>(frame, "call", "/own-401");
    expect(called).toEqual({ status: 401, text: '{"error":"api_unauthorized"}' });
    expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
    expect(await frame.evaluate("endings")).toEqual([]);
  });

  const others = [
    { name: "a 403", status: 403, body: '{"error":"session_expired"}' },
    { name: "a 500", status: 500, body: '{"error":"relaunch_required"}' },
    { name: "a 401 without JSON", status: 401, body: "session_expired" },
    { name: "a 401 whose JSON is null", status: 401, body: "null" },
    { name: "a 401 with a longer code", status: 401, body: '{"error":"mfa_login_required"}' },
  ];
  test.each(others)("does not end at $name", async ({ status, body }) => {
    const { frame } = await started({
      answer: ({ url }) => (url.pathname === "/odd" ? { status, body } : undefined),
    });
    expect(await run<Called>(frame, "call", "/odd")).toEqual({ status, text: body });
    expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
  });

  test("logout ends it here at once, at the backend with its token, and is told once", async () => {
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

  test("a logout that does not reach the backend says so, and ends it here all the same", async () => {
    const { world, frame } = await started();
    await world.context.route("**/auth/logout", (route) => route.abort());
    const failed = frame.evaluate("session.logout().catch(({ code }) => code)");
    expect(await failed).toBe("backend_failed");
    expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject({
      error: { code: "session_ended" },
    });
  });

  test("in a cookie is no bearer: the CSRF token goes along", async () => {
    const { world, frame } = await started({ cookie: true });
    await run(frame, "call", "/api/devices", { method: "POST" });
    const [call] = calls(world, "/api/devices");
    expect(call?.headers).toMatchObject({ "x-bivariant-csrf": `csrf-${world.plugin.tokens[0]}` });
    expect(call?.headers).not.toHaveProperty("authorization");
  });

  test("an aborted call rejects with its signal's reason, and the session goes on", async () => {
    const { frame } = await started();
    const reason = await frame.evaluate(() => {
      const { session } = globalThis as unknown as { session: { fetch: typeof fetch } };
      return session.fetch("/api/devices", { signal: AbortSignal.abort("enough") }).catch((error) => error);
    });
    expect(reason).toBe("enough");
    expect(await run<Called>(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
  });

  test("a session for another tenant than expected is not taken", async () => {
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
