/**
 * The locks of a file store among processes, which may be killed or suspended at any moment. The write lock is
 * a folder `write` that always holds one folder, named `free` or after the holder. One atomic rename from the
 * name that was seen takes the lock or releases it, so that one of two processes wins. A holder works only
 * through its own folder. After a takeover that path is gone, so a suspended holder cannot write again. The
 * lock of a key is a file named after the key's hash and the holder, and is made only under the write lock.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import { requirePrivateFolder, systemCode, undefinedIfMissing } from "./file-contents.js";
import { type Mutex, mutex } from "./mutex.js";

/** How often a holder sends a beat, by renewing the time of its folder or file. */
export const beatEveryMs = 1_000;
/** A holder counts as gone if another process watched it for so long and saw no beat. */
export const goneAfterMs = 5_000;
/** The most time between two looks that counts as watched: the watcher may have been suspended itself. */
const longestLookMs = 250;

let machine: string | undefined;

/** Identifies this boot of this host, and this container, where process ids are valid. Random if unknown. */
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

/** A unique name for one holding of one lock: machine, process and a random part. It can be a file name. */
export function newHolder(): string {
  return `${thisMachine()}.${process.pid}.${randomBytes(8).toString("hex")}`;
}

/** Recognises holders, because network shares and file browsers may leave other files there. */
const holderShape = /^([0-9a-f]{16})\.([1-9]\d{0,9})\.[0-9a-f]{16}$/;

/** Whether the holder's process has certainly ended. Only processes of this machine can be checked. */
function hasEnded(holder: string): boolean {
  const [, on, pid] = holderShape.exec(holder) ?? [];
  if (on !== thisMachine()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as { code?: unknown }).code === "ESRCH";
  }
}

function describeHolder(holder: string): string {
  const [on, pid] = holder.split(".");
  return on === thisMachine()
    ? `process ${pid} of this machine`
    : "a process of another machine or container";
}

/** Whether a holder is gone. Call it repeatedly, with the time of the holder's last beat. */
export type Watch = (holder: string, beat: number) => boolean;

/** Counts how long no beat was seen. This is for holders on other machines or with reused process ids. */
export function watchHolders(clock: () => number = () => performance.now()): Watch {
  const watched = new Map<string, { beat: number; lookedAt: number; silentMs: number }>();
  return (holder, beat) => {
    const at = clock();
    const before = watched.get(holder);
    const silentMs =
      before?.beat === beat ? before.silentMs + Math.min(at - before.lookedAt, longestLookMs) : 0;
    watched.delete(holder);
    watched.set(holder, { beat, lookedAt: at, silentMs });
    // The holder that was not looked at for the longest time has released its lock.
    if (watched.size > 1_000) watched.delete(watched.keys().next().value ?? holder);
    return silentMs >= goneAfterMs;
  };
}

/** Sends beats for this file or folder until the returned function is called. */
function keepAlive(path: string): () => void {
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, beatEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** The time of the last beat, or 0 if the file or folder is gone. */
async function beatOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
}

/** Waits longer after more tries, and for a random time so that processes do not stay in step. */
function pause(tries: number): Promise<void> {
  const ms = Math.min(40, 1 + 2 * tries) * (0.5 + Math.random());
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export class FileLocks {
  readonly #isGone: Watch;
  readonly #queued: Mutex = mutex();

  constructor(isGone: Watch = watchHolders()) {
    this.#isGone = isGone;
  }

  /** Repeats a task that lost the lock. `queueMs` limits the wait in this process, `timeoutMs` for others. */
  async write<T>(
    folder: string,
    { timeoutMs, queueMs }: { readonly timeoutMs: number; readonly queueMs: number },
    task: (own: string) => Promise<T>,
  ): Promise<T> {
    return this.#queued(folder, queueMs, async () => {
      const endsAt = performance.now() + timeoutMs;
      for (;;) {
        const own = await takeWriteLock(folder, this.#isGone, endsAt);
        const stop = keepAlive(own);
        try {
          return await task(own);
        } catch (error) {
          const wasTakenOver = systemCode(error) === "ENOENT" && !(await exists(own));
          if (!wasTakenOver || performance.now() >= endsAt) throw error;
        } finally {
          stop();
          // This fails after a takeover. If it fails otherwise, other processes see that there is no beat.
          await rename(own, join(dirname(own), "free")).catch(() => {});
        }
      }
    });
  }

  /** Tries until `endsAt` on the clock `performance.now()`. Returns the function that releases the lock. */
  async takeKey(
    folder: string,
    name: string,
    timeoutMs: number,
    endsAt: number,
  ): Promise<() => Promise<void>> {
    await requirePrivateFolder(folder);
    const prefix = createHash("sha256").update(name).digest("hex").slice(0, 32);
    for (let tries = 0; ; tries++) {
      let { living } = await keyLocksIn(folder, prefix, this.#isGone);
      if (living === undefined) {
        const mine = join(folder, `${prefix}.${newHolder()}`);
        // It is at least a second, so that a free key can be locked even with a timeout of 0.
        const waitMs = Math.max(endsAt - performance.now(), 1_000);
        await this.write(folder, { timeoutMs: waitMs, queueMs: waitMs }, async (own) => {
          const found = await keyLocksIn(folder, prefix, this.#isGone);
          living = found.living;
          // Every change goes through the own folder, so that it fails after a takeover of the write lock.
          for (const file of found.gone)
            await rename(join(folder, file), join(own, "gone")).catch(undefinedIfMissing);
          await unlink(join(own, "gone")).catch(undefinedIfMissing);
          if (living !== undefined) return;
          await writeFile(join(own, "claim"), "", { mode: 0o600 });
          await rename(join(own, "claim"), mine);
        });
        if (living === undefined) {
          const stop = keepAlive(mine);
          return async () => {
            stop();
            await unlink(mine).catch(() => {});
          };
        }
      }
      if (performance.now() >= endsAt)
        throw locked(`The lock was not free within ${timeoutMs} ms: ${describeHolder(living)} held it.`);
      await pause(tries);
    }
  }
}

function locked(message: string): StoreError {
  return new StoreError("store_locked", message);
}

async function takeWriteLock(folder: string, isGone: Watch, endsAt: number): Promise<string> {
  const register = join(folder, "write");
  const own = join(register, newHolder());
  for (let tries = 0; ; tries++) {
    await requirePrivateFolder(folder);
    const names = (await readdir(register).catch(undefinedIfMissing)) ?? [];
    const holders = names.filter((name) => name === "free" || holderShape.test(name));
    const [holder] = holders;
    if (holder === undefined) await prepare(folder, register);
    for (const name of holders) {
      const seen = join(register, name);
      const isTaken = name !== "free" && !hasEnded(name) && !isGone(name, await beatOf(seen));
      if (isTaken) continue;
      if (holders.length === 1 && (await renamed(seen, own))) return own;
      // There are two folders if the list was read during a rename, and then this one is gone, or if someone
      // added one, which must be moved away. Holder names are never reused, and `free` stays.
      if (holders.length > 1 && name !== "free") await renamed(seen, join(folder, `stray.${name}`));
    }
    if (performance.now() >= endsAt) {
      const by = holder === undefined || holder === "free" ? "other processes" : describeHolder(holder);
      throw locked(
        `The store could not be written in time, because ${by} held its lock. If no process uses the store, remove ${folder}.`,
      );
    }
    await pause(tries);
  }
}

/** Makes the register under another name first, so that others see either nothing or a register with one folder. */
async function prepare(folder: string, register: string): Promise<void> {
  for (const missing of [dirname(folder), folder])
    await mkdir(missing, { mode: 0o700 }).catch((error) => {
      if (systemCode(error) !== "EEXIST") throw error;
    });
  const made = await mkdtemp(join(folder, "new-"));
  await mkdir(join(made, "free"), { mode: 0o700 });
  // A rename over a folder that is not empty fails, so one of two processes wins.
  await rename(made, register).catch(async (error) => {
    await rm(made, { recursive: true, force: true });
    if (!(await exists(register))) throw error;
  });
}

async function renamed(from: string, to: string): Promise<boolean> {
  // Another process was faster. On Windows, it may also have a file in this folder open.
  const lost = ["ENOENT", ...(process.platform === "win32" ? ["EPERM", "EACCES", "EBUSY"] : [])];
  const error = await rename(from, to).catch((fault: unknown) => fault);
  if (error !== undefined && !lost.includes(systemCode(error) ?? "")) throw error;
  return error === undefined;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

type KeyLocks = { living: string | undefined; gone: string[] };

/** The key's living holder, and the files of its gone holders and of all processes that have ended. */
async function keyLocksIn(folder: string, prefix: string, isGone: Watch): Promise<KeyLocks> {
  let living: string | undefined;
  const gone: string[] = [];
  for (const name of (await readdir(folder).catch(undefinedIfMissing)) ?? []) {
    const [, hash, holder = ""] = /^([0-9a-f]{32})\.(.+)$/.exec(name) ?? [];
    if (!holderShape.test(holder)) continue;
    if (hasEnded(holder)) gone.push(name);
    else if (hash === prefix) {
      const beat = await beatOf(join(folder, name));
      if (isGone(holder, beat)) gone.push(name);
      else if (beat !== 0) living = holder;
    }
  }
  return { living, gone };
}
