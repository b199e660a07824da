/**
 * The lock under which a file store changes anything, among processes, whoever of them is killed or suspended.
 *
 * In the folder of the locks there is one folder, `write`, with always exactly one folder in it: `free`, or the
 * holder's, under the holder's name. Taking, releasing and taking over are one atomic rename of that one folder, from
 * the very name that was seen: of two at once, one wins. A holder does everything by paths inside its own folder; once
 * that was taken over, these paths are gone, so that one who was suspended can write nothing any more.
 */
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import { systemCode } from "./file-fault.js";
import {
  beatEveryMs,
  describeHolder,
  hasEnded,
  isHolder,
  newHolder,
  type Watch,
} from "./file-lock-holder.js";
import { checkLockFolder } from "./file-owner.js";
import { turns } from "./turns.js";

export interface WriteLock {
  /**
   * Runs a task with the folder of its own. A task that lost the lock on its way, and so came to nothing, runs anew.
   *
   * @throws StoreError `store_locked`
   */
  run<T>(options: WriteLockOptions, task: (own: string) => Promise<T>): Promise<T>;
}

export interface WriteLockOptions {
  /** Of the locks. */
  readonly folder: string;
  /** For waiting for other processes. */
  readonly timeoutMs: number;
  /** For waiting for writes of this process that came earlier. */
  readonly queueMs: number;
}

export function writeLock(watch: Watch): WriteLock {
  const queue = turns();
  return {
    async run({ folder, timeoutMs, queueMs }, task) {
      const finish = await queue.take(folder, queueMs);
      const endsAt = performance.now() + timeoutMs;
      try {
        for (;;) {
          const own = await take(folder, watch, endsAt);
          const stop = keepAlive(own);
          try {
            return await task(own);
          } catch (error) {
            if (systemCode(error) !== "ENOENT" || (await exists(own)) || performance.now() >= endsAt)
              throw error;
          } finally {
            stop();
            // Not there any more: taken over. Anything else: others see that no beat comes.
            await rename(own, join(dirname(own), "free")).catch(() => {});
          }
        }
      } finally {
        finish();
      }
    },
  };
}

/** Shows until it is stopped that the holder of this file or folder lives. */
export function keepAlive(path: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, beatEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** A short wait, longer the more often it was tried, and never in step with others. */
export function pause(tries: number): Promise<void> {
  const ms = Math.min(40, 1 + 2 * tries) * (0.5 + Math.random());
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function take(folder: string, watch: Watch, endsAt: number): Promise<string> {
  const register = join(folder, "write");
  const own = join(register, newHolder());
  for (let tries = 0; ; tries++) {
    await checkLockFolder(folder);
    const names = await readdir(register).catch((error) => {
      if (systemCode(error) === "ENOENT") return [];
      throw error;
    });
    const holders = names.filter((name) => name === "free" || isHolder(name));
    const [holder] = holders;
    if (holder === undefined) await prepare(folder, register);
    for (const name of holders) {
      const seen = join(register, name);
      const isTaken = name !== "free" && !hasEnded(name) && !watch.isGone(name, await beatOf(seen));
      if (isTaken) continue;
      if (holders.length === 1 && (await renamed(seen, own))) return own;
      // More than one: read amidst a rename, and then this one is gone already; or not made by us, and then it has to
      // go out of the way. No name is ever given twice, and `free` stays.
      if (holders.length > 1 && name !== "free") await renamed(seen, join(folder, `stray.${name}`));
    }
    if (performance.now() >= endsAt) {
      const who = holder === undefined || holder === "free" ? "others" : describeHolder(holder);
      throw new StoreError(
        "store_locked",
        `The store was not had in time for a write: ${who} held it. If none uses it, remove ${folder}.`,
      );
    }
    await pause(tries);
  }
}

/** Ready-made under another name first: whoever looks sees either nothing or one folder inside. */
async function prepare(folder: string, register: string): Promise<void> {
  for (const missing of [dirname(folder), folder])
    await mkdir(missing, { mode: 0o700 }).catch((error) => {
      if (systemCode(error) !== "EEXIST") throw error;
    });
  const made = await mkdtemp(join(folder, "new-"));
  await mkdir(join(made, "free"), { mode: 0o700 });
  // Over a folder that is not empty no folder can be renamed: of two at once, one wins.
  await rename(made, register).catch(async (error) => {
    await rm(made, { recursive: true, force: true });
    if (!(await exists(register))) throw error;
  });
}

async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    const code = systemCode(error) ?? "";
    // Somebody was faster; or, on Windows, has something in there open.
    if (code === "ENOENT" || (process.platform === "win32" && ["EPERM", "EACCES", "EBUSY"].includes(code)))
      return false;
    throw error;
  }
}

/** When the holder last showed that it lives; 0 when there is nothing any more. */
export async function beatOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
