// Several processes on one file: nothing is lost when they write at the same time, or are killed or suspended.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { beforeEach, expect, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { atOnceMs, killWhileWriting, startProcess } from "./start-process.js";
import { expectFreeLocks, temporaryFolder } from "./temporary-folder.js";

const key = randomBytes(32).toString("base64");
let path: string;
let store: TokenStore;
beforeEach(() => {
  path = join(temporaryFolder(), "store.json");
  store = fileStore(path, { key });
});

test("two processes that each count to fifty under the lock lose no count", async () => {
  const processes = Array.from({ length: 2 }, () => startProcess(["increment", path, "50"], { key }));
  await Promise.all(processes.map(({ told }) => told("done")));
  expect((await store.get("counter"))?.value).toBe("100");
  expectFreeLocks(path);
});

test("a holder that is killed leaves its lock to the next process at once", async () => {
  await store.set("counter", "7");
  const holder = startProcess(["hold", path], { key });
  await holder.told("held");
  await expect(store.lock("counter", async () => {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining(`process ${holder.child.pid} of this machine`),
  });
  holder.child.kill("SIGKILL");
  await holder.ended;
  const before = performance.now();
  expect(await store.lock("counter", () => store.get("counter"))).toMatchObject({ value: "7" });
  expect(performance.now() - before).toBeLessThan(atOnceMs);
  expectFreeLocks(path);
});

test.skipIf(process.platform === "win32")(
  "a holder that is suspended loses its lock, and its next write is a conflict",
  async () => {
    await store.set("counter", "7");
    const holder = startProcess(["hold", path], { key });
    await holder.told("held");
    holder.child.kill("SIGSTOP");
    await store.lock("counter", () => store.set("counter", "8"), { timeoutMs: 60_000 });
    holder.child.kill("SIGCONT");
    holder.child.stdin?.write("go on\n");
    expect(await holder.told("failed")).toMatchObject({ code: "store_conflict" });
    expect((await store.get("counter"))?.value).toBe("8");
    expectFreeLocks(path);
  },
);

test("a process that is killed while it writes leaves the old value or the new one", () =>
  killWhileWriting(key, 20));
