/** `bivariant/store-file`: a token store in a file, shared by the processes of one user. */
import { lstat, readlink } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import type { StoredValue, TokenStore } from "../auth/token-store.js";
import { StoreError } from "../errors.js";
import { type ClockOptions, invalidOption, requireClock, requireObject } from "../options.js";
import { requireEntry, requireKey, requireLock } from "./arguments.js";
import { type Encryption, type EncryptionKey, encryptionWith, makeKey, plaintext } from "./encryption.js";
import {
  asStoreError,
  clearUp,
  Damaged,
  type Entries,
  type Entry,
  formatEntries,
  isOwn,
  readEntries,
  replaceFile,
  setAside,
  unavailable,
  undefinedIfMissing,
} from "./file-contents.js";
import { FileLocks } from "./file-lock.js";
import { mutex } from "./mutex.js";

export type { EncryptionKey } from "./encryption.js";

/** A write takes milliseconds: a wait of 10 s means that another process hangs. Writes of this process may queue. */
const writeLimits = { timeoutMs: 10_000, queueMs: Number.POSITIVE_INFINITY };

export interface FileStoreOptions extends ClockOptions {
  /** Encrypts the values and hides the key names. Either this or `plaintext: true` is required. */
  readonly key?: EncryptionKey | undefined;
  /** Stores values and key names without encryption. Default false. */
  readonly plaintext?: boolean | undefined;
}

/**
 * Keeps values in an encrypted file for any number of processes. A process that is killed leaves the old
 * contents or the new ones. Locks and unfinished writes are in the folder `<path>.locks` next to the file.
 *
 * The file (mode 0600) and the folder of the locks (0700) are refused if other users own or may use them, and so is a
 * link of another user. A damaged file is set aside as `<path>.corrupt-<timestamp>`, and that is reported once; behind a
 * link it is left as it is. A file with another key is refused and left as it is. With a key, values are JWE (RFC 7516) that are bound to their key name, version and expiry.
 *
 * @throws ConfigurationError `option_invalid`, at once
 * @example
 * // openssl rand -base64 32 makes a key
 * const store = fileStore("tokens.json", { key: process.env.STORE_KEY });
 * const connector = createConnector({ credentials, store });
 */
export function fileStore(path: string, options: FileStoreOptions = {}): TokenStore {
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    throw invalidOption("path", "must be the path of a file");
  const given = resolve(path);
  const encryption = chosenEncryption(requireObject("options", options));
  const now = requireClock(options);
  const files = new FileLocks();
  const queued = mutex();

  const guarded = async <T>(task: (at: string) => Promise<T>): Promise<T> => {
    try {
      return await task(await followLink(given));
    } catch (error) {
      throw asStoreError(error, given);
    }
  };

  /** Runs a task on the entries under the write lock. A damaged file is set aside instead, unless it is behind a link. */
  const exclusively = <T>(
    at: string,
    task: (entries: Entries, save: () => Promise<void>) => Promise<T>,
    signal?: AbortSignal,
  ) =>
    files.write(`${at}.locks`, writeLimits, async (own) => {
      // The caller has given up while this write was queued.
      signal?.throwIfAborted();
      const corrupt = await clearUp(at, own);
      if (corrupt !== undefined) throw corrupt;
      try {
        const entries = await readEntries(at, encryption);
        return await task(entries, async () => {
          for (const [name, entry] of entries) if (isOver(entry)) entries.delete(name);
          await replaceFile(at, await formatEntries(entries, encryption), own);
        });
      } catch (error) {
        if (!(error instanceof Damaged)) throw error;
        throw at === given ? await setAside(at, error.message, own) : damagedTarget(given, at, error);
      }
    });

  const isOver = ({ expiresAt }: Entry) => expiresAt !== undefined && expiresAt <= now();

  const read = async (entries: Entries, name: string): Promise<StoredValue | undefined> => {
    const entry = entries.get(name);
    if (entry === undefined || isOver(entry)) return undefined;
    const { version, expiresAt } = entry;
    const value = await encryption.open(entry.value, { name, version, expiresAt });
    if (value === undefined) throw new Damaged("an entry was changed or moved");
    return { value, version };
  };

  return {
    get: (key) =>
      guarded(async (at) => {
        requireKey(key);
        const name = await encryption.nameOf(key);
        try {
          // No lock is needed, because the file is replaced whole. File times are too coarse for a cache.
          return await read(await readEntries(at, encryption), name);
        } catch (error) {
          if (!(error instanceof Damaged)) throw error;
        }
        // Another process may have set the file aside meanwhile, and may even have written a new one.
        return exclusively(at, (entries) => read(entries, name));
      }),
    set: (key, value, setOptions) =>
      guarded(async (at) => {
        const entry = requireEntry(key, value, setOptions);
        const { ifVersion, expiresAt = Number.POSITIVE_INFINITY, signal } = entry;
        const name = await encryption.nameOf(key);
        const version = crypto.randomUUID();
        // JSON cannot hold infinity. Entries with minus infinity are dropped before the write.
        const expiry = expiresAt < Number.POSITIVE_INFINITY ? { expiresAt } : {};
        const sealed = await encryption.seal(value, { name, version, ...expiry });
        const write = async (entries: Entries, save: () => Promise<void>) => {
          const old = entries.get(name);
          const current = old === undefined || isOver(old) ? null : old.version;
          if (ifVersion !== undefined && current !== ifVersion)
            throw new StoreError("store_conflict", "Another write changed this entry first. Read it again.");
          entries.set(name, { version, ...expiry, value: sealed });
          await save();
          return { value, version };
        };
        return exclusively(at, write, signal);
      }),
    delete: (key) =>
      guarded(async (at) => {
        requireKey(key);
        const name = await encryption.nameOf(key);
        await exclusively(at, async (entries, save) => {
          if (entries.delete(name)) await save();
        });
      }),
    async lock(key, task, lockOptions) {
      const timeoutMs = requireLock(key, task, lockOptions);
      const endsAt = performance.now() + timeoutMs;
      return queued(key, timeoutMs, async () => {
        const release = await guarded(async (at) =>
          files.takeKey(`${at}.locks`, await encryption.nameOf(key), timeoutMs, endsAt),
        );
        try {
          return await task();
        } finally {
          await release();
        }
      });
    },
  };
}

function chosenEncryption({ key, plaintext: plain = false }: FileStoreOptions): Encryption {
  if (key !== undefined && plain !== false)
    throw invalidOption("plaintext", "must not be set together with key");
  if (key !== undefined) return encryptionWith(key);
  if (plain === true) return plaintext;
  throw invalidOption("key", "is missing", `${makeKey}. Or set plaintext: true to keep tokens readable.`);
}

/** As the kernel has it. */
const mostLinks = 40;

/**
 * Resolves a link, so that a write does not replace it, and all names of the file have the same locks. In a folder that
 * others may write to, such as /tmp, a link of another user could lead to any file of this one.
 */
async function followLink(path: string): Promise<string> {
  for (let at = path, links = 0; links <= mostLinks; links++) {
    const stats = await lstat(at).catch(undefinedIfMissing);
    if (stats === undefined && links > 0)
      throw unavailable(`${path} is a link to a missing file. Correct the link.`);
    if (!stats?.isSymbolicLink()) return at;
    if (!isOwn(stats))
      throw unavailable(`${at} is a link of another user. Remove it, or use a path in a folder of your own.`);
    const target = await readlink(at);
    at = isAbsolute(target) ? target : `${dirname(at)}/${target}`;
  }
  throw Object.assign(new Error("too many links"), { code: "ELOOP" });
}

/** The file may belong to another program, and nobody gave its own path to the store. */
function damagedTarget(link: string, at: string, { message }: Damaged): StoreError {
  const problem = `${link} is a link to ${at}, which cannot be read as a store: ${message}.`;
  return new StoreError(
    "store_corrupt",
    `${problem} It was left as it is. Correct the link, or move the file away.`,
  );
}
