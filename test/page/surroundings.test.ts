// Where a page can find itself: whose frame, which sandbox, which connection, with which parameters.
import { expect, test } from "vitest";
import { describeInChromium } from "../support/chromium.js";
import { keptBy } from "./kept-by.js";
import { frameOf, pageWorld, run, type World } from "./page-world.js";

/** Nothing went to a backend, and no host was asked. */
function expectQuiet(world: World): void {
  expect(
    [...world.plugin.requests, ...world.host.requests].filter(({ method }) => method === "POST"),
  ).toEqual([]);
}

function launchUrl({ plugin, host }: World): string {
  return `${plugin.origin}/?opaque_code=${host.launch.opaqueCode}&amp;state=${host.launch.state}`;
}

describeInChromium("the surroundings of a page", (browser) => {
  test("a sandbox without allow-same-origin: opaque_origin, with what to change", async () => {
    const world = await pageWorld(browser(), { host: { attributes: 'sandbox="allow-scripts"' } });
    const { frame } = await world.launch();
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({
      error: { code: "opaque_origin", message: expect.stringContaining("allow-same-origin") },
    });
    expectQuiet(world);
  });

  test("the sandbox that a host should use: a session", async () => {
    const attributes = 'sandbox="allow-scripts allow-same-origin allow-forms"';
    const world = await pageWorld(browser(), { host: { attributes } });
    const { frame } = await world.launch();
    expect(await run(frame, "begin", { hostOrigins: [world.host.origin] })).toMatchObject({ session: {} });
  });

  test("an insecure context, without crypto.subtle: insecure_context", async () => {
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

  test("an embedding page that is not in hostOrigins: host_origin_unknown", async () => {
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

  test("the parent counts, not the top: an evil page inside the host is host_origin_unknown", async () => {
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

  test("a host that sends no referrer is known by ancestorOrigins, among several", async () => {
    const headers = { "referrer-policy": "no-referrer" };
    const world = await pageWorld(browser(), { host: { headers } });
    const { frame } = await world.launch();
    expect(await frame.evaluate("document.referrer")).toBe("");
    const outcome = await run(frame, "begin", { hostOrigins: ["https://a.example", world.host.origin] });
    expect(outcome).toMatchObject({ session: {} });
  });

  const browsers = [
    { name: "the referrer tells", hostOrigins: ["https://a.example"], outcome: { session: {} } },
    { name: "nothing tells, and one is allowed", policy: true, hostOrigins: [], outcome: { session: {} } },
    {
      name: "nothing tells, and several are allowed",
      policy: true,
      hostOrigins: ["https://a.example"],
      outcome: { error: { code: "host_origin_unknown" } },
    },
  ];
  test.each(browsers)(
    "a browser without ancestorOrigins: $name",
    async ({ policy, hostOrigins, outcome }) => {
      const headers = policy && { "referrer-policy": "no-referrer" };
      const world = await pageWorld(browser(), {
        host: { ...(headers && { headers }) },
        // The property itself cannot be taken away: the bundle reads another one.
        plugin: { bundle: (text) => text.replaceAll("ancestorOrigins", "noSuchOrigins") },
      });
      const { frame } = await world.launch();
      // Given twice, as lists made from a table of tenants are.
      const all = [...hostOrigins, world.host.origin, world.host.origin];
      expect(await run(frame, "begin", { hostOrigins: all })).toMatchObject(outcome);
    },
  );

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
  test.each(wrong)("$name: option_invalid, whatever embeds the page", async ({ options }) => {
    const world = await pageWorld(browser());
    const { frame } = await world.launch();
    expect(await run(frame, "begin", options)).toMatchObject({ error: { code: "option_invalid" } });
    expectQuiet(world);
  });

  test("no options at all: option_invalid", async () => {
    const world = await pageWorld(browser());
    const { frame } = await world.launch();
    expect(await frame.evaluate("startSession().catch(({ code }) => code)")).toBe("option_invalid");
  });

  const missing = [
    { name: "absent", src: "/" },
    { name: "empty", src: "/?opaque_code=&state=s" },
    { name: "of another name", src: "/?opaqueCode=x" },
  ];
  test.each(missing)(
    "opaque_code is $name: opaque_code_missing, and the host is not asked",
    async ({ src }) => {
      const world: World = await pageWorld(browser(), { host: { src: () => world.plugin.origin + src } });
      const { frame, page } = await world.launch();
      const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin] });
      expect(outcome).toMatchObject({ error: { code: "opaque_code_missing" } });
      expect(await page.evaluate("inits")).toEqual([]);
      expect(world.plugin.launches).toEqual([]);
    },
  );

  test("an opaque_code that the host does not know: host_silent, and nothing is sent", async () => {
    const src = (): string => `${world.plugin.origin}/?opaque_code=unknown`;
    const world: World = await pageWorld(browser(), { host: { src } });
    const { frame } = await world.launch();
    const outcome = await run(frame, "begin", { hostOrigins: [world.host.origin], timeoutMs: 300 });
    expect(outcome).toMatchObject({ error: { code: "host_silent" } });
    expect(world.plugin.launches).toEqual([]);
  });

  test("a launch that lost its frame: not_framed, without a login", async () => {
    const world = await pageWorld(browser());
    const page = await world.context.newPage();
    await page.goto(`${world.plugin.origin}/?opaque_code=${world.host.launch.opaqueCode}`);
    const outcome = await run(page, "begin", { hostOrigins: [world.host.origin] });
    expect(outcome).toMatchObject({ error: { code: "not_framed" } });
    expectQuiet(world);
  });

  test("code, verifier, session and launch are in no storage, URL, referrer, history or global of the page", async () => {
    const world = await pageWorld(browser());
    const { frame, page } = await world.launch();
    await run(frame, "begin", { hostOrigins: [world.host.origin] });
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
    // The launch itself is in the address that the host opened, and in what the page loaded then.
    const afterwards = world.plugin.requests.filter(
      ({ method, url }) => method === "POST" || url.pathname === "/api/devices",
    );
    expect(afterwards.map(({ headers }) => headers.referer)).toEqual(
      afterwards.map(() => `${world.plugin.origin}/?lang=en`),
    );
    expect(await page.evaluate("JSON.stringify(inits)")).not.toContain(launch?.codeVerifier);
  });
});
