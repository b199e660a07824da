// The duplicated host:auth-code: told to whoever launches in-process, posted twice by the host's page.
import { expect, onTestFinished, test } from "vitest";
import type { FaultMatch } from "../../src/emulator/index.js";
import { runExample } from "../examples/plugin/run-example.js";
import { describeInChromium } from "../support/chromium.js";
import { FormBrowser } from "./form-browser.js";
import { LaunchedPlugin } from "./launched-plugin.js";
import { newPkce } from "./pkce.js";

const name = "duplicate-auth-code";

test("in-process the answer says how often it is posted; the code in it is good once", async () => {
  const plugin = new LaunchedPlugin();
  const handle = plugin.emulator.faults.add({ name });
  const twice = plugin.launchedCode();
  expect([twice.posts, handle.fired]).toEqual([2, 1]);
  expect(plugin.launchedCode()).not.toHaveProperty("posts");
  expect((await plugin.exchange(twice)).status).toBe(200);
  expect((await plugin.exchange(twice)).status).toBe(400);
  expect(plugin.lastRule()).toBe("code.unspent");
});

const matches: { name: string; match: FaultMatch; posts: number | undefined }[] = [
  { name: "its plugin", match: { clientId: "reporter" }, posts: 2 },
  { name: "its tenant", match: { tenantId: "acme", variant: "A" }, posts: 2 },
  { name: "its operation", match: { operation: "authorizeLaunch" }, posts: 2 },
  { name: "another plugin", match: { clientId: "planner" }, posts: undefined },
  { name: "another tenant", match: { tenantId: "globex" }, posts: undefined },
];
test.each(matches)("a launch is told apart by $name", ({ match, posts }) => {
  const plugin = new LaunchedPlugin();
  plugin.emulator.faults.add({ name, match });
  expect(plugin.launchedCode().posts).toBe(posts);
});

test("a launch that is refused uses no fault up", () => {
  const plugin = new LaunchedPlugin();
  const handle = plugin.emulator.faults.add({ name });
  const launch = plugin.emulator.launch({ tenantId: "acme", clientId: "reporter", userId: "ada" });
  expect(() => launch.authorize({ codeChallenge: "none" })).toThrow();
  expect(handle.fired).toBe(0);
  expect(launch.authorize(newPkce()).posts).toBe(2);
});

test("the host's page is told, and the journal says so", async () => {
  const plugin = new LaunchedPlugin();
  const browser = await new FormBrowser(plugin.emulator).open("/host/acme");
  await browser.submit({ userId: "ada", password: "" });
  await browser.follow();
  const formToken = /data-form-token="([^"]*)"/.exec(browser.html)?.[1] ?? "";
  const ask = async (path: string, body: object) => {
    const headers = { "content-type": "application/json", "x-form-token": formToken };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await browser.request(`/host/acme/${path}`, init)).json();
  };
  plugin.emulator.faults.add({ name });
  const { url } = await ask("launches", { clientId: "reporter" });
  const opaque_code = new URL(url).searchParams.get("opaque_code");
  const asked = { clientId: "reporter", opaque_code, challenge: newPkce().codeChallenge };
  expect(await ask("authorizations", asked)).toMatchObject({ posts: 2, tenantId: "acme" });
  expect(plugin.emulator.journal.last()).toMatchObject({
    operation: "authorizeLaunch",
    fault: name,
    status: 200,
  });
});

describeInChromium("in Chromium", (browser) => {
  test("the host posts it twice, and our page exchanges it once", async () => {
    const example = await runExample();
    onTestFinished(example.close);
    const { emulator } = example;
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const messages: unknown[] = [];
    await page.exposeFunction("tellTest", (data: unknown) => void messages.push(data));
    // In every frame, before the page's own scripts.
    await page.addInitScript(() => {
      addEventListener("message", ({ data }) => {
        if (data?.type === "host:auth-code")
          (globalThis as unknown as { tellTest(data: unknown): void }).tellTest(data);
      });
    });
    await page.goto(example.hostUrl);
    await page.getByLabel("Operator").selectOption("ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    emulator.faults.add({ name });
    await page.getByRole("button", { name: "Planner" }).click();
    await page.frameLocator("iframe").getByText("3 devices.").waitFor();
    await expect.poll(() => messages).toHaveLength(2);
    expect(messages[0]).toEqual(messages[1]);
    expect(messages[0]).not.toHaveProperty("posts");
    expect(emulator.journal.tokenRequests()).toMatchObject([{ status: 200, grant: "authorization_code" }]);
  });
});
