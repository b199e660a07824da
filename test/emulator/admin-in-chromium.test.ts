// The page at /_emulator as a person uses it: live, by mouse and by keyboard, on a phone and on a desk, with and without scripts.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { EmulatorSeed } from "../../src/emulator/index.js";
import { describeInChromium } from "../support/chromium.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { s256 } from "./pkce.js";
import { pluginKey } from "./plugin-client.js";

const codeVerifier = "v".repeat(43);
const PATHS = ["", "/log", "/flow", "/plugins", "/clients", "/operators", "/faults", "/rules", "/state"];

/** A plugin's page: asks for a code as soon as it is loaded, and shows what it is answered. */
const PLUGIN_PAGE = `<!doctype html><html lang="en"><title>Plugin</title><link rel="icon" href="data:,"><pre id="got"></pre>
<script>
addEventListener("message", ({ data }) => { document.getElementById("got").textContent = JSON.stringify(data); });
const opaque_code = new URLSearchParams(location.search).get("opaque_code");
parent.postMessage({ type: "plugin:pkce-init", challenge: "${s256(codeVerifier)}", opaque_code }, document.referrer);
</script></html>`;

describeInChromium("in Chromium", (browser) => {
  let plugin: LaunchedPlugin;
  let url: string;
  let seed: EmulatorSeed;
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    const server = createServer((_, response) => {
      response.setHeader("content-type", "text/html").end(PLUGIN_PAGE);
    });
    server.listen(0);
    await once(server, "listening");
    closing.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    const pageUrl = `http://plugin.localhost:${(server.address() as AddressInfo).port}/`;
    const registered = { tenantId: "acme", jwks: { keys: [pluginKey.publicJwk] } };
    seed = {
      plugins: [
        {
          ...registered,
          clientId: "reporter",
          type: "user_interface",
          name: "Planner",
          pageUrl,
          scopes: ["devices:read"],
        },
        {
          ...registered,
          clientId: "nightly",
          type: "service",
          name: "Nightly reporter with a long name",
          devices: ["device-1"],
        },
      ],
      operators: [{ tenantId: "acme", userId: "ada", firstname: "Ada", capabilities: ["devices:read"] }],
      serviceAccounts: [{ tenantId: "acme", clientId: "worker", clientSecret: "never shown" }],
      apiClients: [
        { clientId: "portal", redirectUris: ["https://portal.example/a/rather/long/callback?with=a-query"] },
      ],
    };
    plugin = new LaunchedPlugin({ now: Date.now });
    const listening = await plugin.emulator.listen();
    url = listening.url;
    closing.push(listening.close);
  });
  afterAll(() => Promise.all(closing.map((close) => close())));
  beforeEach(() => plugin.emulator.reset({ seed }));

  /** A page whose console has to stay free of errors, but for refusals that the test asks for. */
  async function open(path: string, options: BrowserContextOptions = {}, refused?: 400 | 403): Promise<Page> {
    const context = await browser().newContext(options);
    const errors: string[] = [];
    context.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    const isAsked = (text: string) => text.includes(`responded with a status of ${refused}`);
    context.on("weberror", (error) => errors.push(error.error().message));
    onTestFinished(async () => {
      await context.close();
      expect(errors.filter((text) => !isAsked(text))).toEqual([]);
    });
    const page = await context.newPage();
    await page.goto(`${url}/_emulator${path}`);
    return page;
  }

  /** A second window of the same person. */
  async function beside(page: Page, path: string): Promise<Page> {
    const other = await page.context().newPage();
    await other.goto(url + path);
    return other;
  }

  const panel = (page: Page, name: string) => page.getByRole("region", { name });
  const requests = (page: Page) => page.getByRole("complementary", { name: "Requests" });

  test("a scope that is taken away is a 403 in the log, which nobody reloads", async () => {
    const page = await open("/plugins");
    const log = await beside(page, "/_emulator/log");
    const token = await plugin.launchedToken();
    await log.getByText("requestToken").waitFor();
    const loads: string[] = [];
    log.on("framenavigated", (frame) => loads.push(frame.url()));
    expect((await plugin.call(token)).status).toBe(200);
    const planner = panel(page, "Planner");
    await planner.getByLabel("devices:read").uncheck();
    await planner.getByRole("button", { name: "Save scopes" }).click();
    await planner.getByText("Done.").waitFor();
    expect((await plugin.call(token)).status).toBe(403);
    const refusal = log.getByRole("listitem").filter({ hasText: "route.narrowed" });
    await refusal.getByText("devices:read still granted").waitFor();
    expect(await refusal.innerText()).toMatch(/403.*acme · reporter.*GET \/api\/v1\/acme\/devices 403/s);
    expect(await log.getByRole("row").filter({ hasText: "route.narrowed" }).count()).toBe(1);
    // Beside the form too.
    await requests(page).getByText("route.narrowed").waitFor();
    expect(loads).toEqual([]);
  });

  test("a launch in the host application is drawn while it happens, to the token", async () => {
    const page = await open("/flow");
    await page.getByText("Nobody has launched").waitFor();
    const overview = await beside(page, "/_emulator");
    await overview.getByRole("link", { name: "Host application" }).click();
    await overview.getByRole("button", { name: "Sign in" }).click();
    await overview.getByRole("button", { name: "Planner" }).click();
    const got = overview.frameLocator("#frame iframe").locator("#got");
    await expect.poll(async () => (await got.textContent()) ?? "").toContain("host:auth-code");
    const { code, state, tenantId } = JSON.parse((await got.textContent()) ?? "{}") as Record<string, string>;
    const names = () => page.locator(".step h2").allTextContents();
    const launched = [
      "Host page loaded",
      "Plugin chosen",
      "Plugin launched",
      "plugin:pkce-init",
      "host:auth-code",
    ];
    await expect.poll(names).toEqual(launched);
    const codes = { code: code ?? "", state: state ?? "", tenantId: tenantId ?? "" };
    const pkce = { codeVerifier, codeChallenge: s256(codeVerifier) };
    expect((await plugin.exchange({ ...codes, ...pkce })).status).toBe(200);
    await expect.poll(names).toEqual([...launched, "Code exchange", "Token response, 200"]);
    // Each arrow lies between the lanes of its two parties, whatever the width.
    const lanes = await page.locator(".lanes span").evaluateAll((all) =>
      all.map((lane) => {
        const { left, width } = lane.getBoundingClientRect();
        return Math.round(left + width / 2);
      }),
    );
    const ends = await page.locator(".arrow").evaluateAll((all) =>
      all.map((arrow) => {
        const { left, right } = arrow.getBoundingClientRect();
        return [Math.round(left), Math.round(right)];
      }),
    );
    const [person = 0, host = 0, backend = 0, endpoint = 0] = lanes;
    const near = (at: number) => expect.closeTo(at, -0.5);
    expect(ends).toEqual([
      ...Array.from({ length: 5 }, () => [near(person), near(host)]),
      ...Array.from({ length: 2 }, () => [near(backend), near(endpoint)]),
    ]);
  });

  test("a fault is armed, strikes, and is seen to have struck", async () => {
    const page = await open("/faults");
    await page.getByRole("link", { name: "rate-limited" }).click();
    await page.getByLabel("Retry-After").fill("7");
    await page.getByLabel("How many requests").fill("2");
    await page.getByLabel("Tenant").fill("acme");
    await page.getByRole("button", { name: "Arm it" }).click();
    await page.getByText("fired 0, 2 left").waitFor();
    const response = await plugin.requestToken();
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    await page.getByText("fired 1, 1 left").waitFor();
    await requests(page).getByText("fault rate-limited").waitFor();
    await page.getByRole("button", { name: "Remove rate-limited, fault-1" }).click();
    await page.getByText("None: everything goes as it should.").waitFor();
    expect(plugin.emulator.faults.list()).toEqual([]);
  });

  test("the clock is frozen and advanced: a code is too old from one second to the next", async () => {
    const page = await open("");
    await page.getByRole("button", { name: "Freeze" }).click();
    await page.getByText("frozen").waitFor();
    const { clock } = plugin.emulator;
    const [launched, late] = [plugin.launchedCode(), plugin.launchedCode()];
    const before = clock.now();
    await page.getByLabel("Advance by").fill("2");
    await page.getByLabel("Unit").selectOption("minutes");
    await page.getByRole("button", { name: "Advance" }).click();
    await page
      .getByText(new Date(before + 120_000).toISOString().slice(11, 23))
      .first()
      .waitFor();
    expect(clock.now()).toBe(before + 120_000);
    expect((await plugin.exchange(launched)).status).toBe(200);
    await page.getByLabel("Advance by").fill("1");
    await page.getByRole("button", { name: "Advance" }).click();
    await page.getByText("Done.").waitFor();
    expect((await plugin.exchange(late)).status).toBe(400);
    await requests(page).getByText("code.lifetime").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("running").waitFor();
  });

  test("the keyboard alone gets to a plugin, disables it, and is told", async () => {
    const page = await open("");
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
    const tabTo = async (wanted: string) => {
      for (let presses = 0; presses < 40 && (await focused()) !== wanted; presses += 1) {
        await page.keyboard.press("Tab");
        // Whatever has the focus can be seen to have it.
        const outline = await page.evaluate(
          () => getComputedStyle(document.activeElement ?? document.body).outlineStyle,
        );
        expect(outline).toBe("solid");
      }
      expect(await focused()).toBe(wanted);
    };
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("To the page");
    await tabTo("Plugins");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Plugins" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await tabTo("Disable");
    await page.keyboard.press("Enter");
    await page.getByText("Done.").waitFor();
    expect(await panel(page, "Planner").innerText()).toContain("disabled");
  });

  test("what is updated does not take the focus away, and can be paused", async () => {
    const page = await open("/faults");
    plugin.emulator.faults.add({ name: "reset", count: "always", at: "resource" });
    plugin.emulator.faults.add({ name: "rate-limited", count: 3 });
    const remove = page.getByRole("button", { name: "Remove rate-limited, fault-2" });
    await remove.focus();
    await plugin.requestToken();
    await requests(page).getByText("fault rate-limited").waitFor();
    expect(await remove.evaluate((button) => button === document.activeElement)).toBe(true);
    // From here on the page's timers are the test's.
    await page.clock.install();
    await page.reload();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused").waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await plugin.emulator.fetch("/while-it-was-paused");
    await page.clock.runFor(10_000);
    expect(asked).toEqual([]);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.clock.runFor(2000);
    await requests(page).getByText("/while-it-was-paused").waitFor();
  });

  test("the rules are filtered while one types, and the filter stays when one is switched off", async () => {
    const page = await open("/rules");
    await page.getByLabel("Filter", { exact: true }).fill("REPLAY");
    const visible = page.locator(".rules > li:visible");
    await expect.poll(() => visible.count()).toBeLessThan(10);
    await page.getByRole("button", { name: "Switch off assertion.replay" }).click();
    await page.getByText("1 off").waitFor();
    expect(await visible.count()).toBeLessThan(10);
    expect(await page.getByLabel("Filter", { exact: true }).inputValue()).toBe("REPLAY");
    expect(plugin.emulator.rules.off()).toEqual(["assertion.replay"]);
  });

  test("without JavaScript everything but the updates works: scopes, a bad one, snapshot and restore", async () => {
    const page = await open("/plugins", { javaScriptEnabled: false }, 400);
    const planner = panel(page, "Planner");
    await planner.getByLabel("Others").fill("no scope");
    await planner.getByRole("button", { name: "Save scopes" }).click();
    await planner.getByText("scopes.1: must have the form").waitFor();
    expect(await planner.getByLabel("Others").inputValue()).toBe("no scope");
    await planner.getByLabel("Others").fill("schedules:write");
    await planner.getByRole("button", { name: "Save scopes" }).click();
    await planner.getByText("Done.").waitFor();
    await page.getByRole("link", { name: "State" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download a snapshot" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("emulator-snapshot.json");
    const snapshot = await readFile(await download.path());
    const reset = page.getByRole("button", { name: "Yes, reset everything" });
    expect(await reset.isVisible()).toBe(false);
    await page.getByText("Reset to the seed…").click();
    const isWide = () => JSON.stringify(plugin.emulator.snapshot().state).includes("schedules:write");
    expect(isWide()).toBe(true);
    await reset.click();
    await page.getByText("Done.").waitFor();
    expect(isWide()).toBe(false);
    await page
      .getByLabel("Snapshot")
      .setInputFiles({ name: "s.json", mimeType: "application/json", buffer: snapshot });
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("Done.").waitFor();
    expect(isWide()).toBe(true);
    await page
      .getByLabel("Snapshot")
      .setInputFiles({ name: "s.json", mimeType: "application/json", buffer: Buffer.from("{") });
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByText("snapshot: is not JSON").waitFor();
  });

  test.each([true, false])(
    "a plugin is unregistered in two steps, and its token is a 401; with scripts: %s",
    async (javaScriptEnabled) => {
      const page = await open("/plugins", { javaScriptEnabled });
      const token = await plugin.launchedToken();
      const planner = panel(page, "Planner");
      const second = planner.getByRole("button", { name: "Yes, unregister Planner" });
      expect(await second.isVisible()).toBe(false);
      await planner.getByText("Unregister…").click();
      expect((await plugin.call(token)).status).toBe(200);
      await second.click();
      await page.getByText("Done.").waitFor();
      expect(await planner.count()).toBe(0);
      expect(await panel(page, "Nightly").count()).toBe(1);
      expect((await plugin.call(token)).status).toBe(401);
    },
  );

  test("a service account's secret is replaced, by the keyboard, and shown to nobody", async () => {
    const page = await open("/clients");
    const worker = panel(page, "worker");
    await worker.getByText("Secret", { exact: true }).last().focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.type("another secret");
    await page.keyboard.press("Enter");
    await worker.getByText("Done.").waitFor();
    expect(await worker.getByLabel("New secret").inputValue()).toBe("");
    expect(await page.content()).not.toContain("another secret");
    const body = { grant_type: "client_credentials", client_id: "worker", client_secret: "another secret" };
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    expect((await plugin.emulator.fetch("/v1/auth/token", init)).status).toBe(200);
  });

  test("another site's page cannot have it do anything", async () => {
    const page = await open("/state", {}, 403);
    plugin.emulator.clock.freeze();
    const evil = await page.context().newPage();
    await evil.route("http://evil.localhost/**", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<!doctype html><title>Evil</title><link rel="icon" href="data:,">
<form id="f" method="post" action="${url}/_emulator/clock"><input name="do" value="resume"></form>`,
      }),
    );
    await evil.goto("http://evil.localhost/");
    await evil.evaluate(() => (document.getElementById("f") as HTMLFormElement).submit());
    await evil.getByText("origin_not_allowed").waitFor();
    expect(plugin.emulator.clock.frozen).toBe(true);
  });

  const looks = [
    { width: 320, scheme: "light" },
    { width: 390, scheme: "dark" },
    { width: 1280, scheme: "light" },
    { width: 1280, scheme: "dark" },
  ] as const;
  test.each(looks)(
    "no page is wider than $width pixels, and every text is readable in $scheme",
    async ({ width, scheme }) => {
      const launched = plugin.launchedCode();
      await plugin.exchange(launched);
      await plugin.exchange(launched);
      await plugin.requestToken({ claims: { aud: `https://${"a".repeat(150)}.example/` } });
      plugin.emulator.faults.add({
        name: "status",
        status: 503,
        body: "x".repeat(300),
        count: "always",
        at: "resource",
      });
      plugin.emulator.rules.enforce("assertion.replay", false);
      const page = await open("", { viewport: { width, height: 800 }, colorScheme: scheme });
      for (const path of PATHS) {
        await page.goto(`${url}/_emulator${path}`);
        await page.evaluate(() => {
          for (const details of document.querySelectorAll("details")) details.open = true;
        });
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
          path,
        ).toBeLessThanOrEqual(0);
        expect(await page.evaluate(lowestContrast), path).toBeGreaterThanOrEqual(4.5);
      }
    },
  );

  test("an emulator closes at once though somebody looks at its page", async () => {
    const other = new LaunchedPlugin();
    const listening = await other.emulator.listen();
    const context = await browser().newContext();
    const page = await context.newPage();
    await page.goto(`${listening.url}/_emulator/log`);
    await page.waitForResponse(/live\/log/);
    const begun = performance.now();
    await listening.close();
    expect(performance.now() - begun).toBeLessThan(1000);
    await page.getByText("The emulator does not answer").waitFor();
    await context.close();
  });
});

/** WCAG 2 success criterion 1.4.3: of all text on the page, over the nearest ground that is painted behind it. */
function lowestContrast(): number {
  const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r = 0, g = 0, b = 0]: number[]) => {
    const [red = 0, green = 0, blue = 0] = [r, g, b].map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const groundOf = (element: Element | null): number[] => {
    if (element === null) return [255, 255, 255];
    const color = channels(getComputedStyle(element).backgroundColor);
    return color[3] === 0 ? groundOf(element.parentElement) : color;
  };
  let lowest = 21;
  for (const element of document.querySelectorAll("body *")) {
    const isText = [...element.childNodes].some(
      (node) => node.nodeType === 3 && node.textContent?.trim() !== "",
    );
    if (!isText || element.checkVisibility?.() === false) continue;
    const pair = [channels(getComputedStyle(element).color), groundOf(element)]
      .map(luminance)
      .sort((a, b) => b - a);
    lowest = Math.min(lowest, ((pair[0] ?? 0) + 0.05) / ((pair[1] ?? 0) + 0.05));
  }
  return lowest;
}
