// The page in a real browser: launches in a host's iframe with forged messages, logins on its own, and its sessions.
import { createServer } from "node:http";
import type { Frame, Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { rig } from "../backend/rig.js";
import { describeInChromium } from "../support/chromium.js";
import { servingOn } from "../support/recording-server.js";
import {
  type FakePluginOptions,
  frameOf,
  keptBy,
  type Launch,
  launched,
  type Outcome,
  pageWorld,
  run,
  type SiteAnswer,
  type SiteRequest,
  type World,
} from "./page-world.js";

/** Expects that neither a backend nor a host received a POST. */
function expectQuiet(world: World): void {
  expect(
    [...world.plugin.requests, ...world.host.requests].filter(({ method }) => method === "POST"),
  ).toEqual([]);
}

function launchUrl({ plugin, host }: World): string {
  return `${plugin.origin}/?opaque_code=${host.launch.opaqueCode}&amp;state=${host.launch.state}`;
}

/** JavaScript of an attacker who even knows state and tenant, and posts messages without a pause. */
function posting(target: string, { state, tenantId }: Launch): string {
  const messages = [
    { type: "host:auth-code", code: "evil", state, tenantId },
    { type: "host:auth-code", code: "evil", state: "wrong", tenantId },
    { type: "host:auth-code", code: "evil", state, tenantId: "umbrella" },
    { type: "host:auth-code", code: "evil".repeat(25_000), state, tenantId },
    { type: "host:auth-code", code: "evil" },
  ];
  return `setInterval(() => { for (const m of ${JSON.stringify(messages)}) ${target}?.postMessage(m, "*"); }, 2);`;
}

/** Makes sure that forged messages arrive before the launch, while the host works, and afterwards. */
async function launchUnderFire(world: World, page: Page, frame: Frame): Promise<Outcome> {
  await frame.waitForFunction("heard > 0");
  const answer = world.host.hold();
  const outcome = run(frame, "begin", { hostOrigins: [world.host.origin] });
  await page.waitForFunction("inits.length === 1");
  await underFire(frame);
  answer();
  const result = await outcome;
  await underFire(frame);
  return result;
}

async function underFire(frame: Frame): Promise<void> {
  await frame.evaluate("heard = 0");
  await frame.waitForFunction("heard > 20");
}

function expectHonest(world: World, outcome: Outcome): void {
  expect(outcome).toMatchObject({ session: { variant: "A", tenantId: "acme" } });
  expect(world.plugin.launches.map(({ code }) => code)).toEqual([...world.host.grants.keys()]);
  expect(world.host.grants.size).toBe(1);
  expect(world.errors).toEqual([]);
}

describeInChromium("the page", (browser) => {
  describe("launched by a host", () => {
    test("ends in a session of the backend, with third-party cookies blocked and without a console error", async () => {
      const { world, frame, page, outcome } = await launched(browser());
      expect(outcome).toEqual({
        session: {
          variant: "A",
          tenantId: "acme",
          operator: { userId: "ada" },
          expiresAt: 4_000_000_000_000,
        },
      });
      expect(await page.evaluate("inits")).toEqual([
        {
          type: "plugin:pkce-init",
          challenge: expect.stringMatching(/^[\w-]{43}$/),
          opaque_code: world.host.launch.opaqueCode,
        },
      ]);
      expect(world.plugin.launches).toEqual([
        {
          type: "host:auth-code",
          code: [...world.host.grants.keys()][0],
          codeVerifier: expect.stringMatching(/^[\w-]{43}$/),
          tenantId: "acme",
          hostOrigin: world.host.origin,
          state: world.host.launch.state,
        },
      ]);
      expect(await run(frame, "call", "/api/devices")).toEqual({ status: 200, text: '{"called":true}' });
      expect(world.plugin.requests.filter(({ headers }) => headers.cookie)).toEqual([]);
      expect(world.errors).toEqual([]);
    });

    test("uses the names of parameters and fields that the page chooses", async () => {
      const world = await pageWorld(browser(), {
        host: {
          src: ({ opaqueCode, state }) =>
            `${world.plugin.origin}/?launch=${opaqueCode}&nonce=${state}&state=mine`,
          script: `addEventListener("message", async ({ data }) => {
          if (!data.hello) return;
          const body = JSON.stringify({ challenge: data.hello, opaque_code: data.id });
          const answer = await (await fetch("/authorise", { method: "POST", body })).json();
          post({ kind: "code", grant: answer });
        });`,
        },
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
      const rows = [
        { change: { state: "evil" }, code: "state_mismatch" },
        { change: { tenantId: "umbrella" }, code: "tenant_mismatch" },
        { change: { code: null }, code: "auth_code_invalid" },
      ];
      for (const { change, code } of rows) {
        const { frame, page } = await world.launch();
        await page.evaluate(`reply = (answer, post) => post({ ...answer, ...${JSON.stringify(change)} })`);
        const options = { hostOrigins: [world.host.origin], tenantId: "acme" };
        const error = { name: "PageError", isPageError: true, code };
        expect(await run(frame, "begin", options)).toMatchObject({ error });
        await page.close();
      }
      expect(world.plugin.launches).toEqual([]);
    });

    test("checks the state of the option rather than that of the launch parameter", async () => {
      const { world, outcome } = await launched(browser(), {}, { state: "told" });
      expect(outcome).toMatchObject({ error: { code: "state_mismatch" } });
      expect(world.plugin.launches).toEqual([]);
    });

    test("accepts any state if there is none to compare with", async () => {
      const src = ({ opaqueCode }: { opaqueCode: string }) =>
        `${world.plugin.origin}/?opaque_code=${opaqueCode}`;
      const world: World = await pageWorld(browser(), { host: { src } });
      const { frame } = await world.launch();
      const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ session: { variant: "A" } });
    });

    test("sends one code although the host answers three times", async () => {
      const script = `reply = (answer, post) => {
      post(answer); post(answer); post({ ...answer, code: "evil" });
      setTimeout(() => post({ ...answer, code: "evil" }), 50);
    };`;
      const { world, frame, outcome } = await launched(browser(), { host: { script } });
      expect(outcome).toMatchObject({ session: {} });
      await frame.waitForFunction("heard === 2");
      await run(frame, "call", "/api/devices");
      expect(world.plugin.launches.map(({ code }) => code)).toEqual([...world.host.grants.keys()]);
    });

    test("ignores an answer that comes before the challenge was posted", async () => {
      const world = await pageWorld(browser());
      const { frame, page } = await world.launch();
      const early = {
        type: "host:auth-code",
        code: "evil",
        state: world.host.launch.state,
        tenantId: "acme",
      };
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
      const outcome = run(frame, "begin", { hostOrigins: [world.host.origin] });
      await frame.waitForFunction("globalThis.digesting");
      await run(page, "post", early);
      expect(await outcome).toMatchObject({ session: { variant: "A" } });
      expect(world.plugin.launches.map(({ code }) => code)).toEqual([...world.host.grants.keys()]);
    });

    test.each([
      {
        name: "a redirect, which would receive code and verifier",
        answer: { status: 307, headers: { location: "/elsewhere" } },
      },
      { name: "no answer within timeoutMs", answer: new Promise(() => {}) },
      { name: "a page", answer: { body: "<!doctype html>" } },
    ])("rejects with backend_failed after $name", async ({ answer }) => {
      const plugin = {
        answer: ({ url }: SiteRequest) =>
          url.pathname === "/auth/launch" ? (answer as SiteAnswer) : undefined,
      };
      const { world, outcome } = await launched(browser(), { plugin }, { timeoutMs: 1_000 });
      expect(outcome).toMatchObject({ error: { code: "backend_failed" } });
      expect(world.plugin.requests.filter(({ url }) => url.pathname === "/elsewhere")).toEqual([]);
    });

    test("ends with host_silent after timeoutMs, and ignores a later answer", async () => {
      const script = "reply = (answer) => { window.kept = answer; };";
      const { world, frame, page, outcome } = await launched(
        browser(),
        { host: { script } },
        { timeoutMs: 500 },
      );
      expect(outcome).toMatchObject({ error: { code: "host_silent" } });
      await page.evaluate('post({ ...kept }), post({ code: "evil" })');
      await frame.waitForFunction("heard === 1");
      expect(world.plugin.launches).toEqual([]);
    });

    test("rejects at once after a reload, and posts nothing", async () => {
      const { world, frame, page } = await launched(browser());
      await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
      await frame.waitForFunction("window.begin");
      const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ error: { code: "opaque_code_missing" } });
      expect(await page.evaluate("inits.length")).toBe(1);
    });

    test("resumes after a reload where the backend keeps the session in a partitioned cookie", async () => {
      const { world, frame, page } = await launched(browser(), { plugin: { cookie: true } });
      expect(await run(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
      await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
      await frame.waitForFunction("window.begin");
      const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ session: { variant: "A" } });
      expect(await run(frame, "call", "/api/devices", { method: "POST" })).toMatchObject({ status: 200 });
      expect(world.plugin.launches).toHaveLength(1);
    });
    test("rejects with opaque_origin and what to change in a sandbox without allow-same-origin", async () => {
      const { world, outcome } = await launched(browser(), {
        host: { attributes: 'sandbox="allow-scripts"' },
      });
      expect(outcome).toMatchObject({
        error: { code: "opaque_origin", message: expect.stringContaining("allow-same-origin") },
      });
      expectQuiet(world);
    });

    test("rejects with insecure_context without crypto.subtle", async () => {
      const world = await pageWorld(browser());
      const { port } = new URL(world.plugin.origin);
      await world.context.route("http://insecure.example/**", async (route) => {
        const { pathname } = new URL(route.request().url());
        await route.fulfill({ response: await route.fetch({ url: `http://127.0.0.1:${port}${pathname}` }) });
      });
      const page = await world.context.newPage();
      await page.goto("http://insecure.example/");
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ error: { code: "insecure_context" } });
      expectQuiet(world);
    });

    test("rejects with host_origin_unknown if the embedding page is not in hostOrigins", async () => {
      const world = await pageWorld(browser());
      world.evilHtml = `<iframe name="plugin" src="${launchUrl(world)}"></iframe>
      <script>const got = []; onmessage = ({ data }) => got.push(data);</script>`;
      const page = await world.context.newPage();
      await page.goto(world.evil.origin);
      const outcome = await run(frameOf(page), "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ error: { code: "host_origin_unknown", message: world.evil.origin } });
      expect(await page.evaluate("got")).toEqual([]);
      expectQuiet(world);
    });

    const wrong = [
      { name: "no hostOrigins", options: {} },
      { name: "an empty list", options: { hostOrigins: [] } },
      { name: "a star", options: { hostOrigins: ["*"] } },
      { name: "a string for hostOrigins", options: { hostOrigins: "https://host.example" } },
      ...["auth", "", null, 5, {}].map((backend) => ({
        name: `the backend ${JSON.stringify(backend)}`,
        options: { hostOrigins: ["https://host.example"], backend },
      })),
      ...[0, -1, "soon", null].map((timeoutMs) => ({
        name: `timeoutMs ${JSON.stringify(timeoutMs)}`,
        options: { hostOrigins: ["https://host.example"], timeoutMs },
      })),
      { name: "fetch 5", options: { hostOrigins: ["https://host.example"], fetch: 5 } },
    ];
    test("rejects wrong options with option_invalid, whatever embeds it, and sends nothing", async () => {
      const world = await pageWorld(browser());
      const { frame } = await world.launch();
      for (const { name, options } of wrong)
        expect([name, await run(frame, "begin", options)]).toMatchObject([
          name,
          { error: { code: "option_invalid" } },
        ]);
      expect(await frame.evaluate("startSession().catch(({ code }) => code)")).toBe("option_invalid");
      expectQuiet(world);
    });

    const missing = [
      { name: "absent", src: "/" },
      { name: "empty", src: "/?opaque_code=&state=s" },
      { name: "of another name", src: "/?opaqueCode=x" },
    ];
    test("rejects with opaque_code_missing without opaque_code, and does not ask the host", async () => {
      let path = "";
      const world: World = await pageWorld(browser(), { host: { src: () => world.plugin.origin + path } });
      for (const { name, src } of missing) {
        path = src;
        const { frame, page } = await world.launch();
        const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
        expect([name, outcome]).toMatchObject([name, { error: { code: "opaque_code_missing" } }]);
        expect(await page.evaluate("inits")).toEqual([]);
        await page.close();
      }
      expect(world.plugin.launches).toEqual([]);
    });

    test("leaves code, verifier, session and launch parameters in no storage, URL, referrer, history or global", async () => {
      const { world, frame, page } = await launched(browser());
      await run(frame, "call", "/api/devices");
      const [launch] = world.plugin.launches;
      const secrets = [launch?.code, launch?.codeVerifier, ...world.plugin.tokens] as string[];
      expect(secrets).toHaveLength(3);
      const opened = new Set([world.host.launch.opaqueCode, world.host.launch.state]);

      const kept = await keptBy(frame);
      expect(kept).toContain(`${world.plugin.origin}/?lang=en`);
      for (const secret of secrets) expect(kept).not.toContain(secret);
      // The referrer of a frame is its host's address: the launch is not in that either.
      for (const value of opened) expect(kept).not.toContain(value);

      const urls = [...world.plugin.requests, ...world.host.requests]
        .map(({ url, headers }) => `${url} ${headers.referer ?? ""}`)
        .join("\n");
      for (const secret of secrets) expect(urls).not.toContain(secret);
      const bodies = world.plugin.requests.filter(({ body }) =>
        secrets.some((secret) => body.includes(secret)),
      );
      expect(bodies.map(({ url }) => url.pathname)).toEqual(["/auth/launch"]);
      // The launch parameters are in the address that the host opened, and in the referrers until they are removed.
      const afterwards = world.plugin.requests.filter(
        ({ method, url }) => method === "POST" || url.pathname === "/api/devices",
      );
      expect(afterwards.map(({ headers }) => headers.referer)).toEqual(
        afterwards.map(() => `${world.plugin.origin}/?lang=en`),
      );
      expect(await page.evaluate("JSON.stringify(inits)")).not.toContain(launch?.codeVerifier);
    });
    test("ignores forged messages of a sibling at the host's own origin", async () => {
      const world: World = await pageWorld(browser());
      const script = posting("parent.frames.plugin", world.host.launch);
      world.host.beside = `<iframe srcdoc="<script>${script.replaceAll('"', "&quot;")}</script>"></iframe>`;
      const { page, frame } = await world.launch();
      await frame.evaluate(
        'window.origins = new Set(); addEventListener("message", (event) => origins.add(event.origin))',
      );
      expectHonest(world, await launchUnderFire(world, page, frame));
      expect(await frame.evaluate("[...origins]")).toEqual([world.host.origin]);
    });

    test("ignores forged messages of an evil frame inside the plugin's page", async () => {
      const world = await pageWorld(browser());
      world.evilHtml = `<script>${posting("parent", world.host.launch)}</script>`;
      const { page, frame } = await world.launch();
      await frame.evaluate((origin) => {
        document.body.append(Object.assign(document.createElement("iframe"), { src: origin }));
      }, world.evil.origin);
      expectHonest(world, await launchUnderFire(world, page, frame));
    });

    test("ignores forged messages of an evil opener, and rejects with not_framed", async () => {
      const world = await pageWorld(browser());
      const { opaqueCode, state } = world.host.launch;
      const url = `${world.plugin.origin}/?opaque_code=${opaqueCode}&state=${state}`;
      world.evilHtml = `<script>
      const victim = open(${JSON.stringify(url)});
      ${posting("victim", world.host.launch)}
    </script>`;
      const evil = await world.context.newPage();
      const popup = evil.waitForEvent("popup");
      await evil.goto(world.evil.origin);
      const page = await popup;
      await page.waitForFunction("window.heard > 0");
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin, world.evil.origin] });
      expect(outcome).toMatchObject({ error: { code: "not_framed" } });
      await underFire(page.mainFrame());
      expect(world.plugin.requests.filter(({ method }) => method === "POST")).toEqual([]);
    });

    test("ignores forged messages of a parent that hides its origin, and sends it nothing", async () => {
      const world = await pageWorld(browser());
      const { opaqueCode, state } = world.host.launch;
      const src = `${world.plugin.origin}/?opaque_code=${opaqueCode}&state=${state}`;
      const inner = `<iframe name="plugin" src="${src}"></iframe><script>
      const got = []; onmessage = ({ data }) => got.push(data);
      ${posting("frames[0]", world.host.launch)}
    </script>`;
      world.evilHtml = `<iframe name="hidden" src="data:text/html,${encodeURIComponent(inner)}"></iframe>`;
      const page = await world.context.newPage();
      await page.goto(world.evil.origin);
      const frame = frameOf(page);
      await frame.waitForFunction("window.heard > 0");
      const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin], timeoutMs: 500 });
      expect(outcome).toMatchObject({ error: { code: "host_silent" } });
      expect(world.plugin.launches).toEqual([]);
      expect(await page.frame({ name: "hidden" })?.evaluate("got")).toEqual([]);
    });
  });

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

    test("names the tenant to log in to: the option tenant rather than tenantId", async () => {
      const { world, page } = await opened("/");
      await loggedIn(world, page, { tenant: "acme", tenantId: "umbrella" });
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

    test("rejects with not_framed instead of a login with login: false", async () => {
      const { world, page } = await opened("/");
      const outcome = await run(page, "begin", { hostOrigins: [world.host.origin], login: false });
      expect(outcome).toMatchObject({ error: { code: "not_framed" } });
      expect(paths(world)).toEqual(["POST /auth/session"]);
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

  test("a call with a session follows no redirect, even if the caller asks for it", async () => {
    let location = "/api/devices";
    const plugin: FakePluginOptions = {
      answer: ({ url }) => (url.pathname === "/moved" ? { status: 302, headers: { location } } : undefined),
    };
    const { world, frame } = await launched(browser(), { plugin });
    for (location of ["/api/devices", `${world.evil.origin}/steal`]) {
      const called = await run(frame, "call", "/moved", { redirect: "follow" });
      expect(called).toMatchObject({ error: { name: "TypeError" } });
    }
    expect(world.evil.requests).toEqual([]);
    expect(world.plugin.requests.filter(({ url }) => url.pathname === "/api/devices")).toEqual([]);
  });

  describe("a session cookie in an iframe of another site", () => {
    test("is sent by the plugin's page, and cannot be read by scripts", async () => {
      const parts = rig({ session: { cookie: true } });
      const handler = toNodeHandler(parts.backend);
      const pluginServer = createServer((incoming, outgoing) => {
        if (incoming.url?.startsWith("/auth/")) return handler(incoming, outgoing);
        outgoing.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>plugin</title>");
      });
      const plugin = `http://127.0.0.1:${await servingOn(pluginServer)}`;
      const hostServer = createServer((_incoming, outgoing) => {
        outgoing.writeHead(200, { "content-type": "text/html" });
        outgoing.end(`<!doctype html><title>host</title><iframe src="${plugin}/page"></iframe>`);
      });
      const hostPort = await servingOn(hostServer);
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
