// The emulator's pages in a real browser: a launch from another origin, forged messages, and the
// live page at /_emulator.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { EmulatorSeed } from "../../src/emulator/index.js";
import { describeInChromium } from "../support/chromium.js";
import { ada, LaunchedPlugin, pluginKey } from "./deployment.js";
import { PAGES } from "./form-browser.js";
import { s256 } from "./signing-key.js";

const codeVerifier = "v".repeat(43);
const codeChallenge = s256(codeVerifier);

/**
 * A plugin's page. It asks for a code when it loads, unless its URL says quiet, and shows the
 * messages that it gets.
 */
const PLUGIN_PAGE = `<!doctype html><html lang="en"><title>Plugin</title><link rel="icon" href="data:,">
<h1>Test plugin</h1><pre id="got"></pre>
<script>
const got = [];
addEventListener("message", ({ origin, data }) => {
  got.push({ origin, ...data });
  document.getElementById("got").textContent = JSON.stringify(got);
});
const parameters = new URLSearchParams(location.search);
const message = { type: "plugin:pkce-init", challenge: "${codeChallenge}", opaque_code: parameters.get("opaque_code") };
if (!parameters.has("quiet")) parent.postMessage(message, document.referrer);
</script></html>`;

describeInChromium("in Chromium", (browser) => {
  let plugin: LaunchedPlugin;
  let url: string;
  let pageOrigin: string;
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
    const { port } = server.address() as AddressInfo;
    pageOrigin = `http://plugin.localhost:${port}`;
    const registered = { tenantId: "acme", jwks: { keys: [pluginKey.publicJwk] } };
    const page = { ...registered, type: "user_interface", scopes: ["devices:read"] } as const;
    seed = {
      plugins: [
        { ...page, clientId: "reporter", name: "Planner", pageUrl: `${pageOrigin}/` },
        { ...page, clientId: "quiet", name: "Quiet", pageUrl: `${pageOrigin}/?quiet=1` },
        { ...registered, clientId: "nightly", type: "service", name: "A rather long name" },
      ],
      operators: [{ ...ada, password: "engine" }],
      serviceAccounts: [{ tenantId: "acme", clientId: "worker", clientSecret: "never shown" }],
      apiClients: [{ clientId: "portal", redirectUris: [`http://127.0.0.1:${port}/callback?a=b`] }],
    };
    plugin = new LaunchedPlugin({ now: Date.now });
    const listening = await plugin.emulator.listen();
    url = listening.url;
    closing.push(listening.close);
  });
  afterAll(() => Promise.all(closing.map((close) => close())));
  beforeEach(() => plugin.emulator.reset({ seed }));

  /** Opens a page whose console must stay free of errors. */
  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser().newContext(options);
    const errors: string[] = [];
    context.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    context.on("weberror", (error) => errors.push(error.error().message));
    onTestFinished(async () => {
      await context.close();
      expect(errors).toEqual([]);
    });
    const page = await context.newPage();
    await page.goto(url + path);
    return page;
  }

  async function signIn(page: Page): Promise<Page> {
    await page.getByLabel("Operator").selectOption("ada");
    await page.getByLabel("Password").fill("engine");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Plugins" }).waitFor();
    return page;
  }

  const launched = (page: Page) => page.getByText("Planner is launched.").waitFor();
  const got = async (page: Page): Promise<{ [name: string]: string }[]> =>
    JSON.parse((await page.frameLocator("#frame iframe").locator("#got").textContent()) || "[]");
  const authorizations = () =>
    plugin.emulator.journal.entries({ operation: "authorizeLaunch" }).length;
  const panel = (page: Page, name: string) => page.getByRole("region", { name });
  const overflow = (page: Page) =>
    page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

  test("choosing a plugin launches it in a sandboxed iframe, and choosing it again launches it anew", async () => {
    const page = await signIn(await open("/host/acme"));
    await page.getByRole("button", { name: "Planner" }).click();
    await launched(page);
    const [first] = await got(page);
    const text = expect.any(String);
    const message = { type: "host:auth-code", code: text, state: text, tenantId: "acme" };
    expect(first).toEqual({ origin: url, ...message });
    const iframe = page.locator("#frame iframe");
    const source = new URL((await iframe.getAttribute("src")) ?? "");
    expect(source.searchParams.get("state")).toBe(first?.state);
    expect(await iframe.getAttribute("sandbox")).toBe(
      "allow-scripts allow-same-origin allow-forms",
    );
    await page.getByRole("button", { name: "Planner" }).click();
    await expect.poll(authorizations).toBe(2);
    await launched(page);
    const [second] = await got(page);
    expect(second?.code).not.toBe(first?.code);
    expect(second?.state).not.toBe(first?.state);
  });

  test("the fault duplicate-auth-code makes the host post the same message twice", async () => {
    const page = await signIn(await open("/host/acme"));
    plugin.emulator.faults.add({ name: "duplicate-auth-code" });
    await page.getByRole("button", { name: "Planner" }).click();
    await expect.poll(() => got(page)).toHaveLength(2);
    const [first, second] = await got(page);
    expect(second).toEqual(first);
    expect(first).not.toHaveProperty("posts");
  });

  test("the host does not answer a message from another window, from another origin, or of another shape", async () => {
    const page = await signIn(await open("/host/acme"));
    await page.getByRole("button", { name: "Quiet" }).click();
    await page.frameLocator("#frame iframe").getByRole("heading").waitFor();
    const frame = () => page.frames().find((candidate) => candidate.url().includes("opaque_code"));
    const opaque_code = new URL(frame()?.url() ?? "").searchParams.get("opaque_code");
    const forged = { type: "plugin:pkce-init", challenge: codeChallenge, opaque_code };
    // From the host's own window, and from a sibling iframe of the plugin's origin.
    await page.evaluate((message) => postMessage(message, "*"), forged);
    const sibling = await page.evaluateHandle((src) => {
      const iframe = document.createElement("iframe");
      iframe.src = src;
      document.body.append(iframe);
      return new Promise<HTMLIFrameElement>((resolve) =>
        iframe.addEventListener("load", () => resolve(iframe)),
      );
    }, `${pageOrigin}/?quiet=1`);
    const evil = await sibling.contentFrame();
    await evil?.evaluate((message) => parent.postMessage(message, "*"), forged);
    // From the right window, but in another shape.
    for (const message of [null, "plugin:pkce-init", { type: "plugin:other" }, [], 1]) {
      await frame()?.evaluate((data) => parent.postMessage(data, "*"), message);
    }
    // The genuine message that follows is answered, and only that one.
    await frame()?.evaluate((data) => parent.postMessage(data, "*"), forged);
    await page.getByText("Quiet is launched.").waitFor();
    expect(authorizations()).toBe(1);
    expect(await got(page)).toHaveLength(1);
    expect(await evil?.locator("#got").textContent()).toBe("");
    expect(plugin.emulator.customerLog.entries()).toEqual([]);
    // The same page under another host name has another origin, but the same window, and knows the
    // opaque_code.
    await frame()?.goto((frame()?.url() ?? "").replace("plugin.localhost", "evil.localhost"));
    await frame()?.evaluate((message) => parent.postMessage(message, "*"), forged);
    expect(await frame()?.locator("#got").textContent()).toBe("");
    // Once another launch has succeeded, the forged message would have been answered.
    await page.getByRole("button", { name: "Planner" }).click();
    await launched(page);
    expect(authorizations()).toBe(2);
  });

  test("the keyboard alone reaches a plugin and disables it", async () => {
    const page = await open("/_emulator");
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
    const tabTo = async (wanted: string) => {
      for (let presses = 0; presses < 40 && (await focused()) !== wanted; presses += 1) {
        await page.keyboard.press("Tab");
        const outline = await page.evaluate(
          () => getComputedStyle(document.activeElement ?? document.body).outlineStyle,
        );
        expect(outline).toBe("solid");
      }
      expect(await focused()).toBe(wanted);
    };
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the page");
    await tabTo("Plugins");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Plugins" }).waitFor();
    // The heading can be there before the stylesheet, without which the browser draws its own
    // outline.
    await page.waitForLoadState();
    await tabTo("Disable");
    await page.keyboard.press("Enter");
    await page.getByText("Done.").waitFor();
    expect(await panel(page, "Planner").innerText()).toContain("disabled");
  });

  test("a refresh of the live parts keeps the focus, and can be paused", async () => {
    plugin.emulator.faults.add({ name: "rate-limited", count: 3 });
    const page = await open("/_emulator/faults");
    const remove = page.getByRole("button", { name: "Remove rate-limited, fault-1" });
    await remove.focus();
    await plugin.requestToken();
    await page.waitForResponse(/live\/faults/);
    await page.waitForResponse(/live\/faults/);
    expect(await remove.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.getByText("fired 0").waitFor();
    // From now on the test controls the page's timers.
    await page.clock.install();
    await page.reload();
    await page.getByText("fired 1").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused").waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await plugin.requestToken();
    await page.clock.runFor(10_000);
    expect(asked).toEqual([]);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.clock.runFor(2000);
    await page.getByText("fired 2").waitFor();
  });

  test.each([320, 1280])("no page is wider than %d pixels", async (width) => {
    const code = plugin.launchedCode();
    await plugin.exchange(code);
    await plugin.exchange(code);
    await plugin.requestToken({ claims: { aud: `https://${"a".repeat(150)}.example/` } });
    const body = "x".repeat(300);
    plugin.emulator.faults.add({ name: "status", status: 503, body, at: "resource" });
    plugin.emulator.rules.enforce("assertion.replay", false);
    const viewport = { width, height: 800 };
    const page = await open("/host/acme", { viewport });
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    await (await signIn(page)).getByRole("button", { name: "Planner" }).click();
    await launched(page);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
    for (const path of PAGES) {
      await page.goto(`${url}/_emulator${path}`);
      await page.evaluate(() => {
        for (const details of document.querySelectorAll("details")) details.open = true;
      });
      expect(await overflow(page), path).toBeLessThanOrEqual(0);
    }
  });
});
