// The whole plugin of the pages, its test, and the documents of the README, run as printed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ConsoleMessage, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import { pageBundle } from "../page/page-bundle.js";
import { describeInChromium } from "../support/chromium.js";
import { freePort, recordingServer } from "../support/recording-server.js";
import { blockWith, bundleProgram, cacheFolder, compile, makeCacheFolder, root } from "./pages.js";

const plugin = blockWith("js", "createServer(toNodeHandler(answer))");
const testOfIt = blockWith("js", "a launch begins a session");

function start(file: string): ChildProcess {
  return spawn(process.execPath, [file], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, text };
}

test("the test of the whole plugin passes, and fails for an operator who may not see the devices", async () => {
  const folder = cacheFolder();
  const passing = await bundleProgram(testOfIt, folder, "passing.mjs");
  expect(await ended(start(passing))).toMatchObject({ code: 0 });
  const denied = testOfIt.replace('capabilities: ["devices:read"]', "capabilities: []");
  expect(await ended(start(await bundleProgram(denied, folder, "denied.mjs")))).toMatchObject({
    code: 1,
  });
});

test("the overlay of the README types the devices of its example", async () => {
  const folder = cacheFolder();
  const overlay = join(folder, "mine.yaml");
  writeFileSync(overlay, blockWith("yaml", "What we know of the service"));
  const out = join(folder, "generated");
  await generate({ overlays: [overlay], out });
  const example = blockWith("ts", "./generated/schemas.js");
  const named =
    `${example}\nif (result.ok) use(result.data.map(({ id, name }) => id.length + ` +
    `(name ?? "").length));\n`;
  expect(compile({ named }, out)).toEqual([]);
  expect(compile({ wrong: named.replace("id, name", "id, label: name") }, out)).toHaveLength(1);
});

describeInChromium("the whole plugin", (browser) => {
  let child: ChildProcess;
  let hostUrl = "";
  let pageUrl = "";
  const faults: string[] = [];
  let folder = "";

  beforeAll(async () => {
    folder = makeCacheFolder();
    const ports = [await freePort("127.0.0.1"), await freePort("localhost")];
    const script = join(folder, "page.js");
    writeFileSync(script, await pageBundle());
    const code = plugin
      .replaceAll("4100", String(ports[0]))
      .replaceAll("4101", String(ports[1]))
      .replace('import.meta.resolve("bivariant/page")', JSON.stringify(pathToFileURL(script).href));
    child = start(await bundleProgram(code, folder, "plugin.mjs"));
    let text = "";
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => faults.push(chunk));
    for await (const chunk of child.stdout ?? []) {
      text += String(chunk);
      if (text.includes("(B)")) break;
    }
    [hostUrl = "", pageUrl = ""] = [...text.matchAll(/http\S+/g)].map(([url]) => url);
  });
  afterAll(() => {
    child?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(url: string): Promise<Page> {
    const page = await (await browser().newContext()).newPage();
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(url);
    return page;
  }

  /** A list of devices has a comma; the sentences for an error have none. */
  const severalNames = /,/;

  test("is launched from its host's sidebar and shows the devices; after a reload of its frame it says what to do", async () => {
    const page = await open(hostUrl);
    await page.getByLabel("Operator").selectOption("ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Planner" }).click();
    const status = page.frameLocator("iframe").getByRole("status");
    await status.filter({ hasText: severalNames }).waitFor();
    const { headers } = await fetch(pageUrl);
    expect(headers.get("content-security-policy")).toBe(
      `frame-ancestors ${new URL(hostUrl).origin}`,
    );
    await page.frames().at(-1)?.evaluate("location.reload()");
    await status.filter({ hasText: "opaque_code_missing" }).waitFor();
    expect(faults).toEqual([]);
  });

  test("can be used on a phone, by the keyboard alone, and fits there and on a desk", async () => {
    const page = await open(hostUrl);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByLabel("Operator").selectOption("ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    const button = page.getByRole("button", { name: "Planner" });
    for (let steps = 0; steps < 10; steps++) {
      if (await button.evaluate((element) => element === document.activeElement)) break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    const status = page.frameLocator("iframe").getByRole("status");
    await status.filter({ hasText: severalNames }).waitFor();
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      for (const frame of page.frames()) expect(await frame.evaluate(overflow)).toBe(0);
    }
    expect(faults).toEqual([]);
  });

  test("is not shown in a frame of a page that is not its host", async () => {
    const headers = { "content-type": "text/html" };
    const body = `<!doctype html><iframe src="${pageUrl}"></iframe>`;
    const { url } = await recordingServer(() => ({ status: 200, headers, body }));
    const page = await (await browser().newContext()).newPage();
    const isRefusal = (message: ConsoleMessage) => message.text().includes("frame-ancestors");
    const refused = page.waitForEvent("console", isRefusal);
    await page.goto(url);
    await refused;
    expect(page.frames().map((frame) => frame.url())).not.toContain(pageUrl);
  });

  async function logInAt(url: string): Promise<void> {
    const page = await open(url);
    await page.getByLabel("User id").fill("ada");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("status").filter({ hasText: severalNames }).waitFor();
    expect(new URL(page.url()).origin).toBe(new URL(url).origin);
    expect(faults).toEqual([]);
  }

  test("opened on its own it logs in and shows the devices", () => logInAt(pageUrl));

  test.each(["express", "hono"])(
    "the whole app with %s logs in and shows the devices",
    async (framework) => {
      const port = await freePort("localhost");
      const script = JSON.stringify(pathToFileURL(join(folder, "page.js")).href);
      const code = blockWith("js", `// ${framework}.mjs`)
        .replaceAll("3000", String(port))
        .replace('import.meta.resolve("bivariant/page")', script);
      const app = start(await bundleProgram(code, folder, `${framework}.mjs`));
      onTestFinished(() => void app.kill("SIGKILL"));
      app.stderr?.setEncoding("utf8").on("data", (chunk: string) => faults.push(chunk));
      const [line] = (await once(app.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
      await logInAt(`${String(line).trim()}/`);
    },
  );
});
