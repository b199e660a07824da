// The attack of hosts-of-one-site.test.ts in a browser.
import { expect, test } from "vitest";
import { pageBundle } from "../page/page-bundle.js";
import { frameOf, launched, run, type World } from "../page/page-world.js";
import { describeInChromium } from "../support/chromium.js";

describeInChromium("a host that is allowed too, at another origin of the same site,", (browser) => {
  /**
   * Frames the plugin in the page of the other host, and returns the result of `startSession`
   * there.
   */
  async function startAtOther(world: World, markup: string): Promise<unknown> {
    // `host.localhost` and `b.host.localhost` are one site, `plugin.localhost` is another.
    const other = world.evil.origin.replace("evil.", "b.host.");
    world.evilHtml = `<!doctype html><link rel="icon" href="data:,">${markup}`;
    const page = await world.context.newPage();
    await page.goto(other);
    const frame = frameOf(page);
    await frame.waitForFunction("window.begin");
    return run(frame, "begin", { hostOrigins: [world.host.origin, other] });
  }

  test("does not get the plugin with the session of the first, which continues after a reload", async () => {
    const { world, frame, page } = await launched(browser(), { cookie: true });
    const src = `${world.plugin.origin}/`;
    const outcome = await startAtOther(world, `<iframe name="plugin" src="${src}"></iframe>`);
    // The browser sent the cookie of the first.
    const [asked] = world.plugin.requests.filter(({ url }) => url.pathname === "/auth/session");
    expect(asked?.headers.cookie).toContain("bivariant-session=");
    expect(outcome).toMatchObject({ error: { code: "opaque_code_missing" } });

    expect(await run(frame, "call", "/api/devices")).toMatchObject({ status: 200 });
    await Promise.all([page.waitForEvent("framenavigated"), frame.evaluate("location.reload()")]);
    await frame.waitForFunction("window.begin");
    expect(await world.begin(frame)).toMatchObject({ session: { variant: "A" } });
  });

  test("does not pass for the first by a referrer, in a browser that does not name the embedding page", async () => {
    const { world } = await launched(browser(), {
      cookie: true,
      // Older versions of Firefox have no `ancestorOrigins`. In Chromium it cannot be removed.
      answer: async ({ pathname }) => {
        if (pathname !== "/page.js") return undefined;
        const script = (await pageBundle()).replaceAll("ancestorOrigins", "unsupported");
        return new Response(script, { headers: { "content-type": "text/javascript" } });
      },
      // A page of the first that leads on to the plugin by a script.
      script: `if (location.pathname === "/onward")
        location.href = new URL("/", document.querySelector("iframe").src);`,
    });
    const onward = `${world.host.origin}/onward`;
    const outcome = await startAtOther(world, `<iframe name="plugin" src="${onward}"></iframe>`);
    const started = world.plugin.requests.filter(({ url }) => url.pathname === "/auth/session");
    expect(started.map(({ body }) => JSON.parse(body))).toEqual([
      { login: null, hostOrigin: "undefined" },
    ]);
    expect(outcome).toMatchObject({ error: { code: "opaque_code_missing" } });
  });
});
