/**
 * Locks of single keys of a file store, among processes: a file each, named for the key's hash and the holder. One is
 * made or cleared away under the write lock only; a holder that was suspended and taken over finds its file gone.
 */
import { createHash } from "node:crypto";
import { readdir, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { StoreError } from "../errors.js";
import { systemCode } from "./file-fault.js";
import { describeHolder, hasEnded, isHolder, newHolder, type Watch } from "./file-lock-holder.js";
import { checkLockFolder } from "./file-owner.js";
import { beatOf, keepAlive, pause, type WriteLock } from "./file-write-lock.js";

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
