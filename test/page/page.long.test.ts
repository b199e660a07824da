// The page in a real browser: the journeys that every browser makes, what goes over the wire in a
// launch and a login, and how each of them fails.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { adaShown } from "../backend/rig.js";
import { startChromium } from "../browsers/chromium.js";
import type { Driver } from "../browsers/driver.js";
import { pageJourneys } from "../browsers/journeys.js";
import { describeInChromium, executablePath } from "../support/chromium.js";
import {
  launched,
  launchesOf,
  type Outcome,
  pageWorld,
  run,
  type World,
  type WorldOptions,
} from "./page-world.js";

describeInChromium("in Chromium", (browser) => {
  let driver: Driver;
  beforeAll(async () => {
    driver = await startChromium(executablePath ?? "", browser());
  });
  pageJourneys(() => driver);

  /** Expects that neither a backend nor a host received a POST. */
  function expectQuiet(world: World): void {
    const sent = [...world.plugin.requests, ...world.host.requests];
    expect(sent.filter(({ method }) => method === "POST")).toEqual([]);
  }

  /** Answers one route of the plugin's site, and leaves the others to its page and backend. */
  const answering = (path: string, answer: () => Response | Promise<Response>): WorldOptions => ({
    answer: ({ pathname }) => (pathname === path ? answer() : undefined),
  });

  describe("a launch", () => {
    test("posts a challenge, sends the code and its verifier only to the backend, and forgets its parameters", async () => {
      const { world, frame, page, outcome } = await launched(browser());
      const expiresAt = world.clock.now() + 3_600_000;
      expect(outcome).toEqual({
        session: { variant: "A", tenantId: "acme", operator: adaShown, expiresAt },
      });
      const token = expect.stringMatching(/^[\w-]{43}$/);
      const { opaqueCode, state } = world.host.launch;
      expect(await page.evaluate("inits")).toEqual([
        { type: "plugin:pkce-init", challenge: token, opaque_code: opaqueCode },
      ]);
      const [code = ""] = world.host.codes;
      expect(launchesOf(world)).toEqual([
        {
          type: "host:auth-code",
          code,
          codeVerifier: token,
          tenantId: "acme",
          state,
          hostOrigin: world.host.origin,
        },
      ]);
      await run(frame, "call", "/api/devices");
      const [{ codeVerifier = "" } = {}] = launchesOf(world);
      expect(await page.evaluate("JSON.stringify(inits)")).not.toContain(codeVerifier);
      const holding = world.plugin.requests.filter(({ body }) => body.includes(code));
      expect(holding.map(({ url }) => url.pathname)).toEqual(["/auth/launch"]);
      // The launch parameters are in referrers only until they are removed.
      const afterwards = world.plugin.requests.slice(-2).map(({ headers }) => headers.referer);
      expect(afterwards).toEqual(Array(2).fill(`${world.plugin.origin}/?lang=en`));
    });

    test("uses the names of parameters and fields that the page chooses", async () => {
      const world = await pageWorld(browser(), {
        src: ({ opaqueCode, state }) =>
          `${world.plugin.origin}/?launch=${opaqueCode}&nonce=${state}&state=mine`,
        script: `addEventListener("message", async ({ data }) => {
          if (!data.hello) return;
          const body = JSON.stringify({ challenge: data.hello, opaque_code: data.id });
          const answer = await (await fetch("/authorise", { method: "POST", body })).json();
          post({ kind: "code", grant: answer });
        });`,
      });
      const { frame } = await world.launch();
      const outcome = await frame.evaluate(
        (origin) =>
          (globalThis as unknown as Record<"begin", (options: unknown) => unknown>).begin({
            hostOrigins: [origin],
            parameters: { opaqueCode: "launch", state: "nonce" },
            initMessage: (challenge: string, id: string) => ({ hello: challenge, id }),
            readAuthCode: (data: { grant?: unknown } | null) => data?.grant,
          }),
        world.host.origin,
      );
      expect(outcome).toMatchObject({ session: { variant: "A" } });
      expect(frame.url()).toBe(`${world.plugin.origin}/?state=mine`);
    });

    test("is refused if the host answers with another state, another tenant or no code, and no code is sent", async () => {
      const world = await pageWorld(browser());
      for (const { change = {}, options = {}, code } of [
        { change: { state: "evil" }, code: "state_mismatch" },
        { options: { state: "that of the option" }, code: "state_mismatch" },
        { change: { tenantId: "umbrella" }, code: "tenant_mismatch" },
        { change: { code: null }, code: "auth_code_invalid" },
      ]) {
        const { frame, page } = await world.launch();
        const changed = JSON.stringify(change);
        await page.evaluate(`reply = (answer, post) => post({ ...answer, ...${changed} })`);
        const error = { name: "PageError", isPageError: true, code };
        const outcome = await world.begin(frame, { tenantId: "acme", ...options });
        expect(outcome).toMatchObject({ error });
        await page.close();
      }
      expect(launchesOf(world)).toEqual([]);
    });

    test("accepts any state if it has none, and any tenant if only the login's is given", async () => {
      const world: World = await pageWorld(browser(), {
        src: ({ opaqueCode }) => `${world.plugin.origin}/?opaque_code=${opaqueCode}`,
      });
      const { frame } = await world.launch();
      const outcome = await world.begin(frame, { tenant: "umbrella" });
      expect(outcome).toMatchObject({ session: { variant: "A", tenantId: "acme" } });
    });

    test("sends one code although the host answers three times", async () => {
      const script = `reply = (answer, post) => {
        post(answer); post(answer); post({ ...answer, code: "evil" });
        setTimeout(() => post({ ...answer, code: "evil" }), 50);
      };`;
      const { world, frame, outcome } = await launched(browser(), { script });
      expect(outcome).toMatchObject({ session: {} });
      await frame.waitForFunction("heard === 2");
      await run(frame, "call", "/api/devices");
      expect(launchesOf(world).map(({ code }) => code)).toEqual(world.host.codes);
    });

    test("ignores an answer that comes before the challenge was posted", async () => {
      const world = await pageWorld(browser());
      const { frame, page } = await world.launch();
      // The page waits for the digest before it posts. The host posts during that time.
      await frame.evaluate(() => {
        const { digest } = SubtleCrypto.prototype;
        SubtleCrypto.prototype.digest = async function (...input) {
          const world = globalThis as unknown as { digesting: boolean; heard: number };
          world.digesting = true;
          while (world.heard === 0) await new Promise((resolve) => setTimeout(resolve));
          return digest.apply(this, input);
        };
      });
      const outcome = world.begin(frame);
      await frame.waitForFunction("globalThis.digesting");
      const { state, tenantId } = world.host.launch;
      await run(page, "post", { type: "host:auth-code", code: "evil", state, tenantId });
      expect(await outcome).toMatchObject({ session: { variant: "A" } });
      expect(launchesOf(world).map(({ code }) => code)).toEqual(world.host.codes);
    });

    test.each([
      {
        name: "a redirect, which would receive code and verifier",
        answer: new Response(null, { status: 307, headers: { location: "/elsewhere" } }),
      },
      { name: "no answer within timeoutMs", answer: new Promise<Response>(() => {}) },
      { name: "a page", answer: new Response("<!doctype html>") },
    ])("rejects with backend_failed after $name", async ({ answer }) => {
      const options = answering("/auth/launch", () => answer);
      const { world, outcome } = await launched(browser(), options, { timeoutMs: 1_000 });
      expect(outcome).toMatchObject({ error: { code: "backend_failed" } });
      expect(world.plugin.requests.filter(({ url }) => url.pathname === "/elsewhere")).toEqual([]);
    });

    test("ends with host_silent after timeoutMs, and ignores a later answer", async () => {
      const script = "reply = (answer) => { window.kept = answer; };";
      const limit = { timeoutMs: 500 };
      const { world, frame, page, outcome } = await launched(browser(), { script }, limit);
      expect(outcome).toMatchObject({ error: { code: "host_silent" } });
      await page.evaluate('post({ ...kept }), post({ code: "evil" })');
      await frame.waitForFunction("heard === 1");
      expect(launchesOf(world)).toEqual([]);
    });

    test("rejects with opaque_origin and what to change in a sandbox without allow-same-origin", async () => {
      const attributes = 'sandbox="allow-scripts"';
      const { world, outcome } = await launched(browser(), { attributes });
      const message = expect.stringContaining("allow-same-origin");
      expect(outcome).toMatchObject({ error: { code: "opaque_origin", message } });
      expectQuiet(world);
    });

    test("rejects with insecure_context without crypto.subtle", async () => {
      const world = await pageWorld(browser());
      const { port } = new URL(world.plugin.origin);
      await world.context.route("http://insecure.example/**", async (route) => {
        const { pathname } = new URL(route.request().url());
        const response = await route.fetch({ url: `http://127.0.0.1:${port}${pathname}` });
        await route.fulfill({ response });
      });
      const page = await world.context.newPage();
      await page.goto("http://insecure.example/");
      const outcome = await world.begin(page);
      expect(outcome).toMatchObject({ error: { code: "insecure_context" } });
      expectQuiet(world);
    });

    test("rejects wrong options with option_invalid, whatever embeds it, and sends nothing", async () => {
      const world = await pageWorld(browser());
      const { frame } = await world.launch();
      for (const wrong of [
        { hostOrigins: "https://host.example" },
        { hostOrigins: ["*"] },
        ...["auth", "", null, 5, {}].map((backend) => ({ backend })),
        ...[0, -1, "soon", null].map((timeoutMs) => ({ timeoutMs })),
        { fetch: 5 },
      ]) {
        const outcome = await run(frame, "begin", { hostOrigins: [], ...wrong });
        expect([wrong, outcome]).toMatchObject([wrong, { error: { code: "option_invalid" } }]);
      }
      expectQuiet(world);
    });

    test("rejects with opaque_code_missing without opaque_code, and does not ask the host", async () => {
      let path = "";
      const world: World = await pageWorld(browser(), { src: () => world.plugin.origin + path });
      for (path of ["/", "/?opaque_code=&state=s", "/?opaqueCode=x"]) {
        const { frame, page } = await world.launch();
        const outcome = await world.begin(frame);
        expect([path, outcome]).toMatchObject([path, { error: { code: "opaque_code_missing" } }]);
        expect(await page.evaluate("inits")).toEqual([]);
        await page.close();
      }
      expect(launchesOf(world)).toEqual([]);
    });
  });

  describe("a page that is opened on its own", () => {
    async function opened(path: string, options: WorldOptions = {}) {
      const world = await pageWorld(browser(), options);
      const page = await world.context.newPage();
      await page.goto(world.plugin.origin + path);
      return { world, page };
    }

    /**
     * Starts, follows the browser to the login, and starts again on the page that it comes back to.
     */
    async function loggedIn(
      world: World,
      page: Page,
      options: object = {},
      before = async () => {},
    ): Promise<Outcome> {
      const all = { hostOrigins: [world.host.origin], ...options };
      await Promise.all([page.waitForURL(/bivariant_login=/), run(page, "leave", all)]);
      await page.waitForFunction("window.begin");
      await before();
      return world.begin(page, options);
    }

    const paths = ({ plugin }: World) =>
      plugin.requests
        .map(({ method, url }) => `${method} ${url.pathname}`)
        .filter((path) => path.includes("/auth/"));

    /** The query of the page's request for a login, and the bodies of those for its session. */
    function asked({ plugin }: World) {
      const at = (path: string) => plugin.requests.filter(({ url }) => url.pathname === path);
      return {
        login: Object.fromEntries(at("/auth/login")[0]?.url.searchParams ?? []),
        sessions: at("/auth/session").map(({ body }) => JSON.parse(body)),
      };
    }

    test("goes to the login, and comes back to its address with a mark by which it gets its session", async () => {
      const { world, page } = await opened("/?view=list&q=a%20b#/devices/7");
      const session = { variant: "B", tenantId: "acme" };
      expect(await loggedIn(world, page)).toMatchObject({ session });
      const [asking, ...login] = ["POST /auth/session", "GET /auth/login", "GET /auth/callback"];
      expect(paths(world)).toEqual([asking, ...login, asking]);
      const returnTo = asked(world).login.return_to ?? "";
      expect(asked(world).login).toEqual({ return_to: returnTo });
      const { origin, search, hash } = new URL(returnTo);
      expect([origin, hash]).toEqual([world.plugin.origin, "#/devices/7"]);
      const [, mark] = /^\?view=list&q=a\+b&bivariant_login=([\w-]{43})$/.exec(search) ?? [];
      expect(asked(world).sessions).toEqual([{ login: null }, { login: mark }]);
      expect(page.url()).toBe(`${world.plugin.origin}/?view=list&q=a+b#/devices/7`);
      // A browser logs every 401 as an error, so the answer to a page without a session has another
      // status.
      expect(world.errors).toEqual([]);
    });

    test("asks for a login when the session ends, and startSession goes to the login again", async () => {
      const { world, page } = await opened("/");
      await loggedIn(world, page);
      // Longer than a session may be idle.
      world.clock.advance(2 * 3_600_000);
      const error = { code: "session_ended" };
      expect(await run(page, "call", "/api/devices")).toMatchObject({ error });
      expect(await page.evaluate("endings")).toEqual([{ reason: "session_expired", ask: "login" }]);
      expect(await loggedIn(world, page)).toMatchObject({ session: { variant: "B" } });
    });

    test("names the tenant to log in to: the option tenant rather than tenantId", async () => {
      const { world, page } = await opened("/");
      await loggedIn(world, page, { tenant: "acme", tenantId: "umbrella" });
      expect(asked(world).login.tenant).toBe("acme");
      expect(asked(world).sessions).toMatchObject([{ tenant: "acme" }, { tenant: "acme" }]);
    });

    const session = { session: "s", variant: "B", tenantId: "acme", expiresAt: 1 };
    test.each([
      { name: "a session of another tenant", body: session, status: 200, code: "tenant_mismatch" },
      { name: "a refusal", body: { error: "a_code" }, status: 403, code: "a_code" },
    ])("rejects with $code after $name, and does not go to the login", async (row) => {
      const options = answering("/auth/session", () =>
        Response.json(row.body, { status: row.status }),
      );
      const { world, page } = await opened("/", options);
      const outcome = await world.begin(page, { tenant: "umbrella" });
      expect(outcome).toMatchObject({ error: { code: row.code } });
      expect(paths(world)).toEqual(["POST /auth/session"]);
    });

    test("rejects once with the code of a failed login; the next start goes to the login again", async () => {
      const { world, page } = await opened("/?a=1", { decision: "deny" });
      const error = { name: "PageError", code: "login_denied" };
      expect(await loggedIn(world, page)).toMatchObject({ error });
      expect(page.url()).toBe(`${world.plugin.origin}/?a=1`);
      expect(paths(world)).toEqual(["POST /auth/session", "GET /auth/login", "GET /auth/callback"]);
      expect(await loggedIn(world, page)).toMatchObject({ error });
    });

    test("rejects with session_missing after a login without a session, as with blocked cookies", async () => {
      const { world, page } = await opened("/");
      const outcome = await loggedIn(world, page, {}, () => world.context.clearCookies());
      expect(outcome).toMatchObject({ error: { code: "session_missing" } });
      expect(paths(world).filter((path) => path === "GET /auth/login")).toHaveLength(1);
      expect(page.url()).toBe(`${world.plugin.origin}/`);
    });

    test("does not repeat an invalid error code from the address", async () => {
      const { world, page } = await opened("/#login_error=%3Cimg%20src=x%3E");
      const error = { code: "backend_failed", message: "backend_failed" };
      expect(await world.begin(page)).toMatchObject({ error });
      expect(page.url()).toBe(`${world.plugin.origin}/`);
    });

    test("rejects with session_missing when the person goes back from the login to a cached page", async () => {
      // With a 204 the browser stays on the page.
      const options = answering("/auth/login", () => new Response(null, { status: 204 }));
      const { world, page } = await opened("/", options);
      let isOver = false;
      const outcome = world.begin(page).finally(() => {
        isOver = true;
      });
      await expect.poll(() => paths(world)).toContain("GET /auth/login");
      const show = (persisted: boolean) =>
        page.evaluate(
          `dispatchEvent(new PageTransitionEvent("pageshow", { persisted: ${persisted} }))`,
        );
      await show(false);
      await page.evaluate("0");
      expect(isOver).toBe(false);
      await show(true);
      expect(await outcome).toMatchObject({ error: { code: "session_missing" } });
    });

    test("calls the backend at another path or URL, and never reads a path as a host", async () => {
      const { world, page } = await opened("/");
      const { origin } = world.plugin;
      for (const { backend, url } of [
        { backend: "/plugin/auth", url: "/plugin/auth/session" },
        { backend: "//evil.localhost", url: "//evil.localhost/session" },
        { backend: `${origin}/x`, url: "/x/session" },
      ]) {
        await world.begin(page, { backend, login: false });
        expect(world.plugin.requests.at(-1)?.url.href).toBe(origin + url);
      }
    });
  });

  test("a call with a session follows no redirect, even if the caller asks for it", async () => {
    let location = "/api/devices";
    const moved = () => new Response(null, { status: 302, headers: { location } });
    const { world, frame } = await launched(browser(), answering("/moved", moved));
    for (location of ["/api/devices", `${world.evil.origin}/steal`]) {
      const called = await run(frame, "call", "/moved", { redirect: "follow" });
      expect(called).toMatchObject({ error: { name: "TypeError" } });
    }
    expect(world.evil.requests).toEqual([]);
    expect(world.plugin.requests.filter(({ url }) => url.pathname === "/api/devices")).toEqual([]);
  });
});
