// The locks of a file store: one holder at a time, also when holders are killed or suspended and several take over.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { fileStore } from "../../src/stores/file.js";
import { clearUp, replaceFile, setAside } from "../../src/stores/file-contents.js";
import {
  beatEveryMs,
  goneAfterMs,
  newHolder,
  takeKeyLock,
  type Watch,
  watchHolders,
  writeLock,
} from "../../src/stores/file-lock.js";
import { rejectionOf } from "../support/wait.js";
import { temporaryFolder } from "./temporary-folder.js";

let path: string;
let folder: string;
beforeEach(() => {
  path = join(temporaryFolder(), "store.json");
  folder = `${path}.locks`;
});

/** One to whom everybody is gone who is not seen to end. */
const greedy: Watch = { isGone: () => true };
/** One to whom nobody is. */
const patient: Watch = { isGone: () => false };
const limits = { timeoutMs: 5_000, queueMs: 5_000 };

const [machine = ""] = newHolder().split(".");
const here = (pid: number | undefined) => `${machine}.${pid}.0123456789abcdef`;
const elsewhere = `${"0".repeat(16)}.1.0123456789abcdef`;
const endedPid = () => spawnSync(process.execPath, ["--version"]).pid;

async function heldBy(holder: string): Promise<string> {
  await writeLock(patient).run({ folder, ...limits }, async () => {});
  renameSync(join(folder, "write", "free"), join(folder, "write", holder));
  return join(folder, "write", holder);
}

/** Whether tasks overlapped. */
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

describe("who is gone", () => {
  const clock = () => {
    let at = 0;
    return { now: () => at, advance: (ms: number) => (at += ms) };
  };

  test("a holder without a beat is gone after the time for that, if somebody looked all the while", () => {
    const { now, advance } = clock();
    const watch = watchHolders(now);
    let looks = 0;
    while (!watch.isGone(elsewhere, 1) && looks < 1_000) {
      advance(100);
      looks++;
    }
    expect(100 * looks).toBe(goneAfterMs);
  });

  test("a holder that beats never is", () => {
    const { now, advance } = clock();
    const watch = watchHolders(now);
    for (let ms = 0; ms < 20 * goneAfterMs; ms += 100) {
      expect(watch.isGone(elsewhere, Math.floor(ms / beatEveryMs))).toBe(false);
      advance(100);
    }
  });

  test("a watcher that slept itself has seen nothing: all of a container is paused together", () => {
    const { now, advance } = clock();
    const watch = watchHolders(now);
    watch.isGone(elsewhere, 1);
    advance(3_600_000);
    expect(watch.isGone(elsewhere, 1)).toBe(false);
  });

  test("one silence says nothing of another holder", () => {
    const { now, advance } = clock();
    const watch = watchHolders(now);
    for (let ms = 0; ms < 2 * goneAfterMs; ms += 100) {
      watch.isGone(elsewhere, 1);
      advance(100);
    }
    expect(watch.isGone(here(1), 1)).toBe(false);
  });
});

describe("the write lock", () => {
  test.each([
    { name: "whose process has ended", holder: () => here(endedPid()), watch: patient },
    { name: "of another machine that gives no sign", holder: () => elsewhere, watch: greedy },
    { name: "whose process id another process has now", holder: () => here(process.pid), watch: greedy },
  ])("of a holder $name is had by one after the other of twenty that want it at once", async (row) => {
    await heldBy(row.holder());
    const { task, most } = overlaps();
    // Only the first look may be greedy: these twenty live.
    const once = () => {
      const gone = new Set([elsewhere, here(process.pid)]);
      return { isGone: (holder: string) => row.watch === greedy && gone.has(holder) };
    };
    await Promise.all(Array.from({ length: 20 }, () => writeLock(once()).run({ folder, ...limits }, task)));
    expect(most()).toBe(1);
    expect(readdirSync(join(folder, "write"))).toEqual(["free"]);
  });

  test.each([
    {
      name: "of another machine, whose process id means nothing here",
      holder: () => here(endedPid()).replace(machine, "0".repeat(16)),
    },
    { name: "of this machine that lives", holder: () => here(process.pid) },
  ])("of a holder $name is not had", async ({ holder }) => {
    await heldBy(holder());
    const error = await rejectionOf(
      writeLock(watchHolders()).run({ folder, timeoutMs: 60, queueMs: 60 }, async () => {}),
    );
    expect(error).toMatchObject({ name: "StoreError", code: "store_locked" });
  });

  test("is made once by twenty that come first at once", async () => {
    const { task, most } = overlaps();
    await Promise.all(Array.from({ length: 20 }, () => writeLock(patient).run({ folder, ...limits }, task)));
    expect(most()).toBe(1);
    expect(readdirSync(folder)).toEqual(["write"]);
  });

  test("what lies about in its folder holds nobody up", async () => {
    await heldBy("free");
    writeFileSync(join(folder, "write", ".DS_Store"), "");
    await writeLock(patient).run({ folder, ...limits }, async () => {});
  });

  test.each([
    { name: "whose process has ended", stray: () => here(endedPid()), watch: patient },
    { name: "of another machine that gives no sign", stray: () => elsewhere, watch: greedy },
  ])(
    "is not held up by a second folder of a holder $name, which is kept beside",
    async ({ stray, watch }) => {
      await heldBy("free");
      const name = stray();
      mkdirSync(join(folder, "write", name));
      writeFileSync(join(folder, "write", name, "contents"), "");
      const { task, most } = overlaps();
      const gone = {
        isGone: (holder: string, beat: number) => holder === name && watch.isGone(holder, beat),
      };
      await Promise.all(Array.from({ length: 20 }, () => writeLock(gone).run({ folder, ...limits }, task)));
      expect(most()).toBe(1);
      expect(readdirSync(join(folder, "write"))).toEqual(["free"]);
      expect(readdirSync(join(folder, `stray.${name}`))).toEqual(["contents"]);
    },
  );

  test("heals when somebody emptied or removed its folder", async () => {
    await heldBy("free");
    rmdirSync(join(folder, "write", "free"));
    await writeLock(patient).run({ folder, ...limits }, async () => {});
    rmSync(folder, { recursive: true });
    await writeLock(patient).run({ folder, ...limits }, async () => {});
    expect(readdirSync(join(folder, "write"))).toEqual(["free"]);
  });

  test("two holders at once, as a backup may bring back, are told with what to remove", async () => {
    await heldBy("free");
    mkdirSync(join(folder, "write", elsewhere));
    const error = await rejectionOf(
      writeLock(patient).run({ folder, timeoutMs: 30, queueMs: 30 }, async () => {}),
    );
    expect(error).toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(`remove ${folder}`),
    });
  });

  test("who lost it while suspended writes nothing: not what was begun before, nor what begins after", async () => {
    let runs = 0;
    const seen: (string | undefined)[] = [];
    await writeLock(patient).run({ folder, ...limits }, async (own) => {
      runs++;
      seen.push(existsSync(path) ? readFileSync(path, "utf8") : undefined);
      if (runs === 1) {
        writeFileSync(join(own, "contents"), "begun before");
        await writeLock(greedy).run({ folder, ...limits }, async (others) => {
          await clearUp(path, others);
          await replaceFile(path, "the other's", others);
        });
        // As if it woke up between preparing and renaming.
        expect(() => renameSync(join(own, "contents"), path)).toThrow(/ENOENT/);
      }
      await replaceFile(path, `run ${runs}`, own);
    });
    // The task came to nothing and ran anew, on what the other wrote.
    expect(seen).toEqual([undefined, "the other's"]);
    expect(readFileSync(path, "utf8")).toBe("run 2");
  });

  test("who lost it while suspended does not move away what another wrote", async () => {
    writeFileSync(path, "torn");
    let runs = 0;
    await writeLock(patient).run({ folder, ...limits }, async (own) => {
      if (runs++ > 0) return;
      await writeLock(greedy).run({ folder, ...limits }, (others) => replaceFile(path, "good", others));
      await setAside(path, "it is torn", own);
    });
    expect(runs).toBe(2);
    expect(readdirSync(join(path, ".."))).toEqual(["store.json", "store.json.locks"]);
    expect(readFileSync(path, "utf8")).toBe("good");
  });

  test("who lost it does not release another's", async () => {
    await writeLock(patient).run({ folder, ...limits }, async () => {
      await writeLock(greedy).run({ folder, ...limits }, async () => {});
      await heldBy(here(process.pid));
    });
    expect(readdirSync(join(folder, "write"))).toEqual([here(process.pid)]);
  });

  test("a fault of the task's own is not taken for a loss, and releases it", async () => {
    let runs = 0;
    const error = await rejectionOf(
      writeLock(patient).run({ folder, ...limits }, async () => {
        runs++;
        readFileSync(join(folder, "nothing"));
      }),
    );
    expect(error).toMatchObject({ code: "ENOENT" });
    expect(runs).toBe(1);
    expect(readdirSync(join(folder, "write"))).toEqual(["free"]);
  });
});

describe("what a killed holder left in the folder of the write lock", () => {
  test("an unfinished write is cleared away", async () => {
    writeFileSync(join(await heldBy(here(endedPid())), "contents"), "half");
    await writeLock(patient).run({ folder, ...limits }, async (own) => {
      expect(await clearUp(path, own)).toBeUndefined();
      expect(readdirSync(own)).toEqual([]);
    });
  });

  test("a damaged file on its way aside gets there, and that is told", async () => {
    writeFileSync(join(await heldBy(here(endedPid())), "aside"), "torn");
    const error = await rejectionOf(fileStore(path, { plaintext: true }).set("key", "value"));
    expect(error).toMatchObject({ name: "StoreError", code: "store_corrupt" });
    const [, aside = ""] = /set aside as (\S+);/.exec((error as Error).message) ?? [];
    expect(readFileSync(aside, "utf8")).toBe("torn");
  });
});

describe("the lock of a key", () => {
  const take = (watch: Watch, name = "key", timeoutMs = 5_000) =>
    takeKeyLock({
      folder,
      name,
      timeoutMs,
      endsAt: performance.now() + timeoutMs,
      writes: writeLock(watchHolders()),
      watch,
    });
  const lockFiles = () => readdirSync(folder).filter((name) => name !== "write");

  /** What a holder leaves that does not release. */
  async function leftBy(holder: string): Promise<string> {
    const release = await take(patient);
    const [name = ""] = lockFiles();
    const left = join(folder, name.replace(/(?<=^[^.]*\.).*/, holder));
    renameSync(join(folder, name), left);
    await release();
    return left;
  }

  test.each([
    { name: "whose process has ended", holder: () => here(endedPid()) },
    { name: "of another machine that gives no sign", holder: () => elsewhere },
  ])("of a holder $name is had by one after the other of ten that want it at once", async ({ holder }) => {
    const left = holder();
    await leftBy(left);
    const { task, most } = overlaps();
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const release = await take({ isGone: (seen) => seen === left });
        await task();
        await release();
      }),
    );
    expect(most()).toBe(1);
    expect(lockFiles()).toEqual([]);
  });

  test("of a holder of another machine that beats is not had, however long one looks", async () => {
    const left = await leftBy(elsewhere);
    let now = 0;
    let beat = 1;
    const { isGone } = watchHolders(() => {
      now += 250;
      if (now % beatEveryMs === 0) utimesSync(left, beat, beat++);
      return now;
    });
    const watch: Watch = {
      isGone(...holder) {
        if (now > 2 * goneAfterMs) throw new Error("looked long enough");
        return isGone(...holder);
      },
    };
    expect(await rejectionOf(take(watch, "key", 60_000))).toMatchObject({ message: "looked long enough" });
  });

  test.each([
    { whose: "a process of another machine", holder: elsewhere },
    { whose: `process ${process.pid} of this machine`, holder: here(process.pid) },
  ])("that $whose holds is refused by naming that one", async ({ whose, holder }) => {
    await leftBy(holder);
    expect(await rejectionOf(take(patient, "key", 20))).toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(whose),
    });
  });

  test("one that was taken over is not released by its old holder", async () => {
    const release = await take(patient);
    const releaseTaken = await take(greedy);
    const [held] = lockFiles();
    await release();
    expect(lockFiles()).toEqual([held]);
    await releaseTaken();
    expect(lockFiles()).toEqual([]);
  });

  test("what processes that ended left of other keys is cleared away", async () => {
    const left = await leftBy(here(endedPid()));
    const release = await take(patient, "another key");
    expect(existsSync(left)).toBe(false);
    await release();
  });

  test("what lies about in the folder holds nobody up, and stays", async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, `${"0".repeat(32)}.notes`), "");
    await (await take(patient))();
    expect(lockFiles()).toEqual([`${"0".repeat(32)}.notes`]);
  });
});
