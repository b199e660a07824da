// The flood of anonymous logins in full, and the memory that anonymous requests leave behind.
// It measures how long launches take on a disk beside others, so it runs by the machine's time.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { OWN, rig } from "../backend/rig.js";
import { TestBrowser } from "../backend/test-browser.js";
import { temporaryFolder } from "../stores/temporary-folder.js";
import { START } from "../support/clock.js";
import { collectGarbage } from "../support/wait.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Sends 25 anonymous logins a second to a backend with a file store, and launches beside them.
 * Returns the median times of an honest launch before and during that, in milliseconds, and what
 * the logins added to the store, in bytes.
 */
async function floodOfLogins(
  seconds: number,
): Promise<{ usualMs: number; floodedMs: number; grownBytes: number }> {
  const path = join(temporaryFolder(), "store");
  const { backend, launch } = rig({
    store: fileStore(path, { plaintext: true, clock: { now: () => START } }),
  });
  const size = () => {
    const files = readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
    return files.reduce(
      (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  };
  /** Launches five times a second, and returns how long each launch took. */
  const launches = async (count: number) => {
    const times: number[] = [];
    while (times.length < count) {
      await pause(200);
      const startedAt = performance.now();
      await launch();
      times.push(performance.now() - startedAt);
    }
    return times;
  };
  const median = (times: number[]) =>
    times.sort((one, other) => one - other)[times.length >> 1] ?? 0;
  await launch();
  const sizes = [size()];
  const before = await launches(3 * seconds);
  sizes.push(size());
  let answered = 0;
  const timer = setInterval(async () => {
    if ((await backend(new Request(`${OWN}/auth/login`))).status === 302) answered++;
    // Timers are late, and there must be at least 25.
  }, 36);
  const during = await launches(5 * seconds);
  clearInterval(timer);
  await expect.poll(() => answered).toBeGreaterThanOrEqual(25 * seconds);
  sizes.push(size());
  const usualMs = median([...before, ...(await launches(3 * seconds))]);
  const [first = 0, second = 0, last = 0] = sizes;
  const perLaunch = (second - first) / before.length;
  return {
    usualMs,
    floodedMs: median(during),
    grownBytes: last - second - perLaunch * during.length,
  };
}

test("25 anonymous logins a second for 10 s add under 10 kB to the store, and a launch takes at most twice its time", async () => {
  const { usualMs, floodedMs, grownBytes } = await floodOfLogins(10);
  console.log(
    `A launch takes ${usualMs.toFixed()} ms, in the flood ${floodedMs.toFixed()} ms; ` +
      `${grownBytes.toFixed()} bytes more.`,
  );
  expect(grownBytes).toBeLessThan(10_000);
  expect(floodedMs).toBeLessThan(2 * Math.max(usualMs, 50));
});

test("100,000 anonymous requests leave less than 20 MB in memory", async () => {
  const { backend, launch, another } = rig({
    clientKey: (request) => request.headers.get("x-client") ?? "",
  });
  const state = "s".repeat(43);
  const anonymous: ((browser: TestBrowser, at: number) => Promise<Response>)[] = [
    (browser) => browser.get("/auth/login?return_to=/page"),
    (browser) => browser.get(`/auth/callback?code=made-up&state=${state}`),
    (browser, at) => browser.get(`/auth/login?tenant=tenant-${at}`),
    (browser, at) => {
      const body = {
        code: `code-${at}`,
        codeVerifier: state,
        tenantId: `tenant-${at}`,
        hostOrigin: "https://a.example",
      };
      return browser.post("/auth/launch", body, { "x-client": String(at) });
    },
  ];
  const bytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const silent = another({ onError: () => {} });
  const send = (at: number) => anonymous[at % 4]?.(new TestBrowser(silent, OWN), at);
  const flood = async (from: number, to: number) => {
    for (let at = from; at < to; at += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, by) => send(at + by)));
  };
  await flood(0, 4_000);
  const before = bytes();
  await flood(4_000, 104_000);
  const grown = bytes() - before;
  console.log(`100,000 anonymous requests leave ${(grown / 1e6).toFixed(1)} MB in memory.`);
  expect(grown).toBeLessThan(20_000_000);
  expect([backend.length, (await launch()).variant]).toEqual([1, "A"]);
});
