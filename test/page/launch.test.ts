// The handshake of a launch, in a real browser: what is posted, what is accepted, what goes to the backend.
import { expect, test } from "vitest";
import { describeInChromium } from "../support/chromium.js";
import { frameOf, pageWorld, run } from "./page-world.js";

describeInChromium("a launch in the host's frame", (browser) => {
  test("ends in a session of the backend, with third-party cookies blocked and not one console error", async () => {
    const world = await pageWorld(browser());
    const { frame, page } = await world.launch();
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toEqual({
      session: { variant: "A", tenantId: "acme", operator: { userId: "ada" }, expiresAt: 4_000_000_000_000 },
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

  test("names of parameters and fields are the page's to choose", async () => {
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

  const contradictions = [
    { name: "another state", change: { state: "evil" }, code: "state_mismatch" },
    { name: "another tenant", change: { tenantId: "umbrella" }, code: "tenant_mismatch", tenantId: "acme" },
    { name: "a code of 100 kB", change: { code: "c".repeat(100_000) }, code: "auth_code_invalid" },
    { name: "no code", change: { code: null }, code: "auth_code_invalid" },
    { name: "no state", change: { state: null }, code: "auth_code_invalid" },
    { name: "no tenant", change: { tenantId: 7 }, code: "auth_code_invalid" },
  ];
  test.each(contradictions)(
    "the host answers with $name: $code, and the code is not sent",
    async ({ change, code, tenantId }) => {
      const script = `reply = (answer, post) => post({ ...answer, ...${JSON.stringify(change)} });`;
      const world = await pageWorld(browser(), { host: { script } });
      const { frame } = await world.launch();
      const outcome = await run(frame, "begin", {
        hostOrigins: [world.host.origin],
        ...(tenantId && { tenantId }),
      });
      expect(outcome).toMatchObject({ error: { name: "PageError", isPageError: true, code } });
      expect(world.plugin.launches).toEqual([]);
    },
  );

  test("a state that the page was told otherwise counts more than the launch parameter", async () => {
    const world = await pageWorld(browser());
    const { frame } = await world.launch();
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin], state: "told" });
    expect(outcome).toMatchObject({ error: { code: "state_mismatch" } });
    expect(world.plugin.launches).toEqual([]);
  });

  test("with nothing to check it against, any state will do", async () => {
    const src = ({ opaqueCode }: { opaqueCode: string }) =>
      `${world.plugin.origin}/?opaque_code=${opaqueCode}`;
    const world = await pageWorld(browser(), { host: { src } });
    const { frame } = await world.launch();
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ session: { variant: "A" } });
  });

  test("an answer that comes twice, and another one late, is one launch", async () => {
    const script = `reply = (answer, post) => {
      post(answer); post(answer); post({ ...answer, code: "evil" });
      setTimeout(() => post({ ...answer, code: "evil" }), 50);
    };`;
    const world = await pageWorld(browser(), { host: { script } });
    const { frame } = await world.launch();
    expect(await run(frame, "begin", { hostOrigins: [world.host.origin] })).toMatchObject({ session: {} });
    await frame.waitForFunction("heard === 2");
    await run(frame, "call", "/api/devices");
    expect(world.plugin.launches.map(({ code }) => code)).toEqual([...world.host.grants.keys()]);
  });

  test("an answer that comes before the challenge went out is not one", async () => {
    const world = await pageWorld(browser());
    const { frame, page } = await world.launch();
    const early = { type: "host:auth-code", code: "evil", state: world.host.launch.state, tenantId: "acme" };
    // The digest is what the page waits for before it posts: the host speaks then.
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

  test("a host that is silent for 30 seconds: host_silent; its answer after that is not sent", async () => {
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

  test("after the answer nobody listens any more", async () => {
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

  test("other messages of the host's are left alone", async () => {
    const script = `reply = (answer, post) => {
      for (const other of [null, 1, "host:auth-code", { type: "host:resize" }, []]) post(other);
      post(answer);
    };`;
    const world = await pageWorld(browser(), { host: { script } });
    const { frame } = await world.launch();
    expect(await run(frame, "begin", { hostOrigins: [world.host.origin] })).toMatchObject({ session: {} });
    expect(world.errors).toEqual([]);
  });

  test("what the backend refuses is told with its code, its reason and its words, and not tried again", async () => {
    const script = `reply = (answer, post) => post({ ...answer, code: "unknown" });`;
    const world = await pageWorld(browser(), { host: { script } });
    const outcome = await run((await world.launch()).frame, "begin", { hostOrigins: [world.host.origin] });
    const error = { code: "relaunch_required", reason: "launch_refused", message: "Open it again." };
    expect(outcome).toMatchObject({ error });
    expect(world.plugin.launches).toHaveLength(1);
  });

  const failures = [
    { name: "a page", answer: { status: 200, body: "<!doctype html>" } },
    { name: "nothing", answer: { status: 200 } },
    { name: "null", answer: { status: 200, body: "null" } },
    { name: "a proxy's 502", answer: { status: 502, body: "<h1>Bad gateway</h1>" } },
    { name: "a code that is none", answer: { status: 400, body: '{"error":"<b>"}' } },
  ];
  test.each(failures)("the backend answers with $name: backend_failed, sent once", async ({ answer }) => {
    const world = await pageWorld(browser(), {
      plugin: { answer: ({ url }) => (url.pathname === "/auth/launch" ? answer : undefined) },
    });
    const outcome = await run((await world.launch()).frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "backend_failed" } });
    expect(world.plugin.requests.filter(({ url }) => url.pathname === "/auth/launch")).toHaveLength(1);
  });

  test("the backend redirects: code and verifier do not go along", async () => {
    const world = await pageWorld(browser(), {
      plugin: {
        answer: ({ url }) =>
          url.pathname === "/auth/launch"
            ? { status: 307, headers: { location: `${world.plugin.origin}/elsewhere` } }
            : undefined,
      },
    });
    const outcome = await run((await world.launch()).frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "backend_failed", cause: "TypeError: Failed to fetch" } });
    expect(world.plugin.requests.filter(({ url }) => url.pathname === "/elsewhere")).toEqual([]);
  });

  test("the backend is silent: backend_failed after timeoutMs", async () => {
    const world = await pageWorld(browser(), {
      plugin: {
        answer: ({ url }) => (url.pathname === "/auth/launch" ? (new Promise(() => {}) as never) : undefined),
      },
    });
    const options = { hostOrigins: [world.host.origin], timeoutMs: 1_000 };
    const outcome = await run((await world.launch()).frame, "begin", options);
    expect(outcome).toMatchObject({ error: { code: "backend_failed" } });
  });

  test("the launch parameters leave the address, and only they", async () => {
    const world = await pageWorld(browser());
    const { frame } = await world.launch();
    await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(frame.url()).toBe(`${world.plugin.origin}/?lang=en`);
  });

  test("a reload says at once that a launch is needed, and posts nothing", async () => {
    const world = await pageWorld(browser());
    const { frame, page } = await world.launch();
    await run(frame, "begin", { hostOrigins: [world.host.origin] });
    await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
    await frame.waitForFunction("window.begin");
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "opaque_code_missing" } });
    expect(await page.evaluate("inits.length")).toBe(1);
  });

  test("a reload resumes the session where the backend keeps it in a partitioned cookie", async () => {
    const world = await pageWorld(browser(), { plugin: { cookie: true } });
    const { frame, page } = await world.launch();
    await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(await run(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
    await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
    await frame.waitForFunction("window.begin");
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ session: { variant: "A" } });
    expect(await run(frame, "call", "/api/devices", { method: "POST" })).toMatchObject({ status: 200 });
    expect(world.plugin.launches).toHaveLength(1);
  });

  test("a fresh launch is made although there is a session in a cookie", async () => {
    const world = await pageWorld(browser(), { plugin: { cookie: true } });
    const { frame, page } = await world.launch();
    await run(frame, "begin", { hostOrigins: [world.host.origin] });
    await page.reload();
    await run(frameOf(page), "begin", { hostOrigins: [world.host.origin] });
    expect(world.plugin.launches).toHaveLength(2);
  });
});
