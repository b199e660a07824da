// A launch in a real browser: the handshake with the host, where a page can find itself, and forged messages.
import type { Frame, Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeInChromium } from "../support/chromium.js";
import {
  frameOf,
  keptBy,
  type Launch,
  launched,
  type Outcome,
  pageWorld,
  run,
  type World,
} from "./page-world.js";

/** Neither a backend nor a host received a POST. */
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

describeInChromium("a launch", (browser) => {
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

  test("ends with host_silent after 30 seconds, and ignores a later answer", async () => {
    const script = "reply = (answer) => { window.kept = answer; };";
    const world = await pageWorld(browser(), { host: { script } });
    await world.context.clock.install();
    const { frame, page } = await world.launch();
    const outcome = run(frame, "begin", { hostOrigins: [world.host.origin] });
    await page.waitForFunction("window.kept");
    let isOver = false;
    void outcome.then(() => {
      isOver = true;
    });
    await page.clock.fastForward(20_000);
    await frame.evaluate("0");
    expect(isOver).toBe(false);
    await page.clock.fastForward(10_000);
    expect(await outcome).toMatchObject({ error: { code: "host_silent" } });
    await page.evaluate('post({ ...kept }), post({ code: "evil" })');
    await frame.waitForFunction("heard === 1");
    expect(world.plugin.launches).toEqual([]);
  });

  test("stops listening after the answer", async () => {
    const world = await pageWorld(browser());
    const { frame, page } = await world.launch();
    const outcome = await frame.evaluate((origin) => {
      const global = globalThis as unknown as { read: number; begin: (options: unknown) => unknown };
      global.read = 0;
      return global.begin({
        hostOrigins: [origin],
        readAuthCode(data: unknown) {
          global.read++;
          return data;
        },
      });
    }, world.host.origin);
    expect(outcome).toMatchObject({ session: { variant: "A" } });
    await run(page, "post", { code: "evil" });
    await frame.waitForFunction("heard === 1");
    expect(await frame.evaluate("read")).toBe(1);
  });

  test("ignores other messages of the host", async () => {
    const script = `reply = (answer, post) => {
      for (const other of [null, 1, "host:auth-code", { type: "host:resize" }, []]) post(other);
      post(answer);
    };`;
    const { world, outcome } = await launched(browser(), { host: { script } });
    expect(outcome).toMatchObject({ session: {} });
    expect(world.errors).toEqual([]);
  });

  test("rejects with code, reason and message of the backend's refusal, and does not try again", async () => {
    const script = `reply = (answer, post) => post({ ...answer, code: "unknown" });`;
    const { world, outcome } = await launched(browser(), { host: { script } });
    const error = { code: "relaunch_required", reason: "launch_refused", message: "Open it again." };
    expect(outcome).toMatchObject({ error });
    expect(world.plugin.launches).toHaveLength(1);
  });

  test("does not follow a redirect of the backend with code and verifier", async () => {
    const world = await pageWorld(browser(), {
      plugin: {
        answer: ({ url }) =>
          url.pathname === "/auth/launch"
            ? { status: 307, headers: { location: `${world.plugin.origin}/elsewhere` } }
            : undefined,
      },
    });
    const outcome = await run((await world.launch()).frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({
      error: { code: "backend_failed", cause: "TypeError: Failed to fetch" },
    });
    expect(world.plugin.requests.filter(({ url }) => url.pathname === "/elsewhere")).toEqual([]);
  });

  test("rejects with backend_failed if the backend does not answer within timeoutMs", async () => {
    const world = await pageWorld(browser(), {
      plugin: {
        answer: ({ url }) => (url.pathname === "/auth/launch" ? (new Promise(() => {}) as never) : undefined),
      },
    });
    const options = { hostOrigins: [world.host.origin], timeoutMs: 1_000 };
    const outcome = await run((await world.launch()).frame, "begin", options);
    expect(outcome).toMatchObject({ error: { code: "backend_failed" } });
  });

  test("removes only the launch parameters from the address", async () => {
    const { world, frame } = await launched(browser());
    expect(frame.url()).toBe(`${world.plugin.origin}/?lang=en`);
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

  test("starts a new session although there is one in a cookie", async () => {
    const { world, page } = await launched(browser(), { plugin: { cookie: true } });
    await page.reload();
    await run(frameOf(page), "begin", { hostOrigins: [world.host.origin] });
    expect(world.plugin.launches).toHaveLength(2);
  });
  test("a sandbox without allow-same-origin is opaque_origin, with what to change", async () => {
    const { world, outcome } = await launched(browser(), { host: { attributes: 'sandbox="allow-scripts"' } });
    expect(outcome).toMatchObject({
      error: { code: "opaque_origin", message: expect.stringContaining("allow-same-origin") },
    });
    expectQuiet(world);
  });

  test("the recommended sandbox allows a session", async () => {
    const attributes = 'sandbox="allow-scripts allow-same-origin allow-forms"';
    const { outcome } = await launched(browser(), { host: { attributes } });
    expect(outcome).toMatchObject({ session: {} });
  });

  test("a page without crypto.subtle is insecure_context", async () => {
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

  test("an embedding page that is not in hostOrigins is host_origin_unknown", async () => {
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

  test("an evil page between the host and the plugin is host_origin_unknown", async () => {
    const world: World = await pageWorld(browser());
    world.evilHtml = `<iframe name="plugin" src="${launchUrl(world)}"></iframe>`;
    const page = await world.context.newPage();
    await page.goto(world.host.origin);
    await page.evaluate((origin) => {
      document.body.innerHTML = "";
      document.body.append(Object.assign(document.createElement("iframe"), { src: origin }));
    }, world.evil.origin);
    await expect.poll(() => page.frame({ name: "plugin" })?.evaluate("!!window.begin")).toBe(true);
    const outcome = await run(frameOf(page), "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "host_origin_unknown" } });
    expectQuiet(world);
  });

  const wrong = [
    { name: "no hostOrigins", options: {} },
    { name: "an empty list", options: { hostOrigins: [] } },
    { name: "a star", options: { hostOrigins: ["*"] } },
    { name: "a text for hostOrigins", options: { hostOrigins: "https://host.example" } },
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
  test("wrong options are option_invalid, whatever embeds the page, and nothing is sent", async () => {
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
  test("a launch without opaque_code is opaque_code_missing, and the host is not asked", async () => {
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

  test("a launch with an opaque_code that the host does not know is host_silent, and nothing is sent", async () => {
    const src = (): string => `${world.plugin.origin}/?opaque_code=unknown`;
    const world: World = await pageWorld(browser(), { host: { src } });
    const { frame } = await world.launch();
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin], timeoutMs: 300 });
    expect(outcome).toMatchObject({ error: { code: "host_silent" } });
    expect(world.plugin.launches).toEqual([]);
  });

  test("a launch outside a frame is not_framed, and does not log in", async () => {
    const world = await pageWorld(browser());
    const page = await world.context.newPage();
    await page.goto(`${world.plugin.origin}/?opaque_code=${world.host.launch.opaqueCode}`);
    const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "not_framed" } });
    expectQuiet(world);
  });

  test("code, verifier, session and launch parameters are in no storage, URL, referrer, history or global", async () => {
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
  test("forged messages of an evil sibling frame are ignored", async () => {
    const world: World = await pageWorld(browser());
    world.evilHtml = `<script>${posting("parent.frames.plugin", world.host.launch)}</script>`;
    world.host.beside = `<iframe src="${world.evil.origin}"></iframe>`;
    const { page, frame } = await world.launch();
    expectHonest(world, await launchUnderFire(world, page, frame));
  });

  test("forged messages of a sibling at the host's own origin are ignored", async () => {
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

  test("forged messages of an evil frame inside the plugin's page are ignored", async () => {
    const world = await pageWorld(browser());
    world.evilHtml = `<script>${posting("parent", world.host.launch)}</script>`;
    const { page, frame } = await world.launch();
    await frame.evaluate((origin) => {
      document.body.append(Object.assign(document.createElement("iframe"), { src: origin }));
    }, world.evil.origin);
    expectHonest(world, await launchUnderFire(world, page, frame));
  });

  test("forged messages of an evil opener of the host are ignored", async () => {
    const world = await pageWorld(browser());
    world.evilHtml = `<script>
      const victim = open(${JSON.stringify(world.host.origin)});
      ${posting("(victim.length > 0 ? victim[0] : undefined)", world.host.launch)}
    </script>`;
    const evil = await world.context.newPage();
    const popup = evil.waitForEvent("popup");
    await evil.goto(world.evil.origin);
    const page = await popup;
    await page.waitForLoadState();
    expectHonest(world, await launchUnderFire(world, page, frameOf(page)));
  });

  test("forged messages of an evil opener of the plugin are ignored: not_framed", async () => {
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

  test("forged messages of a parent that hides its origin are ignored, and it receives nothing", async () => {
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
