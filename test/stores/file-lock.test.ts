// The locks of a file store: one holder at a time, even when holders are killed or suspended.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { clearUp, replaceFile, setAside } from "../../src/stores/file-contents.js";
import {
  beatEveryMs,
  FileLocks,
  goneAfterMs,
  newHolder,
  type Watch,
  watchHolders,
} from "../../src/stores/file-lock.js";
import { rejectionOf } from "../support/wait.js";
import { temporaryFolder } from "./temporary-folder.js";

let path: string;
let folder: string;
beforeEach(() => {
  path = join(temporaryFolder(), "store.json");
  folder = `${path}.locks`;
});

/** Treats every holder that did not certainly end as gone. */
const greedy: Watch = () => true;
/** Treats no holder as gone. */
const patient: Watch = () => false;
const limits = { timeoutMs: 5_000, queueMs: 5_000 };

const [machine = ""] = newHolder().split(".");
const here = (pid: number | undefined) => `${machine}.${pid}.0123456789abcdef`;
const elsewhere = `${"0".repeat(16)}.1.0123456789abcdef`;
const endedPid = () => spawnSync(process.execPath, ["--version"]).pid;

async function heldBy(holder: string): Promise<string> {
  await new FileLocks(patient).write(folder, limits, async () => {});
  renameSync(join(folder, "write", "free"), join(folder, "write", holder));
  return join(folder, "write", holder);
}

/** Counts how many tasks run at the same time. */
function overlaps() {
  let inside = 0;
  let most = 0;
  return {
    most: () => most,
    async task() {
      inside++;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside--;
    },
  };
}

describe("a holder", () => {
  const clock = () => {
    let at = 0;
    return { now: () => at, advance: (ms: number) => (at += ms) };
  };

  test("without a beat is gone after five seconds of watching", () => {
    const { now, advance } = clock();
    const isGone = watchHolders(now);
    let looks = 0;
    while (!isGone(elsewhere, 1) && looks < 1_000) {
      advance(100);
      looks++;
    }
    expect(100 * looks).toBe(goneAfterMs);
  });

  test("that beats is never gone", () => {
    const { now, advance } = clock();
    const isGone = watchHolders(now);
    for (let ms = 0; ms < 20 * goneAfterMs; ms += 100) {
      expect(isGone(elsewhere, Math.floor(ms / beatEveryMs))).toBe(false);
      advance(100);
    }
  });

  test("is not gone because the watcher itself was suspended for an hour", () => {
    const { now, advance } = clock();
    const isGone = watchHolders(now);
    isGone(elsewhere, 1);
    advance(3_600_000);
    expect(isGone(elsewhere, 1)).toBe(false);
  });
});

describe("the write lock", () => {
  test.each([
    { name: "whose process has ended", holder: () => here(endedPid()), watch: patient },
    { name: "of another machine that gives no sign", holder: () => elsewhere, watch: greedy },
    { name: "whose process id another process has now", holder: () => here(process.pid), watch: greedy },
  ])("of a holder $name is taken by twenty processes one after the other", async (row) => {
    await heldBy(row.holder());
    const { task, most } = overlaps();
    // Only the old holder is gone: these twenty are alive.
    const once = () => {
      const gone = new Set([elsewhere, here(process.pid)]);
      return (holder: string) => row.watch === greedy && gone.has(holder);
    };
    await Promise.all(Array.from({ length: 20 }, () => new FileLocks(once()).write(folder, limits, task)));
    expect(most()).toBe(1);
    expect(readdirSync(join(folder, "write"))).toEqual(["free"]);
  });

  test.each([
    {
      name: "of another machine, whose process id means nothing here",
      holder: () => here(endedPid()).replace(machine, "0".repeat(16)),
    },
    { name: "of this machine that is alive", holder: () => here(process.pid) },
  ])("of a holder $name is not taken over", async ({ holder }) => {
    await heldBy(holder());
    const error = await rejectionOf(
      new FileLocks(watchHolders()).write(folder, { timeoutMs: 60, queueMs: 60 }, async () => {}),
    );
    expect(error).toMatchObject({ name: "StoreError", code: "store_locked" });
  });

  test("is created once when twenty processes need it at the same time", async () => {
    const { task, most } = overlaps();
    await Promise.all(Array.from({ length: 20 }, () => new FileLocks(patient).write(folder, limits, task)));
    expect(most()).toBe(1);
    expect(readdirSync(folder)).toEqual(["write"]);
  });

  test.each([
    { name: "whose process has ended", stray: () => here(endedPid()), watch: patient },
    { name: "of another machine that gives no sign", stray: () => elsewhere, watch: greedy },
  ])("moves a second folder of a holder $name out of the way", async ({ stray, watch }) => {
    await heldBy("free");
    const name = stray();
    mkdirSync(join(folder, "write", name));
    writeFileSync(join(folder, "write", name, "contents"), "");
    const { task, most } = overlaps();
    const gone: Watch = (holder, beat) => holder === name && watch(holder, beat);
    await Promise.all(Array.from({ length: 20 }, () => new FileLocks(gone).write(folder, limits, task)));
    expect(most()).toBe(1);
    expect(readdirSync(join(folder, "write"))).toEqual(["free"]);
    expect(readdirSync(join(folder, `stray.${name}`))).toEqual(["contents"]);
  });

  test("names the folder to remove when there are two holders, as after restoring a backup", async () => {
    await heldBy("free");
    mkdirSync(join(folder, "write", elsewhere));
    const error = await rejectionOf(
      new FileLocks(patient).write(folder, { timeoutMs: 30, queueMs: 30 }, async () => {}),
    );
    expect(error).toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(`remove ${folder}`),
    });
  });

  test("that a suspended holder lost prevents its started write, and its task runs again", async () => {
    let runs = 0;
    const seen: (string | undefined)[] = [];
    await new FileLocks(patient).write(folder, limits, async (own) => {
      runs++;
      seen.push(existsSync(path) ? readFileSync(path, "utf8") : undefined);
      if (runs === 1) {
        writeFileSync(join(own, "contents"), "begun before");
        await new FileLocks(greedy).write(folder, limits, async (others) => {
          await clearUp(path, others);
          await replaceFile(path, "the other's", others);
        });
        // As if the process woke up between writing and renaming.
        expect(() => renameSync(join(own, "contents"), path)).toThrow(/ENOENT/);
      }
      await replaceFile(path, `run ${runs}`, own);
    });
    // The task failed and ran again on the other process's entries.
    expect(seen).toEqual([undefined, "the other's"]);
    expect(readFileSync(path, "utf8")).toBe("run 2");
  });

  test("that a suspended holder lost prevents it from moving away another process's file", async () => {
    writeFileSync(path, "torn");
    let runs = 0;
    await new FileLocks(patient).write(folder, limits, async (own) => {
      if (runs++ > 0) return;
      await new FileLocks(greedy).write(folder, limits, (others) => replaceFile(path, "good", others));
      await setAside(path, "it is torn", own);
    });
    expect(runs).toBe(2);
    expect(readdirSync(join(path, ".."))).toEqual(["store.json", "store.json.locks"]);
    expect(readFileSync(path, "utf8")).toBe("good");
  });

  test("that a suspended holder lost is not released while the new holder has it", async () => {
    await new FileLocks(patient).write(folder, limits, async () => {
      await new FileLocks(greedy).write(folder, limits, async () => {});
      await heldBy(here(process.pid));
    });
    expect(readdirSync(join(folder, "write"))).toEqual([here(process.pid)]);
  });
});

describe("in the folder of a killed holder of the write lock,", () => {
  test("an unfinished write is removed", async () => {
    writeFileSync(join(await heldBy(here(endedPid())), "contents"), "half");
    await new FileLocks(patient).write(folder, limits, async (own) => {
      expect(await clearUp(path, own)).toBeUndefined();
      expect(readdirSync(own)).toEqual([]);
    });
  });

  test("a damaged file is set aside and reported", async () => {
    writeFileSync(join(await heldBy(here(endedPid())), "aside"), "torn");
    const error = await rejectionOf(fileStore(path, { plaintext: true }).set("key", "value"));
    expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
    const [, aside = ""] = /set aside as (\S+);/.exec((error as Error).message) ?? [];
    expect(readFileSync(aside, "utf8")).toBe("torn");
  });
});

describe("the lock of a key", () => {
  const take = (watch: Watch, name = "key", timeoutMs = 5_000) =>
    new FileLocks(watch).takeKey(folder, name, timeoutMs, performance.now() + timeoutMs);
  const lockFiles = () => readdirSync(folder).filter((name) => name !== "write");

  /** The file of a holder that did not release its lock. */
  async function leftBy(holder: string): Promise<string> {
    const release = await take(patient);
    const [name = ""] = lockFiles();
    const left = join(folder, name.replace(/(?<=^[^.]*\.).*/, holder));
    renameSync(join(folder, name), left);
    await release();
    return left;
  }

  test.each([
    { whose: "a process of another machine", holder: elsewhere },
    { whose: `process ${process.pid} of this machine`, holder: here(process.pid) },
  ])("that $whose holds is refused with a message that names the holder", async ({ whose, holder }) => {
    await leftBy(holder);
    expect(await rejectionOf(take(patient, "key", 20))).toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(whose),
    });
  });

  test("removes the files of other keys whose processes have ended", async () => {
    const left = await leftBy(here(endedPid()));
    const release = await take(patient, "another key");
    expect(existsSync(left)).toBe(false);
    await release();
  });

  test("ignores unknown files in the folder, and leaves them", async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, `${"0".repeat(32)}.notes`), "");
    await (await take(patient))();
    expect(lockFiles()).toEqual([`${"0".repeat(32)}.notes`]);
  });
});
