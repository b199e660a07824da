/**
 * `bivariant/stores/file`: a token store in a folder, shared by the processes of one user.
 * @packageDocumentation
 */
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import type { TokenStore } from "../auth/shared/token-store.js";
import { type ClockOptions, resolveClock } from "../clock.js";
import { StoreError } from "../errors.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireOptions } from "../options.js";
import { requireEntry, requireKey, requireLock } from "./arguments.js";
import {
  type Encryption,
  type EncryptionKey,
  encryptionWith,
  makeKey,
  plaintext,
} from "./encryption.js";
import { type Place, readIntact, remove, replace } from "./file-entry.js";
import { checkFolder, followLink, makeFolder, requireOwnFolder } from "./file-folder.js";
import { pause, sweepLock, takeLock } from "./file-lock.js";
import { asStoreError, isFull, quietly, unavailable } from "./file-system.js";
import { mutex } from "./mutex.js";

export type { EncryptionKey } from "./encryption.js";

/** Each write also looks at so many other entries and locks, to remove them if they are over. */
const sweptAtOnce = 4;

/** The options of {@link fileStore}. */
export interface FileStoreOptions extends ClockOptions {
  /** Encrypts the values and hides the key names. Either this or `plaintext: true` is required. */
  readonly key?: EncryptionKey | undefined;
  /** Stores values without encryption, and hashes of the key names. Default false. */
  readonly plaintext?: boolean | undefined;
}

/** The file of an entry, or a lock, in its folder. */
type Swept = { readonly folder: string; readonly name: string };

const names: NamesOf<FileStoreOptions> = { key: true, plaintext: true, clock: true };

/**
 * Keeps values in a folder for any number of processes of one machine, each entry in a file of its
 * own. A process that is killed leaves the old value or the new one, and nothing that others wait
 * for.
 *
 * The folder (mode 0700) is refused if other users own or may use it, and so is a link of another
 * user. The damaged file of an entry is set aside in the folder `corrupt` in it. That is reported
 * once, as `store_corrupt`, and the entry is missing then. A folder with another key is refused and
 * left as it is. With a key, values are JWE (RFC 7516) that are bound to their key name, version
 * and expiry.
 *
 * @throws ConfigurationError `option_invalid`, at once
 * @example
 * // openssl rand -base64 32 makes a key
 * const store = fileStore("tokens", { key: process.env.STORE_KEY });
 * const connector = createConnector({ credentials, store });
 */
export function fileStore(path: string, options: FileStoreOptions = {}): TokenStore {
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    throw invalidOption("path", "must be the path of a folder");
  const given = resolve(path);
  const encryption = chosenEncryption(requireOptions("fileStore", options, names));
  const clock = resolveClock(options);
  const [writes, locks] = [mutex(clock), mutex(clock)];
  let checked: string | undefined;
  let toSweep: Swept[] = [];
  let sweepingAll: Promise<void> | undefined;

  /** Returns the path of the folder after its checks. It is made if it is missing and wanted. */
  const findFolder = async (isWanted: boolean): Promise<string> => {
    for (;;) {
      const { at, stats } = followLink(given);
      // The marker is read again when the folder is another one, or has changed.
      const identity = `${at} ${stats?.ino} ${stats?.ctimeMs}`;
      if (identity === checked) return at;
      if (stats !== undefined) {
        requireOwnFolder(at, stats);
        if (await checkFolder(at, encryption)) {
          checked = identity;
          return at;
        }
      } else if (at !== given)
        throw unavailable(`${given} is a link to a missing file. Correct the link.`);
      if (!isWanted) return at;
      await makeFolder(at, encryption);
    }
  };

  const guarded = async <T>(
    key: string,
    isWanted: boolean,
    task: (place: Place) => Promise<T>,
  ): Promise<T> => {
    try {
      const name = await encryption.nameOf(key);
      const place = { root: await findFolder(isWanted), name, encryption };
      return await task(place).catch(async (error) => {
        if (!isFull(error)) throw error;
        // Expired entries make room. All writes that find the disk full wait for the same sweep.
        sweepingAll ??= sweepAll(place.root).finally(() => {
          sweepingAll = undefined;
        });
        await sweepingAll;
        return task(place);
      });
    } catch (error) {
      throw asStoreError(error, given);
    }
  };

  const isOver = ({ expiresAt }: { readonly expiresAt?: unknown }) =>
    typeof expiresAt === "number" && expiresAt <= clock.now();

  /**
   * Runs a change of an entry after the others of this process. They wait in 64 queues, by the
   * first character of the hash, so that not too many files are open at once.
   */
  const queued = <T>({ name }: Place, change: () => Promise<T>): Promise<T> =>
    writes(name.slice(0, 1), Number.POSITIVE_INFINITY, change);

  const listAll = (root: string): Swept[] => {
    const below = (folder: string) =>
      (quietly(() => readdirSync(join(root, folder))) ?? []).map((name) => ({ folder, name }));
    const all = ["entries", "locks"].flatMap(below);
    // Processes that end after few writes must not all look at the same ones.
    const start = Math.floor(Math.random() * all.length);
    return [...all.slice(start), ...all.slice(0, start)];
  };

  /** What cannot be removed now will be another time. */
  const sweep = async (root: string, list: Swept[]): Promise<void> => {
    for (const { folder, name } of list.splice(-sweptAtOnce))
      try {
        if (folder === "locks") sweepLock(join(root, folder, name));
        else await remove({ root, name, encryption }, isOver, 0);
      } catch {}
  };

  const sweepAll = async (root: string): Promise<void> => {
    for (const all = listAll(root); all.length > 0; await pause(0)) await sweep(root, all);
  };

  return {
    get: async (key) => {
      requireKey(key);
      return guarded(key, false, async (place) => {
        const entry = await readIntact(place);
        if (entry === undefined || isOver(entry)) return undefined;
        return { value: entry.value, version: entry.version };
      });
    },
    set: async (key, value, setOptions) => {
      const { ifVersion, expiresAt, signal } = requireEntry(key, value, setOptions);
      // JSON cannot hold infinity.
      const finite =
        expiresAt === Number.POSITIVE_INFINITY ? undefined : expiresAt && Math.max(expiresAt, 0);
      return guarded(key, true, async (place) => {
        const written = await queued(place, () => {
          // The caller has given up while this write was queued.
          signal?.throwIfAborted();
          return replace(place, value, finite, (current) => {
            const version = current === undefined || isOver(current) ? null : current.version;
            if (ifVersion !== undefined && version !== ifVersion)
              throw new StoreError(
                "store_conflict",
                "Another write changed this entry first. Read it again.",
              );
          });
        });
        if (toSweep.length === 0) toSweep = listAll(place.root);
        await sweep(place.root, toSweep);
        return written;
      });
    },
    delete: async (key) => {
      requireKey(key);
      return guarded(key, false, async (place) => {
        await readIntact(place);
        await queued(place, () => remove(place, () => true));
      });
    },
    async lock(key, task, lockOptions) {
      const timeoutMs = requireLock(key, task, lockOptions);
      const endsAt = performance.now() + timeoutMs;
      return locks(key, timeoutMs, async () => {
        const { lease, release } = await guarded(key, true, ({ root, name }) =>
          takeLock(join(root, "locks", name), timeoutMs, endsAt),
        );
        try {
          return await task(lease);
        } finally {
          release();
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
  throw invalidOption(
    "key",
    "is missing",
    `${makeKey}. Or set plaintext: true to keep tokens readable.`,
  );
}
