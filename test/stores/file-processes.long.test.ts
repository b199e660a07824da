// Several processes on one store: nothing is lost when they write at the same time, or are killed
// or suspended.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { beforeEach, expect, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { atOnceMs, startProcess } from "./start-process.js";
import { expectNothingLeft, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");
let path: string;
let store: TokenStore;
beforeEach(() => {
  path = join(temporaryFolder(), "store");
  store = fileStore(path, { key });
});

test("eight processes that count by compare-and-set lose no count, while some are killed or suspended at random", async () => {
  const victims = Array.from({ length: 3 }, () =>
    startProcess(["compete", path, "1000000"], { key }),
  );
  await Promise.all(victims.map(({ reported }) => reported("counted")));
  const processes = Array.from({ length: 8 }, () => startProcess(["compete", path, "25"], { key }));
  const done = Promise.all(processes.map(({ reported }) => reported("done")));
  let isDone = false;
  done.finally(() => {
    isDone = true;
  });
  const [suspended, ...killed] = victims;
  for (let times = 0; !isDone; times++) {
    suspended?.child.kill(times % 2 === 0 ? "SIGSTOP" : "SIGCONT");
    if (times === 10) for (const { child } of killed) child.kill("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
  }
  await done;
  suspended?.child.kill("SIGCONT");
  for (const { child, ended } of victims) {
    child.kill("SIGKILL");
    await ended;
  }
  const counted = (steps: readonly { step: string; number?: number }[]) =>
    steps.filter(({ step }) => step === "counted").at(-1)?.number ?? 0;
  const least = 8 * 25 + victims.reduce((sum, { steps }) => sum + counted(steps), 0);
  const value = Number((await store.get("counter"))?.value);
  // Each killed process may have written once more than it reported.
  expect(value).toBeGreaterThanOrEqual(least);
  expect(value).toBeLessThanOrEqual(least + victims.length);
});

test("a holder that is killed leaves its lock to the next process at once", async () => {
  await store.set("counter", "7");
  const holder = startProcess(["hold", path], { key });
  await holder.reported("held");
  await expect(store.lock("counter", async () => {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining(`process ${holder.child.pid} of this machine`),
  });
  holder.child.kill("SIGKILL");
  await holder.ended;
  const before = performance.now();
  expect(await store.lock("counter", () => store.get("counter"))).toMatchObject({ value: "7" });
  expect(performance.now() - before).toBeLessThan(atOnceMs);
  expectNothingLeft(path);
});

test.skipIf(process.platform === "win32")(
  "a holder that is suspended loses its lock and its lease, and its next write is a conflict",
  async () => {
    await store.set("counter", "7");
    const holder = startProcess(["hold", path], { key });
    await holder.reported("held");
    holder.child.kill("SIGSTOP");
    await store.lock("counter", () => store.set("counter", "8"), { timeoutMs: 60_000 });
    holder.child.kill("SIGCONT");
    holder.child.stdin?.write("go on\n");
    expect(await holder.reported("lost")).toMatchObject({ code: "store_locked" });
    expect(await holder.reported("failed")).toMatchObject({ code: "store_conflict" });
    expect((await store.get("counter"))?.value).toBe("8");
    expectNothingLeft(path);
  },
);
