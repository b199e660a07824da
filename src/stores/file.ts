/** `bivariant/store-file`: a token store in a file, shared by the processes of one user. */
import { lstat, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { performance } from "node:perf_hooks";
import type { StoredValue, TokenStore } from "../auth/token-store.js";
import { ConfigurationError, StoreError } from "../errors.js";
import { checkEntry, checkKey, checkLock, checkNow, optionsOf } from "./arguments.js";
import { type Encryption, type EncryptionKey, encryptionWith, makeKey, plaintext } from "./encryption.js";
import {
  asStoreError,
  clearUp,
  Damaged,
  type Entries,
  type Entry,
  formatEntries,
  readEntries,
  replaceFile,
  setAside,
  systemCode,
} from "./file-contents.js";
import { takeKeyLock, watchHolders, writeLock } from "./file-lock.js";
import { mutex } from "./mutex.js";

export type { EncryptionKey } from "./encryption.js";

/** Writes take milliseconds: who waits longer stands behind a process that hangs. Its own may be many. */
const writeLimits = { timeoutMs: 10_000, queueMs: Number.POSITIVE_INFINITY };

export interface FileStoreOptions {
  /** Encrypts the values and hides the key names. Either this or `plaintext: true` is required. */
  readonly key?: EncryptionKey | undefined;
  /** Keeps values and key names as they are. Default false. */
  readonly plaintext?: boolean | undefined;
  /** Epoch milliseconds: what entries expire by. */
  readonly now?: (() => number) | undefined;
}

/**
 * Keeps values in one file, encrypted, for any number of processes on it at once. Each write replaces the file as a
 * whole, so that a process killed at any moment leaves the old contents or the new ones. Locks and unfinished writes
 * live in the folder `<path>.locks` beside it; a killed holder's lock is free at once on the same machine and after
 * five seconds without a sign of life otherwise, also for a holder that was suspended so long: what it then writes
 * with `ifVersion` is a conflict.
 *
 * The file must be its user's alone (its own, mode 0600), the folder of the locks too (0700); else they are refused. A
 * link at `path` is followed, and its target replaced. The folder is made if it is missing, its parent is not. A file
 * that is torn, changed by hand or another program's is set aside as `<path>.corrupt-<timestamp>` and reported once; one
 * of another key is refused and left.
 *
 * With a key, values are JWE (RFC 7516, `dir` with `A256GCM`) bound to their key name, version and expiry, and key
 * names are HMACs. Whoever may write the file can still remove entries, or bring back an older file.
 *
 * @throws ConfigurationError `option_invalid`, at once
 * @example
 * // openssl rand -base64 32 makes a key
 * const store = fileStore("tokens.json", { key: process.env.STORE_KEY });
 * const connector = createConnector({ credentials, store });
 */
export function fileStore(path: string, options: FileStoreOptions = {}): TokenStore {
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    throw new ConfigurationError("option_invalid", "path is not the path of a file.", { option: "path" });
  const given = resolve(path);
  const encryption = chosenEncryption(optionsOf(options));
  const now = checkNow(options.now);
  const watch = watchHolders();
  const writes = writeLock(watch);
  const queue = mutex();

  const guarded = async <T>(task: (at: string) => Promise<T>): Promise<T> => {
    try {
      return await task(await followLink(given));
    } catch (error) {
      throw asStoreError(error, given);
    }
  };

  /** Runs a task on the entries while nobody else does; a damaged file is set aside instead. */
  const exclusively = <T>(
    at: string,
    task: (entries: Entries, save: () => Promise<void>) => Promise<T>,
  ): Promise<T> =>
    writes.run({ folder: locksOf(at), ...writeLimits }, async (own) => {
      const corrupt = await clearUp(at, own);
      if (corrupt !== undefined) throw corrupt;
      try {
        const entries = await readEntries(at, encryption);
        return await task(entries, async () => {
          for (const [name, entry] of entries) if (isOver(entry)) entries.delete(name);
          await replaceFile(at, await formatEntries(entries, encryption), own);
        });
      } catch (error) {
        throw error instanceof Damaged ? await setAside(at, error.message, own) : error;
      }
    });

  const isOver = ({ expiresAt }: Entry) => expiresAt !== undefined && expiresAt <= now();

  const read = async (entries: Entries, name: string): Promise<StoredValue | undefined> => {
    const entry = entries.get(name);
    if (entry === undefined || isOver(entry)) return undefined;
    const { version, expiresAt } = entry;
    const value = await encryption.open(entry.value, { name, version, expiresAt });
    if (value === undefined) throw new Damaged("an entry was changed or moved from its place");
    return { value, version };
  };

  return {
    get: (key) =>
      guarded(async (at) => {
        checkKey(key);
        const name = await encryption.nameOf(key);
        try {
          // Without a lock: the file is replaced as a whole. Anew every time: its times are too coarse to tell.
          return await read(await readEntries(at, encryption), name);
        } catch (error) {
          if (!(error instanceof Damaged)) throw error;
        }
        // Somebody else may have set it aside meanwhile, and even have begun anew.
        return exclusively(at, (entries) => read(entries, name));
      }),
    set: (key, value, options) =>
      guarded(async (at) => {
        const { ifVersion, expiresAt = Number.POSITIVE_INFINITY } = checkEntry(key, value, options);
        const name = await encryption.nameOf(key);
        const version = crypto.randomUUID();
        // JSON has no infinity. What expired before all time is dropped before it is written.
        const expiry = expiresAt < Number.POSITIVE_INFINITY ? { expiresAt } : {};
        const sealed = await encryption.seal(value, { name, version, ...expiry });
        return exclusively(at, async (entries, save) => {
          const old = entries.get(name);
          const current = old === undefined || isOver(old) ? null : old.version;
          if (ifVersion !== undefined && current !== ifVersion)
            throw new StoreError("store_conflict", "Somebody else wrote this entry first; read it again.");
          entries.set(name, { version, ...expiry, value: sealed });
          await save();
          return { value, version };
        });
      }),
    delete: (key) =>
      guarded(async (at) => {
        checkKey(key);
        const name = await encryption.nameOf(key);
        await exclusively(at, async (entries, save) => {
          if (entries.delete(name)) await save();
        });
      }),
    async lock(key, task, options) {
      const timeoutMs = checkLock(key, options, 10_000);
      const endsAt = performance.now() + timeoutMs;
      const finish = await queue.take(key, timeoutMs);
      try {
        const release = await guarded(async (at) => {
          const name = await encryption.nameOf(key);
          return takeKeyLock({ folder: locksOf(at), name, timeoutMs, endsAt, writes, watch });
        });
        try {
          return await task();
        } finally {
          await release();
        }
      } finally {
        finish();
      }
    },
  };
}

function chosenEncryption({ key, plaintext: plain = false }: FileStoreOptions): Encryption {
  if (key !== undefined && plain !== false)
    throw new ConfigurationError("option_invalid", "Give either a key or plaintext: true, not both.", {
      option: "plaintext",
    });
  if (key !== undefined) return encryptionWith(key);
  if (plain === true) return plaintext;
  const message = `A file store needs a key, or plaintext: true to keep tokens readable; ${makeKey}`;
  throw new ConfigurationError("option_invalid", message, { option: "key" });
}

function locksOf(path: string): string {
  return `${path}.locks`;
}

/** Once, before anything: so that the link stays, and whoever comes by another name meets at the same file. */
async function followLink(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isSymbolicLink())
      throw new StoreError(
        "store_unavailable",
        `${path} is a link to a file that is not there: mend the link.`,
      );
    return path;
  }
}
