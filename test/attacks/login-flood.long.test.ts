// The memory that anonymous requests leave behind.
import { expect, test } from "vitest";
import { OWN, rig } from "../backend/rig.js";
import { TestBrowser } from "../backend/test-browser.js";
import { collectGarbage } from "../support/wait.js";

test("40,000 anonymous requests leave less than 8 MB in memory", async () => {
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
  await flood(4_000, 44_000);
  const grown = bytes() - before;
  console.log(`40,000 anonymous requests leave ${(grown / 1e6).toFixed(1)} MB in memory.`);
  expect(grown).toBeLessThan(8_000_000);
  expect([backend.length, (await launch()).variant]).toEqual([1, "A"]);
});
