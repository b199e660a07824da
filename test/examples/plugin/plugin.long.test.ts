// The example plugin as a person uses it: in the host's iframe (Variant A) and on its own (Variant
// B), in Chromium.
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeInChromium } from "../../support/chromium.js";
import { recordingServer } from "../../support/recording-server.js";
import { type Example, runExample } from "./run-example.js";

const hourMs = 3_600_000;

/** Returns the storage of a frame. If third-party storage is blocked, reading it throws. */
const kept = `(() => {
  try { return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state]); }
  catch (error) { return error.name; }
})()`;

/** Everything a browser showed, stored or sent, to search it for secrets. */
class Record {
  readonly lines: string[] = [];
  readonly faults: string[] = [];

  watch(page: Page): void {
    page.on("console", (message) => {
      this.lines.push(message.text());
      if (message.type() === "error") this.faults.push(message.text());
    });
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("request", (request) => {
      this.lines.push(request.url(), request.postData() ?? "", JSON.stringify(request.headers()));
    });
    page.on("response", async (response) => {
      this.lines.push(JSON.stringify(response.headers()), await response.text().catch(() => ""));
    });
  }

  async shown(page: Page): Promise<void> {
    for (const frame of page.frames()) {
      this.lines.push(frame.url(), await frame.content());
      this.lines.push(await frame.evaluate<string>(kept));
    }
  }
}

describeInChromium("the example plugin", (browser) => {
  let example: Example;
  let context: BrowserContext;
  let page: Page;
  let record: Record;
  let offsetMs: number;
  /** The secrets that the backend and the deployment exchanged. */
  let secrets: Set<string>;

  const secretFetch = async (url: string, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    const body = String(init?.body ?? "");
    secrets.add(new URLSearchParams(body).get("client_assertion") ?? "");
    if (body.startsWith("{"))
      secrets.add((JSON.parse(body) as { code_verifier?: string }).code_verifier ?? "");
    const answer = await response
      .clone()
      .json()
      .catch(() => ({}));
    for (const name of ["access_token", "refresh_token"]) secrets.add(answer[name] ?? "");
    secrets.delete("");
    return response;
  };

  beforeEach(async () => {
    offsetMs = 0;
    secrets = new Set();
    example = await runExample({ clock: { now: () => Date.now() + offsetMs }, fetch: secretFetch });
    context = await browser().newContext({ viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    record = new Record();
    record.watch(page);
  });
  afterEach(async () => {
    await context.close();
    await example.close();
  });

  const expectNoSecret = async (atLeast: number) => {
    await record.shown(page);
    record.lines.push(
      JSON.stringify(await context.cookies()),
      JSON.stringify(await context.storageState()),
    );
    expect(secrets.size).toBeGreaterThanOrEqual(atLeast);
    const text = record.lines.join("\n");
    expect([...secrets].filter((secret) => text.includes(secret)).length).toBe(0);
  };

  const signIn = async (userId: string) => {
    await page.goto(example.hostUrl);
    await page.getByLabel("Operator").selectOption(userId);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  const launch = () => page.getByRole("button", { name: "Planner" }).click();
  const plugin = () => page.frameLocator("iframe");

  test("lists the devices for the operator who launched it, expires, and is launched again", async () => {
    await signIn("ada");
    await launch();
    await plugin().getByText("Ada Lovelace").waitFor();
    await plugin().getByText("3 devices.").waitFor();
    expect(await plugin().getByRole("listitem").count()).toBe(3);

    offsetMs += hourMs;
    await plugin().getByRole("button", { name: "Refresh" }).click();
    await plugin().getByText("Open the plugin again from the sidebar").waitFor();
    expect(example.emulator.journal.tokenRequests()).toHaveLength(1);

    await launch();
    await plugin().getByText("3 devices.").waitFor();
    expect(example.emulator.journal.tokenRequests({ status: 200 })).toHaveLength(2);
    // The browser itself logs only the 401 that ended the session.
    expect(record.faults.filter((fault) => !fault.includes("401"))).toEqual([]);
    await expectNoSecret(4);
  });

  const logIn = async () => {
    await page.goto(example.pluginUrl);
    await page.getByLabel("User id").fill("ada");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("3 devices.").waitFor();
  };

  test("opened on its own logs in, renews without a prompt, and logs out", async () => {
    await logIn();
    expect(new URL(page.url()).searchParams.has("code")).toBe(false);
    offsetMs += hourMs - 30_000;
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect
      .poll(() => example.emulator.journal.tokenRequests({ variant: "B", status: 200 }).length)
      .toBe(2);
    await page.getByText("3 devices.").waitFor();

    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are logged out.").waitFor();
    expect(record.faults).toEqual([]);
    await expectNoSecret(5);
  });

  test("is not shown in a frame of a page that is not its host", async () => {
    const headers = { "content-type": "text/html" };
    const body = `<!doctype html><iframe src="${example.pluginUrl}"></iframe>`;
    const { url } = await recordingServer(() => ({ status: 200, headers, body }));
    await page.goto(url);
    await expect.poll(() => record.faults.join()).toContain("frame-ancestors");
    expect(page.frames().map((frame) => frame.url())).not.toContain(example.pluginUrl);
  });

  test("fits on a phone and on a desk, and can be used with the keyboard alone", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn("ada");
    const button = page.getByRole("button", { name: "Planner" });
    for (let steps = 0; steps < 10; steps++) {
      if (await button.evaluate((element) => element === document.activeElement)) break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await plugin().getByText("3 devices.").waitFor();
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      for (const frame of page.frames()) expect(await frame.evaluate(overflow)).toBe(0);
    }
    expect(record.faults).toEqual([]);
  });
});
