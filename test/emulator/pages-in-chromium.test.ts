// The emulator's pages in a real browser: the host launches a plugin of another origin; forged messages get nothing.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { createEmulator, type Emulator } from "../../src/emulator/index.js";
import { describeInChromium } from "../support/chromium.js";
import { s256 } from "./pkce.js";
import { newSigningKey } from "./signing-key.js";

const jwks = { keys: [newSigningKey("key-1").publicJwk] };
const challenge = s256("v".repeat(43));

/** A plugin's page that posts what its test says, and shows what it is posted. */
const PLUGIN_PAGE = `<!doctype html><html lang="en"><title>Plugin</title><link rel="icon" href="data:,">
<h1>Dummy plugin</h1><pre id="got"></pre>
<script>
const got = [];
addEventListener("message", ({ origin, data }) => {
  got.push({ origin, ...data });
  document.getElementById("got").textContent = JSON.stringify(got);
});
const parameters = new URLSearchParams(location.search);
const init = (changes) => ({
  type: "plugin:pkce-init", challenge: "${challenge}", opaque_code: parameters.get("opaque_code"), ...changes,
});
if (!parameters.has("quiet")) parent.postMessage(init(), document.referrer);
</script></html>`;

async function serve(handler: RequestListener): Promise<{ port: number; close: () => void }> {
  const server = createServer(handler);
  server.listen(0);
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

describeInChromium("in Chromium", (browser) => {
  let emulator: Emulator;
  let url: string;
  let pageOrigin: string;
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    const page = await serve((_, response) => {
      response.setHeader("content-type", "text/html").end(PLUGIN_PAGE);
    });
    pageOrigin = `http://plugin.localhost:${page.port}`;
    emulator = createEmulator();
    const listening = await emulator.listen();
    url = listening.url;
    closing.push(page.close, listening.close);
    const plugin = { tenantId: "acme", type: "user_interface", jwks, scopes: ["devices:read"] } as const;
    const pages = [
      { clientId: "planner", name: "Planner", pageUrl: `${pageOrigin}/` },
      { clientId: "quiet", name: "Quiet", pageUrl: `${pageOrigin}/?quiet=1` },
    ];
    for (const page of pages) emulator.registerPlugin({ ...plugin, ...page });
    const ada = { tenantId: "acme", userId: "ada", firstname: "Ada", password: "engine" };
    emulator.registerOperator({ ...ada, capabilities: ["devices:read"] });
    emulator.registerApiClient({
      clientId: "portal",
      redirectUris: [`http://127.0.0.1:${page.port}/callback`],
    });
  });
  afterAll(() => Promise.all(closing.map((close) => close())));
  beforeEach(() => emulator.customerLog.clear());

  /** A page whose console has to stay free of errors. */
  async function newPage(
    options: Parameters<ReturnType<typeof browser>["newContext"]>[0] = {},
  ): Promise<Page> {
    const context: BrowserContext = await browser().newContext(options);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(error.message));
    onTestFinished(async () => {
      await context.close();
      expect(errors).toEqual([]);
    });
    return page;
  }

  async function hostPage(): Promise<Page> {
    const page = await newPage();
    await page.goto(`${url}/host/acme`);
    await page.getByLabel("Operator").selectOption("ada");
    await page.getByLabel("Password").fill("engine");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Plugins" }).waitFor();
    return page;
  }

  const launched = (page: Page) => page.getByText("Planner is launched.").waitFor();
  const got = async (page: Page): Promise<{ [name: string]: string }[]> =>
    JSON.parse((await page.frameLocator("#frame iframe").locator("#got").textContent()) || "[]");
  const rules = () => emulator.customerLog.entries().map(({ rule }) => rule);

  test("choosing a plugin launches it, and choosing it again launches it afresh", async () => {
    const page = await hostPage();
    await page.getByRole("button", { name: "Planner" }).click();
    await launched(page);
    const [first] = await got(page);
    expect(first).toEqual({
      origin: url,
      type: "host:auth-code",
      code: expect.any(String),
      state: expect.any(String),
      tenantId: "acme",
    });
    const source = new URL((await page.locator("#frame iframe").getAttribute("src")) ?? "");
    expect(source.searchParams.get("state")).toBe(first?.state);
    expect(await page.locator("#frame iframe").getAttribute("sandbox")).toBe(
      "allow-scripts allow-same-origin allow-forms",
    );
    const before = emulator.journal.entries({ operation: "authorizeLaunch", status: 200 }).length;
    await page.getByRole("button", { name: "Planner" }).click();
    await expect
      .poll(() => emulator.journal.entries({ operation: "authorizeLaunch", status: 200 }).length)
      .toBe(before + 1);
    await launched(page);
    const [second] = await got(page);
    expect(second?.code).not.toBe(first?.code);
    expect(second?.state).not.toBe(first?.state);
  });

  test("the keyboard alone signs in and launches", async () => {
    const page = await newPage();
    await page.goto(`${url}/host/acme`);
    // Where the focus is before any key is pressed.
    await page.waitForFunction(() => document.activeElement?.id === "userId");
    await page.keyboard.press("Tab");
    await page.keyboard.type("engine");
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Plugins" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await launched(page);
  });

  test("a message from another window, another origin or of another shape is not answered", async () => {
    const page = await hostPage();
    await page.getByRole("button", { name: "Quiet" }).click();
    const plugin = page.frameLocator("#frame iframe");
    await plugin.getByRole("heading").waitFor();
    const authorisations = () => emulator.journal.entries({ operation: "authorizeLaunch" }).length;
    const before = authorisations();
    const opaqueCode = new URL(
      (await page.locator("#frame iframe").getAttribute("src")) ?? "",
    ).searchParams.get("opaque_code");
    const forged = { type: "plugin:pkce-init", challenge, opaque_code: opaqueCode };
    // From the host's own window, and from a sibling iframe of the plugin's origin.
    await page.evaluate((message) => postMessage(message, "*"), forged);
    const sibling = await page.evaluateHandle((src) => {
      const frame = document.createElement("iframe");
      frame.src = src;
      document.body.append(frame);
      return new Promise<HTMLIFrameElement>((resolve) =>
        frame.addEventListener("load", () => resolve(frame)),
      );
    }, `${pageOrigin}/?quiet=1`);
    const evil = await sibling.contentFrame();
    await evil?.evaluate((message) => parent.postMessage(message, "*"), forged);
    // From the right window, but of another shape.
    const frame = page.frames().find((candidate) => candidate.url().includes("opaque_code"));
    for (const message of [null, "plugin:pkce-init", { type: "plugin:other" }, [], 1]) {
      await frame?.evaluate((data) => parent.postMessage(data, "*"), message);
    }
    // The right one afterwards is answered, and alone.
    await frame?.evaluate((data) => parent.postMessage(data, "*"), forged);
    await page.getByText("Quiet is launched.").waitFor();
    expect(authorisations()).toBe(before + 1);
    expect(await got(page)).toHaveLength(1);
    expect(await evil?.locator("#got").textContent()).toBe("");
    expect(rules()).toEqual([]);
  });

  test("a page of another origin in the launched window gets no code", async () => {
    const page = await hostPage();
    await page.getByRole("button", { name: "Quiet" }).click();
    await page.frameLocator("#frame iframe").getByRole("heading").waitFor();
    const frame = page.frames().find((candidate) => candidate.url().includes("opaque_code"));
    const before = emulator.journal.entries({ operation: "authorizeLaunch" }).length;
    // The same page by another name: another origin, in the same window, knowing the opaque_code.
    await frame?.goto(frame.url().replace("plugin.localhost", "evil.localhost"));
    const opaqueCode = new URL(frame?.url() ?? "").searchParams.get("opaque_code");
    const forged = { type: "plugin:pkce-init", challenge, opaque_code: opaqueCode };
    await frame?.evaluate((message) => parent.postMessage(message, "*"), forged);
    expect(await frame?.locator("#got").textContent()).toBe("");
    // An honest launch beside it succeeds; by then the forged message would have been answered.
    await page.getByRole("button", { name: "Planner" }).click();
    await launched(page);
    expect(emulator.journal.entries({ operation: "authorizeLaunch" })).toHaveLength(before + 1);
  });

  test("login and consent work without JavaScript", async () => {
    const page = await newPage({ javaScriptEnabled: false, viewport: { width: 390, height: 780 } });
    const redirectUri = `http://127.0.0.1:${new URL(pageOrigin).port}/callback`;
    const query = new URLSearchParams({
      response_type: "code",
      client_id: "portal",
      redirect_uri: redirectUri,
      state: "s",
      code_challenge: challenge,
      code_challenge_method: "S256",
    });
    await page.goto(`${url}/v1/auth/authorize?${query}`);
    await page.getByLabel("User id").fill("ada");
    await page.getByLabel("Password").fill("engine");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Allow portal?" }).waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL(`${redirectUri}?*`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get("state"), searchParams.get("code")?.length]).toEqual(["s", 43]);
    // A second login is for the session that the browser now has; this person refuses.
    await page.goto(`${url}/v1/auth/authorize?${query}`);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.waitForURL(`${redirectUri}?*`);
    expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
  });

  const widths = [320, 390, 1280];
  test.each(widths)("no page is wider than a window of %d pixels", async (width) => {
    const page = await newPage({ viewport: { width, height: 780 } });
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await page.goto(`${url}/host/acme`);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByLabel("Password").fill("engine");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Planner" }).click();
    await launched(page);
    expect(await overflow()).toBeLessThanOrEqual(0);
  });
});
