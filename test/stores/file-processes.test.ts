// Real processes on one file: nothing is lost among them, whoever of them is killed or suspended at whatever moment.
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { beforeEach, describe, expect, test } from "vitest";
import type { TokenStore } from "../../src/index.js";
import { fileStore } from "../../src/stores/file.js";
import { goneAfterMs } from "../../src/stores/file-lock.js";
import { startProcess } from "./start-process.js";
import { temporaryFolder } from "./temporary-folder.js";

/** Sooner than by waiting for a sign of life: the process was seen to have ended. */
const atOnceMs = goneAfterMs - 1_000;
const key = randomBytes(32).toString("base64");

let path: string;
let store: TokenStore;
beforeEach(() => {
  path = join(temporaryFolder(), "store.json");
  store = fileStore(path, { key });
});

const left = () => readdirSync(`${path}.locks`, { recursive: true }).sort();

test("four processes that count to fifty each under the lock lose nothing", async () => {
  const processes = Array.from({ length: 4 }, () => startProcess(["increment", path, "50"], { key }));
  await Promise.all(processes.map(({ told }) => told("done")));
  expect((await store.get("counter"))?.value).toBe("200");
  expect(left()).toEqual(["write", join("write", "free")]);
});

test("a holder that is killed inside the lock leaves it to the next at once", async () => {
  await store.set("counter", "7");
  const holder = startProcess(["hold", path], { key });
  await holder.told("held");
  // So long as it lives nobody else has it.
  await expect(store.lock("counter", async () => {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "store_locked",
    message: expect.stringContaining(`process ${holder.child.pid} of this machine`),
  });
  holder.child.kill("SIGKILL");
  await holder.ended;
  const before = performance.now();
  expect(await store.lock("counter", () => store.get("counter"))).toMatchObject({ value: "7" });
  expect(performance.now() - before).toBeLessThan(atOnceMs);
  expect(left()).toEqual(["write", join("write", "free")]);
});

test.skipIf(process.platform === "win32")(
  "a holder that is suspended loses the lock within its time, and what it then writes is a conflict",
  async () => {
    await store.set("counter", "7");
    const holder = startProcess(["hold", path], { key });
    await holder.told("held");
    holder.child.kill("SIGSTOP");
    await store.lock("counter", () => store.set("counter", "8"), { timeoutMs: 30_000 });
    holder.child.kill("SIGCONT");
    holder.child.stdin?.write("go on\n");
    expect(await holder.told("failed")).toMatchObject({ code: "store_conflict" });
    expect((await store.get("counter"))?.value).toBe("8");
    expect(left()).toEqual(["write", join("write", "free")]);
  },
);

describe("a process that is killed at a random moment while it writes", () => {
  const kills = 30;
  const atOnce = 2;

  test(`leaves the old value or the new one, ${kills} times`, { timeout: 180_000 }, async () => {
    const kill = async () => {
      const own = join(temporaryFolder(), "store.json");
      const delayMs = Math.random() * 60;
      const writer = startProcess(["write", own], { key });
      await writer.told("written");
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      writer.child.kill("SIGKILL");
      await writer.ended;
      const told = writer.steps.at(-1)?.number ?? 0;
      const survivor = fileStore(own, { key });
      const value = (await survivor.get("number"))?.value ?? "";
      const [, number = "", rest = ""] = /^(\d+):(x*)$/.exec(value) ?? [];
      expect(rest).toHaveLength((Number(number) * 7_919) % 50_000);
      // What was told is kept; one more may be written and not told.
      expect([told, told + 1], `after ${delayMs} ms`).toContain(Number(number));
      const before = performance.now();
      await survivor.set("number", "after");
      expect(performance.now() - before).toBeLessThan(atOnceMs);
      expect((await survivor.get("number"))?.value).toBe("after");
      expect(readdirSync(join(own, "..")).sort()).toEqual(["store.json", "store.json.locks"]);
      expect(readdirSync(`${own}.locks`, { recursive: true }).sort()).toEqual([
        "write",
        join("write", "free"),
      ]);
    };
    for (let count = 0; count < kills; count += atOnce)
      await Promise.all(Array.from({ length: atOnce }, kill));
  });
});
