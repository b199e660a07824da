// A flood of anonymous logins. When each was stored, 25 a second made a file of 2.4 MiB and a launch of 9.5
// s.
import { expect, test } from "vitest";
import { rig } from "../backend/rig.js";
import { floodOfLogins } from "./login-flood.js";

test("25 anonymous logins a second for 1 s add under 10 kB to the store, and a launch takes at most twice its time", async () => {
  const { usualMs, floodedMs, grownBytes } = await floodOfLogins(1);
  expect(grownBytes).toBeLessThan(10_000);
  // A launch takes some 15 ms, which a busy machine may double by itself.
  expect(floodedMs).toBeLessThan(2 * Math.max(usualMs, 50));
});

test("a write that the backend no longer waits for is dropped from the queue of the store", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const { browser, launchBody } = rig({
    timeoutMs: 250,
    wrapStore: (inner) => ({
      ...inner,
      set: (...[, , options]) => {
        signals.push(options?.signal);
        return new Promise(() => {});
      },
    }),
  });
  expect((await browser.post("/auth/launch", launchBody())).status).toBe(503);
  expect(signals).toMatchObject([{ aborted: true }]);
});
