// The README's whole plugin and its test, as a reader who copies them has them: each runs as it stands.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageBundle } from "../page/page-bundle.js";
import { describeInChromium } from "../support/chromium.js";
import { blocks, fromSources, root } from "./readme-blocks.js";

const [, plugin = "", testOfIt = ""] = blocks("js");
/** The page's script is no source: it lies where no tool looks. */
const folder = mkdtempSync(join(tmpdir(), "whole-plugin-"));
const at = (name: string) => join(root, "test/readme", name);
const files = {
  plugin: at("plugin.tmp.ts"),
  test: at("plugin-test.tmp.ts"),
  page: join(folder, "page.js"),
};
afterAll(() => {
  for (const file of [...Object.values(files), folder]) rmSync(file, { force: true, recursive: true });
});

function start(file: string): ChildProcess {
  return spawn(process.execPath, ["--import", "tsx", file], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
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

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("its test passes, and fails for an operator who may not see the devices", async () => {
  writeFileSync(files.test, fromSources(testOfIt));
  expect(await ended(start(files.test))).toMatchObject({ code: 0 });
  writeFileSync(
    files.test,
    fromSources(testOfIt.replace('capabilities: ["devices:read"]', "capabilities: []")),
  );
  expect(await ended(start(files.test))).toMatchObject({ code: 1 });
});

describeInChromium("the whole plugin", (browser) => {
  let child: ChildProcess;
  let hostUrl = "";
  let pageUrl = "";
  const faults: string[] = [];

  beforeAll(async () => {
    const ports = [await freePort("127.0.0.1"), await freePort("localhost")];
    writeFileSync(files.page, await pageBundle());
    const code = fromSources(plugin)
      .replaceAll("4100", String(ports[0]))
      .replaceAll("4101", String(ports[1]))
      .replace('import.meta.resolve("bivariant/page")', JSON.stringify(pathToFileURL(files.page).href));
    writeFileSync(files.plugin, code);
    child = start(files.plugin);
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
  });

  async function open(url: string): Promise<Page> {
    const page = await (await browser().newContext()).newPage();
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(url);
    return page;
  }

  /** The devices of the emulator: a sentence of an error has no comma. */
  const severalNames = /,/;

  test("is launched from its host's sidebar and shows the devices; a reload of its frame says what to do", async () => {
    const page = await open(hostUrl);
    await page.getByLabel("Operator").selectOption("ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Planner" }).click();
    const told = page.frameLocator("iframe").getByRole("status");
    await told.filter({ hasText: severalNames }).waitFor();
    await page.frames().at(-1)?.evaluate("location.reload()");
    await told.filter({ hasText: "opaque_code_missing" }).waitFor();
    expect(faults).toEqual([]);
  });

  test("opened on its own logs in and shows the same", async () => {
    const page = await open(pageUrl);
    await page.getByLabel("User id").fill("ada");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("status").filter({ hasText: severalNames }).waitFor();
    expect(new URL(page.url()).origin).toBe(new URL(pageUrl).origin);
    expect(faults).toEqual([]);
  });
});
