/**
 * The locks of a file store among processes, which may be killed or suspended at any moment. A lock
 * is a folder with one file or folder, named after the holder. It is made elsewhere and renamed,
 * which fails over a folder that is not empty, so that one of two processes wins. The lock of a
 * holder that is gone is freed by removing what is named after it. No two holders have the same
 * name, so a late removal never frees the lock of another holder.
 */
import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import {
  isFull,
  isLost,
  isRenamed,
  makeFolders,
  quietly,
  randomText,
  systemCode,
  undefinedIfMissing,
} from "./file-system.js";

/** How often a holder sends a beat, by setting the time of its file or folder. */
export const beatEveryMs = 1_000;
/**
 * A holder counts as gone if another process watched it for this time, five beats, and saw none.
 */
export const goneAfterMs = 5_000;

let machine: string | undefined;

/**
 * Identifies this boot of this host, and this container, where process ids are valid. Random if
 * unknown.
 */
function thisMachine(): string {
  if (machine !== undefined) return machine;
  const parts = [hostname(), process.platform];
  try {
    if (process.platform === "linux")
      parts.push(
        readFileSync("/proc/sys/kernel/random/boot_id", "utf8"),
        readlinkSync("/proc/self/ns/pid"),
      );
  } catch {
    parts.push(randomText());
  }
  machine = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 16);
  return machine;
}

/**
 * A unique name for one holding of one lock: machine, process and a random part. It can be a file
 * name.
 */
export function newHolder(): string {
  return `${thisMachine()}.${process.pid}.${randomText()}`;
}

/** Recognises holders, because network shares and file browsers may leave other files there. */
const holderShape = /^([0-9a-f]{16})\.([1-9]\d{0,9})\.[0-9a-f]{16}$/;

/**
 * Whether the holder's process has certainly ended. Only processes of this machine can be checked.
 */
function hasEnded(holder: string): boolean {
  const [, on, pid] = holderShape.exec(holder) ?? [];
  if (on !== thisMachine()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return systemCode(error) === "ESRCH";
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

/**
 * Counts how long no beat was seen. This is for holders on other machines or with reused process
 * ids. At most `longestLookMs` between two looks count as watched, since the watcher may have been
 * suspended itself. A waiting process looks every few milliseconds, so no process watches a holder
 * that was last looked at `forgottenAfterMs` ago.
 */
export function watchHolders(
  clock: () => number = () => performance.now(),
  longestLookMs = 250,
  forgottenAfterMs = 60_000,
): Watch {
  const watched = new Map<string, { beat: number; lookedAt: number; silentMs: number }>();
  return (holder, beat) => {
    const at = clock();
    const before = watched.get(holder);
    const silentMs =
      before?.beat === beat ? before.silentMs + Math.min(at - before.lookedAt, longestLookMs) : 0;
    watched.delete(holder);
    watched.set(holder, { beat, lookedAt: at, silentMs });
    // The first one was not looked at for the longest time. Nothing waits for its lock any more.
    for (const [unwatched, { lookedAt }] of watched)
      if (at - lookedAt > forgottenAfterMs) watched.delete(unwatched);
      else break;
    return silentMs >= goneAfterMs;
  };
}

export interface HeldLock {
  /** The file or folder of the holder, which is gone when another process has taken over. */
  readonly held: string;
  /** Aborted with `store_locked` when a beat finds that another process has taken over. */
  readonly lease: AbortSignal;
  release(): void;
}

/** Sends beats, and looks whether the lock is still held, until it is released. */
function hold(lock: string, holder: string): HeldLock {
  const held = join(lock, holder);
  const lease = new AbortController();
  const timer = setInterval(() => {
    const now = new Date();
    try {
      // A promise would wait for a thread, which hashes and writes of the program may all occupy.
      utimesSync(held, now, now);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") return;
      clearInterval(timer);
      lease.abort(
        locked("Another process took the lock over, because this one gave no sign of life."),
      );
    }
  }, beatEveryMs);
  timer.unref();
  const release = (): void => {
    clearInterval(timer);
    free(lock, holder);
  };
  return { held, lease: lease.signal, release };
}

/** Each of the two calls fails if another process holds the lock. */
function free(lock: string, holder: string): void {
  quietly(() => rmSync(join(lock, holder), { recursive: true, force: true }));
  quietly(() => rmdirSync(lock));
}

function locked(message: string): StoreError {
  return new StoreError("store_locked", message);
}

/** Waits longer after more tries, and for a random time so that processes do not stay in step. */
export function pause(tries: number): Promise<void> {
  const ms = Math.min(40, 1 + 2 * tries) * (0.5 + Math.random());
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const isSilent: Watch = watchHolders();

/** Makes the folder of a lock, and in it the file or folder of the holder. */
export type Make = (lock: string, holder: string) => void | Promise<void>;

export const withFile =
  (write: (path: string) => void | Promise<void>): Make =>
  (lock, holder) => {
    mkdirSync(lock, { mode: 0o700 });
    return write(join(lock, holder));
  };

const withEmptyFile = withFile((path) => writeFileSync(path, "", { mode: 0o600 }));

/** It is moved where the disk is full, so that entries can still be removed then. */
const spare = "spare/holder";

export function makeSpare(locks: string): void {
  makeFolders(join(locks, spare));
}

export const withFolder: Make = (lock, holder) => {
  try {
    makeFolders(join(lock, holder));
  } catch (error) {
    const from = join(dirname(lock), spare);
    const isMoved = quietly(() => {
      renameSync(from, join(dirname(from), holder));
      renameSync(dirname(from), lock);
      return true;
    });
    if (!isFull(error) || !isMoved) throw error;
  }
};

/**
 * Takes the lock at this path, whose parent exists. Tries until `endsAt` on the clock
 * `performance.now()`, and at least once.
 */
export async function takeLock(
  lock: string,
  timeoutMs: number,
  endsAt: number,
  { make = withEmptyFile, isGone = isSilent }: { make?: Make; isGone?: Watch } = {},
): Promise<HeldLock> {
  for (let tries = 0; ; tries++) {
    const living = freeUnlessHeld(lock, isGone);
    const holder = newHolder();
    if (living === undefined && (await claim(lock, holder, make))) return hold(lock, holder);
    if (performance.now() >= endsAt) {
      const by =
        living === undefined ? `other processes, or a file in ${lock},` : describeHolder(living);
      throw locked(`The lock was not free within ${timeoutMs} ms: ${by} held it.`);
    }
    await pause(tries);
  }
}

async function claim(lock: string, holder: string, make: Make): Promise<boolean> {
  const made = `${lock}~${randomText()}`;
  try {
    await make(made, holder);
    return isRenamed(made, lock);
  } catch (error) {
    // The sweep of another process removed the folder while it was empty.
    if (systemCode(error) !== "ENOENT") throw error;
    return false;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** A change takes milliseconds. */
const changeLimitMs = 10_000;

/**
 * Runs a change under a lock. All that it makes or removes elsewhere, it renames from or to the
 * file or folder of the holder, whose path it gets. That fails if another process took the lock
 * over, and then the change begins anew.
 */
export async function underLock<T>(
  lock: string,
  make: Make,
  change: (held: string) => T | Promise<T>,
  timeoutMs: number = changeLimitMs,
): Promise<T> {
  const endsAt = performance.now() + timeoutMs;
  for (let tries = 0; ; tries++) {
    const { held, release } = await takeLock(lock, timeoutMs, endsAt, { make });
    try {
      return await change(held);
    } catch (error) {
      if (!isLost(error) || performance.now() >= endsAt) throw error;
    } finally {
      release();
      quietly(() => makeSpare(dirname(lock)));
    }
    await pause(tries);
  }
}

/** Removes what holders that are gone have left. Returns the living holder, if there is one. */
function freeUnlessHeld(lock: string, isGone: Watch): string | undefined {
  let living: string | undefined;
  for (const holder of undefinedIfMissing(() => readdirSync(lock)) ?? []) {
    // Network shares and file browsers may leave other files there.
    if (!holderShape.test(holder)) continue;
    const beat = statSync(join(lock, holder), { throwIfNoEntry: false })?.mtimeMs;
    if (beat !== undefined && (hasEnded(holder) || isGone(holder, beat))) free(lock, holder);
    else if (beat !== undefined) living = holder;
  }
  return living;
}

/** After this time without a beat no waiting process need have watched a holder. */
const staleMs = 600_000;

/** Sweeps are rare, so two looks within a day suffice if five seconds are between them. */
const isStillSilent: Watch = watchHolders(undefined, goneAfterMs, 86_400_000);

/**
 * Frees a lock if its holder has certainly ended, or gave no sign of life for ten minutes and none
 * since an earlier sweep of this process. That one is needed because a step of the wall clock also
 * makes beats look old, or far ahead. Also removes an empty lock that was never finished.
 */
export function sweepLock(lock: string): void {
  freeUnlessHeld(
    lock,
    (holder, beat) => Math.abs(Date.now() - beat) > staleMs && isStillSilent(holder, beat),
  );
  quietly(() => rmdirSync(lock));
}
