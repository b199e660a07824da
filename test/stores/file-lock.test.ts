// The locks of a file store: one holder at a time, even when holders are killed or suspended.
import { spawnSync } from "node:child_process";
import { pbkdf2 } from "node:crypto";
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  beatEveryMs,
  goneAfterMs,
  newHolder,
  sweepLock,
  takeLock,
  type Watch,
  watchHolders,
} from "../../src/stores/file-lock.js";
import { rejectionOf } from "../support/wait.js";
import { temporaryFolder } from "./temporary-folder.js";

let folder: string;
let lock: string;
beforeEach(() => {
  folder = temporaryFolder();
  lock = join(folder, "lock");
});

/** Treats no holder as gone. */
const patient: Watch = () => false;
const take = (watch: Watch = patient, timeoutMs = 5_000) =>
  takeLock(lock, timeoutMs, performance.now() + timeoutMs, { isGone: watch });

const [machine = ""] = newHolder().split(".");
const here = (pid: number | undefined) => `${machine}.${pid}.0123456789abcdef`;
const elsewhere = `${"0".repeat(16)}.1.0123456789abcdef`;
const endedPid = () => spawnSync(process.execPath, ["--version"]).pid;

function heldBy(...holders: string[]): void {
  mkdirSync(lock, { recursive: true });
  for (const holder of holders) writeFileSync(join(lock, holder), "");
}

/** Runs twenty tasks, each under the lock. Returns how many ran at the same time. */
async function mostAtOnce(watch: Watch = patient): Promise<number> {
  let inside = 0;
  let most = 0;
  const task = async () => {
    const { release } = await take(watch);
    inside++;
    most = Math.max(most, inside);
    // A task that waits looks by the machine's time, as other processes do.
    await new Promise((resolve) => setTimeout(resolve, 2));
    inside--;
    release();
  };
  await Promise.all(Array.from({ length: 20 }, task));
  return most;
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

  test("is gone after that time also if 2,000 are watched", () => {
    const { now, advance } = clock();
    const isGone = watchHolders(now);
    const watched = Array.from({ length: 2_000 }, (_, index) => `${elsewhere}${index}`);
    for (let ms = 0; ms < goneAfterMs; ms += 100) {
      for (const holder of watched) isGone(holder, 1);
      advance(100);
    }
    expect(watched.every((holder) => isGone(holder, 1))).toBe(true);
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

describe("a lock", () => {
  const gone: { name: string; holders: () => string[] }[] = [
    { name: "without a holder", holders: () => [] },
    { name: "of a holder whose process has ended", holders: () => [here(endedPid())] },
    { name: "of a holder on another machine that gives no sign", holders: () => [elsewhere] },
    {
      name: "of a holder whose process id another process has now",
      holders: () => [here(process.pid)],
    },
  ];
  test.each(gone)(
    "$name is taken by twenty tasks one after the other, and nothing is left",
    async ({ holders }) => {
      const names = holders();
      heldBy(...names);
      // Only the old holders are gone: these twenty are alive.
      expect(await mostAtOnce((holder) => names.includes(holder))).toBe(1);
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test.each([
    {
      name: "of another machine, whose process id means nothing here",
      holder: () => here(endedPid()).replace(machine, "0".repeat(16)),
      says: "a process of another machine",
    },
    {
      name: "of this machine that is alive",
      holder: () => here(process.pid),
      says: `process ${process.pid} of this machine`,
    },
    { name: "that no store wrote", holder: () => "notes", says: "a file in " },
  ])("of a holder $name is not taken over, and the message names it", async ({ holder, says }) => {
    const name = holder();
    heldBy(name);
    const error = await rejectionOf(take(watchHolders(), 60));
    expect(error).toMatchObject({ code: "store_locked", message: expect.stringContaining(says) });
    sweepLock(lock);
    expect(readdirSync(lock)).toEqual([name]);
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  const setAge = (seconds: number) => {
    const then = Date.now() / 1_000 - seconds;
    utimesSync(join(lock, elsewhere), then, then);
  };
  /** Sweeps twice, the second time five seconds later. Returns what is left after each sweep. */
  const sweepTwice = (between = () => {}) => {
    // Of whole milliseconds the difference is exact.
    const now = vi.spyOn(performance, "now").mockReturnValue(Math.trunc(performance.now()));
    onTestFinished(() => now.mockRestore());
    sweepLock(lock);
    const left = readdirSync(folder);
    now.mockReturnValue(performance.now() + goneAfterMs);
    between();
    sweepLock(lock);
    return [left, readdirSync(folder)];
  };

  test.each([
    { age: 500, left: [["lock"], ["lock"]] },
    { age: 700, left: [["lock"], []] },
  ])(
    "of another machine is swept after ten minutes without a sign of life: $age seconds",
    ({ age, left }) => {
      heldBy(elsewhere);
      setAge(age);
      expect(sweepTwice()).toEqual(left);
    },
  );

  test.each([800, -800])(
    "whose holder beats is kept after a step of the clock by %d seconds",
    (seconds) => {
      heldBy(elsewhere);
      setAge(seconds);
      const beatAgain = () => setAge(seconds - goneAfterMs / 1_000);
      expect(sweepTwice(beatAgain)).toEqual([["lock"], ["lock"]]);
    },
  );

  test("that a suspended holder lost is not released by it while the new holder has it", async () => {
    const first = await take();
    const second = await take(() => true);
    first.release();
    expect(readdirSync(lock)).toHaveLength(1);
    expect(await rejectionOf(take(patient, 20))).toMatchObject({ code: "store_locked" });
    second.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("sends its beat while all threads of the process are busy", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { held, release } = await take();
    utimesSync(held, 0, 0);
    // libuv has four threads.
    for (let thread = 0; thread < 4; thread++) pbkdf2("", "", 200_000, 32, "sha256", () => {});
    vi.advanceTimersByTime(beatEveryMs);
    expect(statSync(held).mtimeMs).toBeGreaterThan(0);
    release();
  });

  test("that was taken over aborts the lease of its former holder at the next beat", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const first = await take();
    const second = await take(() => true);
    vi.advanceTimersByTime(beatEveryMs);
    expect(first.lease.reason).toMatchObject({ name: "StoreError", code: "store_locked" });
    expect(second.lease.aborted).toBe(false);
    second.release();
  });
});
