// The page in a real browser: launches in a host's iframe with forged messages, logins on its own,
// and its sessions.
import type { Frame, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { adaShown } from "../backend/rig.js";
import { describeInChromium } from "../support/chromium.js";
import {
  frameOf,
  keptBy,
  type Launch,
  launched,
  launchesOf,
  type Outcome,
  pageWorld,
  run,
  type World,
  type WorldOptions,
} from "./page-world.js";

/** Expects that neither a backend nor a host received a POST. */
function expectQuiet(world: World): void {
  expect(
    [...world.plugin.requests, ...world.host.requests].filter(({ method }) => method === "POST"),
  ).toEqual([]);
}

function launchUrl({ plugin, host }: World): string {
  return `${plugin.origin}/?opaque_code=${host.launch.opaqueCode}&state=${host.launch.state}`;
}

/**
 * JavaScript of an attacker who even knows state and tenant, and posts messages without a pause.
 */
function posting(target: string, { state, tenantId }: Launch): string {
  const messages = [
    { type: "host:auth-code", code: "evil", state, tenantId },
    { type: "host:auth-code", code: "evil", state: "wrong", tenantId },
    { type: "host:auth-code", code: "evil", state, tenantId: "umbrella" },
    { type: "host:auth-code", code: "evil".repeat(25_000), state, tenantId },
    { type: "host:auth-code", code: "evil" },
  ];
  // A slow machine must read them faster than they come, or the page gets nothing else.
  const all = JSON.stringify(messages);
  return `setInterval(() => { for (const m of ${all}) ${target}?.postMessage(m, "*"); }, 20);`;
}

/**
 * Makes sure that forged messages arrive before the launch, while the host works, and afterwards.
 */
async function launchUnderFire(world: World, page: Page, frame: Frame): Promise<Outcome> {
  await frame.waitForFunction("heard > 0");
  const answer = world.hold();
  const outcome = world.begin(frame);
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
  expect(launchesOf(world).map(({ code }) => code)).toEqual(world.host.codes);
  expect(world.host.codes).toHaveLength(1);
  expect(world.errors).toEqual([]);
}

describeInChromium("the page", (browser) => {
  describe("launched by a host", () => {
    test("ends in a session of the backend, with third-party cookies blocked and without a console error", async () => {
      const { world, frame, page, outcome } = await launched(browser());
      const expiresAt = world.clock.now() + 3_600_000;
      expect(outcome).toEqual({
        session: { variant: "A", tenantId: "acme", operator: adaShown, expiresAt },
      });
      expect(await page.evaluate("inits")).toEqual([
        {
          type: "plugin:pkce-init",
          challenge: expect.stringMatching(/^[\w-]{43}$/),
          opaque_code: world.host.launch.opaqueCode,
        },
      ]);
      expect(launchesOf(world)).toEqual([
        {
          type: "host:auth-code",
          code: world.host.codes[0],
          codeVerifier: expect.stringMatching(/^[\w-]{43}$/),
          tenantId: "acme",
          hostOrigin: world.host.origin,
          state: world.host.launch.state,
        },
      ]);
      expect(await run(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
      expect(world.plugin.requests.filter(({ headers }) => headers.cookie)).toEqual([]);
      expect(world.errors).toEqual([]);
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
      const rows = [
        { change: { state: "evil" }, code: "state_mismatch" },
        { change: { tenantId: "umbrella" }, code: "tenant_mismatch" },
        { change: { code: null }, code: "auth_code_invalid" },
      ];
      for (const { change, code } of rows) {
        const { frame, page } = await world.launch();
        await page.evaluate(
          `reply = (answer, post) => post({ ...answer, ...${JSON.stringify(change)} })`,
        );
        const error = { name: "PageError", isPageError: true, code };
        expect(await world.begin(frame, { tenantId: "acme" })).toMatchObject({ error });
        await page.close();
      }
      expect(launchesOf(world)).toEqual([]);
    });

    test("checks the state of the option rather than that of the launch parameter", async () => {
      const { world, outcome } = await launched(browser(), {}, { state: "told" });
      expect(outcome).toMatchObject({ error: { code: "state_mismatch" } });
      expect(launchesOf(world)).toEqual([]);
    });

    test("accepts the host's tenant although its login would be for another", async () => {
      const { outcome } = await launched(browser(), {}, { tenant: "umbrella" });
      expect(outcome).toMatchObject({ session: { variant: "A", tenantId: "acme" } });
    });

    test("accepts any state if there is none to compare with", async () => {
      const world: World = await pageWorld(browser(), {
        src: ({ opaqueCode }) => `${world.plugin.origin}/?opaque_code=${opaqueCode}`,
      });
      const { frame } = await world.launch();
      const outcome = await world.begin(frame);
      expect(outcome).toMatchObject({ session: { variant: "A" } });
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
      const outcome = world.begin(frame);
      await frame.waitForFunction("globalThis.digesting");
      await run(page, "post", early);
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
      const { world, outcome } = await launched(
        browser(),
        { answer: ({ pathname }) => (pathname === "/auth/launch" ? answer : undefined) },
        { timeoutMs: 1_000 },
      );
      expect(outcome).toMatchObject({ error: { code: "backend_failed" } });
      expect(world.plugin.requests.filter(({ url }) => url.pathname === "/elsewhere")).toEqual([]);
    });

    test("ends with host_silent after timeoutMs, and ignores a later answer", async () => {
      const script = "reply = (answer) => { window.kept = answer; };";
      const { world, frame, page, outcome } = await launched(
        browser(),
        { script },
        { timeoutMs: 500 },
      );
      expect(outcome).toMatchObject({ error: { code: "host_silent" } });
      await page.evaluate('post({ ...kept }), post({ code: "evil" })');
      await frame.waitForFunction("heard === 1");
      expect(launchesOf(world)).toEqual([]);
    });

    test("rejects at once after a reload, and posts nothing", async () => {
      const { world, frame, page } = await launched(browser());
      await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
      await frame.waitForFunction("window.begin");
      const outcome = await world.begin(frame);
      expect(outcome).toMatchObject({ error: { code: "opaque_code_missing" } });
      expect(await page.evaluate("inits.length")).toBe(1);
    });

    test("resumes after a reload where the backend keeps the session in a partitioned cookie", async () => {
      const { world, frame, page } = await launched(browser(), { cookie: true });
      expect(await run(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
      await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
      await frame.waitForFunction("window.begin");
      const outcome = await world.begin(frame);
      expect(outcome).toMatchObject({ session: { variant: "A" } });
      expect(await run(frame, "call", "/api/devices", { method: "POST" })).toMatchObject({
        status: 200,
      });
      expect(launchesOf(world)).toHaveLength(1);
    });

    test("keeps a session cookie that scripts cannot read or use, until the logout", async () => {
      const { frame } = await launched(browser(), { cookie: true });
      const seen = await frame.evaluate(async () => {
        const { session } = globalThis as unknown as { session: { logout(): Promise<void> } };
        const headers = { "content-type": "application/json" };
        const me = await fetch("/auth/me");
        const withoutCsrf = await fetch("/auth/logout", { method: "POST", headers, body: "{}" });
        await session.logout();
        const after = await fetch("/auth/me");
        return [document.cookie, me.status, withoutCsrf.status, after.status];
      });
      expect(seen).toEqual(["", 200, 403, 401]);
    });

    test("rejects with opaque_origin and what to change in a sandbox without allow-same-origin", async () => {
      const { world, outcome } = await launched(browser(), {
        attributes: 'sandbox="allow-scripts"',
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
        await route.fulfill({
          response: await route.fetch({ url: `http://127.0.0.1:${port}${pathname}` }),
        });
      });
      const page = await world.context.newPage();
      await page.goto("http://insecure.example/");
      const outcome = await world.begin(page);
      expect(outcome).toMatchObject({ error: { code: "insecure_context" } });
      expectQuiet(world);
    });

    test.each([
      {
        name: "is not in hostOrigins",
        optionsFor: (world: World) => ({ hostOrigins: [world.host.origin] }),
      },
      { name: "is there, and there are no hostOrigins", optionsFor: () => ({}) },
    ])("rejects with host_origin_unknown if the embedding page $name", async ({ optionsFor }) => {
      const world = await pageWorld(browser());
      world.evilHtml = `<iframe name="plugin" src="${launchUrl(world)}"></iframe>
      <script>const got = []; onmessage = ({ data }) => got.push(data);</script>`;
      const page = await world.context.newPage();
      await page.goto(world.evil.origin);
      const outcome = await run(frameOf(page), "begin", optionsFor(world));
      expect(outcome).toMatchObject({
        error: { code: "host_origin_unknown", message: world.evil.origin },
      });
      expect(await page.evaluate("got")).toEqual([]);
      expectQuiet(world);
    });

    const wrong = [
      { name: "hostOrigins that are no list", options: { hostOrigins: "https://host.example" } },
      { name: "a star", options: { hostOrigins: ["*"] } },
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
      expectQuiet(world);
    });

    const missing = [
      { name: "absent", src: "/" },
      { name: "empty", src: "/?opaque_code=&state=s" },
      { name: "of another name", src: "/?opaqueCode=x" },
    ];
    test("rejects with opaque_code_missing without opaque_code, and does not ask the host", async () => {
      let path = "";
      const world: World = await pageWorld(browser(), { src: () => world.plugin.origin + path });
      for (const { name, src } of missing) {
        path = src;
        const { frame, page } = await world.launch();
        const outcome = await world.begin(frame);
        expect([name, outcome]).toMatchObject([name, { error: { code: "opaque_code_missing" } }]);
        expect(await page.evaluate("inits")).toEqual([]);
        await page.close();
      }
      expect(launchesOf(world)).toEqual([]);
    });

    test("leaves code, verifier, session and launch parameters in no storage, URL, referrer, history or global", async () => {
      const { world, frame, page } = await launched(browser());
      await run(frame, "call", "/api/devices");
      const [launch] = launchesOf(world);
      const bearer = world.plugin.requests.at(-1)?.headers.authorization ?? "";
      const [, session] = /^Bearer ([\w-]{43})$/.exec(bearer) ?? [];
      const secrets = [launch?.code, launch?.codeVerifier, session] as string[];
      expect(secrets).not.toContain(undefined);
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
      // The launch parameters are in the address that the host opened, and in the referrers until
      // they are removed.
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
      world.beside = `<iframe srcdoc="<script>${script.replaceAll('"', "&quot;")}</script>"></iframe>`;
      const { page, frame } = await world.launch();
      await frame.evaluate(
        'window.origins = new Set(); addEventListener("message", (event) => ' +
          "origins.add(event.origin))",
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
      world.evilHtml = `<script>
      const victim = open(${JSON.stringify(launchUrl(world))});
      ${posting("victim", world.host.launch)}
    </script>`;
      const evil = await world.context.newPage();
      const popup = evil.waitForEvent("popup");
      await evil.goto(world.evil.origin);
      const page = await popup;
      await page.waitForFunction("window.heard > 0");
      const outcome = await run(page, "begin", {
        hostOrigins: [world.host.origin, world.evil.origin],
      });
      expect(outcome).toMatchObject({ error: { code: "not_framed" } });
      await underFire(page.mainFrame());
      expect(world.plugin.requests.filter(({ method }) => method === "POST")).toEqual([]);
    });

    test("ignores forged messages of a parent that hides its origin, and sends it nothing", async () => {
      const world = await pageWorld(browser());
      const inner = `<iframe name="plugin" src="${launchUrl(world)}"></iframe><script>
      const got = []; onmessage = ({ data }) => got.push(data);
      ${posting("frames[0]", world.host.launch)}
    </script>`;
      world.evilHtml = `<iframe name="hidden" src="data:text/html,${encodeURIComponent(inner)}"></iframe>`;
      const page = await world.context.newPage();
      await page.goto(world.evil.origin);
      const frame = frameOf(page);
      await frame.waitForFunction("window.heard > 0");
      const outcome = await world.begin(frame, { timeoutMs: 500 });
      // A version of Chromium that counts a data: page as insecure has no crypto.subtle in its
      // frames.
      expect(["host_silent", "insecure_context"]).toContain(outcome.error?.code);
      expect(launchesOf(world)).toEqual([]);
      expect(await page.frame({ name: "hidden" })?.evaluate("got")).toEqual([]);
    });
  });

  describe("opened on its own", () => {
    async function opened(
      path: string,
      options: WorldOptions = {},
    ): Promise<{ world: World; page: Page }> {
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
      {
        before = async () => {},
        ...options
      }: { before?: () => Promise<void>; tenant?: string; tenantId?: string } = {},
    ): Promise<Outcome> {
      const all = { hostOrigins: [world.host.origin], ...options };
      await Promise.all([page.waitForURL(/bivariant_login=/), run(page, "leave", all)]);
      await page.waitForFunction("window.begin");
      await before();
      return world.begin(page, options);
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
      expect(await loggedIn(world, page)).toMatchObject({
        session: { variant: "B", tenantId: "acme" },
      });
      expect(paths(world)).toEqual([
        "POST /auth/session",
        "GET /auth/login",
        "GET /auth/callback",
        "POST /auth/session",
      ]);
      const login = world.plugin.requests.find(({ url }) => url.pathname === "/auth/login");
      expect(Object.fromEntries(login?.url.searchParams ?? [])).toEqual({
        return_to: expect.stringMatching(/^\/\?view=list&q=a\+b&bivariant_login=[\w-]{43}$/),
      });
      const mark = login?.url.searchParams.get("return_to")?.split("bivariant_login=")[1];
      expect(bodies(world)).toEqual([{ login: null }, { login: mark }]);
      // A browser logs every 401 as an error, so the answer to a page without a session has another
      // status.
      expect(world.errors).toEqual([]);
      expect(page.url()).toBe(`${world.plugin.origin}/?view=list&q=a+b`);
      expect(await run(page, "call", "/api/devices")).toMatchObject({ status: 200 });
      const token = world.plugin.requests.at(-1)?.headers.authorization?.slice("Bearer ".length);
      expect(token).toMatch(/^[\w-]{43}$/);
      expect(await keptBy(page)).toContain(page.url());
      expect(await keptBy(page)).not.toContain(token);
      expect(world.plugin.requests.map(({ url }) => url.href).join()).not.toContain(token);
    });

    test("asks for a login when the session ends, and startSession goes to the login again", async () => {
      const { world, page } = await opened("/");
      await loggedIn(world, page);
      // Longer than a session may be idle.
      world.clock.advance(2 * 3_600_000);
      expect(await run(page, "call", "/api/devices")).toMatchObject({
        error: { code: "session_ended" },
      });
      expect(await page.evaluate("endings")).toEqual([{ reason: "session_expired", ask: "login" }]);
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
      const session = { session: "s", variant: "B", tenantId: "acme", expiresAt: 1 };
      const { world, page } = await opened("/", {
        answer: ({ pathname }) =>
          pathname === "/auth/session" ? Response.json(session) : undefined,
      });
      const outcome = await world.begin(page, { tenant: "umbrella" });
      expect(outcome).toMatchObject({ error: { code: "tenant_mismatch" } });
    });

    test("rejects once with the code of a failed login; the next start goes to the login again", async () => {
      const { world, page } = await opened("/?a=1", { decision: "deny" });
      const outcome = await loggedIn(world, page);
      expect(outcome).toMatchObject({ error: { name: "PageError", code: "login_denied" } });
      expect(page.url()).toBe(`${world.plugin.origin}/?a=1`);
      expect(paths(world)).toEqual(["POST /auth/session", "GET /auth/login", "GET /auth/callback"]);
      expect(await loggedIn(world, page)).toMatchObject({ error: { code: "login_denied" } });
    });

    test("rejects with session_missing after a login without a session, as with blocked cookies", async () => {
      const { world, page } = await opened("/");
      const outcome = await loggedIn(world, page, { before: () => world.context.clearCookies() });
      expect(outcome).toMatchObject({ error: { code: "session_missing" } });
      expect(paths(world).filter((path) => path === "GET /auth/login")).toHaveLength(1);
      expect(page.url()).toBe(`${world.plugin.origin}/`);
    });

    test("does not repeat an invalid error code from the address", async () => {
      const { world, page } = await opened("/#login_error=%3Cimg%20src=x%3E");
      const outcome = await world.begin(page);
      expect(outcome).toMatchObject({
        error: { code: "backend_failed", message: "backend_failed" },
      });
      expect(page.url()).toBe(`${world.plugin.origin}/`);
    });

    test("with login: false rejects with not_framed and starts no login", async () => {
      const { world, page } = await opened("/");
      const outcome = await world.begin(page, { login: false });
      expect(outcome).toMatchObject({ error: { code: "not_framed" } });
      expect(paths(world)).toEqual(["POST /auth/session"]);
    });

    test("rejects with a refusal of the backend, and does not go to the login", async () => {
      const { world, page } = await opened("/", {
        answer: ({ pathname }) =>
          pathname === "/auth/session"
            ? Response.json({ error: "origin_refused" }, { status: 403 })
            : undefined,
      });
      const outcome = await world.begin(page);
      expect(outcome).toMatchObject({ error: { code: "origin_refused" } });
      expect(paths(world)).toEqual(["POST /auth/session"]);
    });

    test("rejects with session_missing when the person goes back from the login to a cached page", async () => {
      // With a 204 the browser stays on the page.
      const { world, page } = await opened("/", {
        answer: ({ pathname }) =>
          pathname === "/auth/login" ? new Response(null, { status: 204 }) : undefined,
      });
      const outcome = world.begin(page);
      await expect.poll(() => paths(world)).toContain("GET /auth/login");
      let isOver = false;
      void outcome.then(() => {
        isOver = true;
      });
      await page.evaluate(() =>
        dispatchEvent(new PageTransitionEvent("pageshow", { persisted: false })),
      );
      await page.evaluate("0");
      expect(isOver).toBe(false);
      await page.evaluate(() =>
        dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })),
      );
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
        await world.begin(page, { backend, login: false });
        expect(world.plugin.requests.at(-1)?.url.href).toBe(origin + url);
      }
    });
  });

  test("a call with a session follows no redirect, even if the caller asks for it", async () => {
    let location = "/api/devices";
    const { world, frame } = await launched(browser(), {
      answer: ({ pathname }) =>
        pathname === "/moved"
          ? new Response(null, { status: 302, headers: { location } })
          : undefined,
    });
    for (location of ["/api/devices", `${world.evil.origin}/steal`]) {
      const called = await run(frame, "call", "/moved", { redirect: "follow" });
      expect(called).toMatchObject({ error: { name: "TypeError" } });
    }
    expect(world.evil.requests).toEqual([]);
    expect(world.plugin.requests.filter(({ url }) => url.pathname === "/api/devices")).toEqual([]);
  });
});
