/** Who holds a lock of a file store, and whether that process is gone. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import { checkLockFolder, systemCode } from "./file-contents.js";
import { mutex } from "./mutex.js";

/** How often a holder shows that it lives. */
export const beatEveryMs = 1_000;
/** A holder that shows nothing for so long, while somebody watches, is gone. */
export const goneAfterMs = 5_000;
/** No more than this counts as watching between two looks: a watcher that slept itself has seen nothing. */
const mostPerLookMs = 250;

let machine: string | undefined;

/**
 * Says where a process id means something: this host since it was started, and this container. Where that cannot be
 * known (two containers may share a host name and a folder) no two processes are taken to be neighbours.
 */
function thisMachine(): string {
  if (machine !== undefined) return machine;
  const parts = [hostname(), process.platform];
  try {
    if (process.platform === "linux")
      parts.push(readFileSync("/proc/sys/kernel/random/boot_id", "utf8"), readlinkSync("/proc/self/ns/pid"));
  } catch {
    parts.push(randomBytes(8).toString("hex"));
  }
  machine = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);
  return machine;
}

/** A name for one holding of one lock: machine, process, and what no other holding has. Fit for a file name. */
export function newHolder(): string {
  return `${thisMachine()}.${process.pid}.${randomBytes(8).toString("hex")}`;
}

const holderShape = /^([0-9a-f]{16})\.([1-9]\d{0,9})\.[0-9a-f]{16}$/;

/** Other things may lie about: what a network share or a file browser leaves there. */
export function isHolder(name: string): boolean {
  return holderShape.test(name);
}

/** Whether the holder's process has surely ended: known at once, but only of this machine's. */
export function hasEnded(holder: string): boolean {
  const [, on, pid] = holderShape.exec(holder) ?? [];
  if (on !== thisMachine()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as { code?: unknown }).code === "ESRCH";
  }
}

/** The holder in words, for messages. */
export function describeHolder(holder: string): string {
  const [on, pid] = holder.split(".");
  return on === thisMachine()
    ? `process ${pid} of this machine`
    : "a process of another machine or container";
}

export interface Watch {
  /** To be asked again and again, with the time of the holder's last beat, or with anything that beats change. */
  isGone(holder: string, beat: number): boolean;
}

/**
 * Watches holders whose end cannot be known otherwise: another machine's, and this one's whose process id was given to
 * another. No clock of theirs is compared with ours; what counts is that beats were awaited and none came.
 */
export function watchHolders(clock: () => number = () => performance.now()): Watch {
  const watched = new Map<string, { beat: number; lookedAt: number; silentMs: number }>();
  return {
    isGone(holder, beat) {
      const at = clock();
      const before = watched.get(holder);
      const silentMs =
        before?.beat === beat ? before.silentMs + Math.min(at - before.lookedAt, mostPerLookMs) : 0;
      watched.delete(holder);
      watched.set(holder, { beat, lookedAt: at, silentMs });
      // Those not looked at for the longest time were released long ago.
      if (watched.size > 1_000) watched.delete(watched.keys().next().value ?? holder);
      return silentMs >= goneAfterMs;
    },
  };
}

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
  const queue = mutex();
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

/** The write lock is had within this time even by who came for a free key with no time to wait. */
const leastWriteLockMs = 1_000;

export interface KeyLockOptions {
  readonly folder: string;
  /** What stands for the key; it is hashed once more, to fit a file name. */
  readonly name: string;
  readonly timeoutMs: number;
  /** When that time is over, by `performance.now()`. */
  readonly endsAt: number;
  readonly writes: WriteLock;
  readonly watch: Watch;
}

/**
 * Takes the lock of a key; gives what releases it.
 *
 * @throws StoreError `store_locked`
 */
export async function takeKeyLock(options: KeyLockOptions): Promise<() => Promise<void>> {
  const { folder, timeoutMs, endsAt, writes } = options;
  await checkLockFolder(folder);
  const prefix = createHash("sha256").update(options.name).digest("hex").slice(0, 32);
  for (let tries = 0; ; tries++) {
    let { living } = await locksIn(options, prefix);
    if (living === undefined) {
      const mine = join(folder, `${prefix}.${newHolder()}`);
      const waitMs = Math.max(endsAt - performance.now(), leastWriteLockMs);
      await writes.run({ folder, timeoutMs: waitMs, queueMs: waitMs }, async (own) => {
        const found = await locksIn(options, prefix);
        living = found.living;
        // By way of the own folder, as everything: somebody who took over meanwhile must not find it done.
        for (const name of found.gone) await rename(join(folder, name), join(own, "gone")).catch(ifThere);
        await unlink(join(own, "gone")).catch(ifThere);
        if (living !== undefined) return;
        await writeFile(join(own, "claim"), "", { mode: 0o600 });
        await rename(join(own, "claim"), mine);
      });
      if (living === undefined) {
        const stop = keepAlive(mine);
        return async () => {
          stop();
          // Not there any more: taken over. Anything else: others see that no beat comes.
          await unlink(mine).catch(() => {});
        };
      }
    }
    if (performance.now() >= endsAt)
      throw new StoreError(
        "store_locked",
        `The lock was not had within ${timeoutMs} ms: ${describeHolder(living)} held it.`,
      );
    await pause(tries);
  }
}

/** Who holds the key, and what was left by who is gone: of this key, and of others whose process surely ended. */
async function locksIn(
  { folder, watch }: KeyLockOptions,
  prefix: string,
): Promise<{ living: string | undefined; gone: string[] }> {
  const names = await readdir(folder).catch((error) => {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  });
  let living: string | undefined;
  const gone: string[] = [];
  for (const name of names) {
    const [, hash, holder = ""] = /^([0-9a-f]{32})\.(.+)$/.exec(name) ?? [];
    if (!isHolder(holder)) continue;
    if (hasEnded(holder)) gone.push(name);
    else if (hash === prefix) {
      const beat = await beatOf(join(folder, name));
      if (watch.isGone(holder, beat)) gone.push(name);
      else if (beat !== 0) living = holder;
    }
  }
  return { living, gone };
}

function ifThere(error: unknown): void {
  if (systemCode(error) !== "ENOENT") throw error;
}
