// Others that post: siblings, openers, parents, at every moment; the honest launch beside them succeeds.
import type { Frame, Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeInChromium } from "../support/chromium.js";
import type { Launch } from "./fake-host.js";
import { frameOf, type Outcome, pageWorld, run, type World } from "./page-world.js";

/** JavaScript of an attacker who knows even state and tenant: posts without a pause, from now on. */
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

/** The forged messages really come in: before the launch begins, while the host thinks, and afterwards. */
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

describeInChromium("forged messages at every moment", (browser) => {
  test("of an evil sibling frame are nobody's", async () => {
    const world: World = await pageWorld(browser());
    world.evilHtml = `<script>${posting("parent.frames.plugin", world.host.launch)}</script>`;
    world.host.beside = `<iframe src="${world.evil.origin}"></iframe>`;
    const { page, frame } = await world.launch();
    expectHonest(world, await launchUnderFire(world, page, frame));
  });

  test("of a sibling at the host's own origin are nobody's: the window counts", async () => {
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

  test("of an evil frame inside the plugin's page are nobody's", async () => {
    const world = await pageWorld(browser());
    world.evilHtml = `<script>${posting("parent", world.host.launch)}</script>`;
    const { page, frame } = await world.launch();
    await frame.evaluate((origin) => {
      document.body.append(Object.assign(document.createElement("iframe"), { src: origin }));
    }, world.evil.origin);
    expectHonest(world, await launchUnderFire(world, page, frame));
  });

  test("of an evil opener of the host are nobody's", async () => {
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

  test("of an evil opener of the plugin itself: not_framed, and it is not listened to", async () => {
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

  test("of a parent that hides its origin: the page speaks to the host or to nobody, and listens to it alone", async () => {
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
