/** A token store in the memory of this process. */
import type { StoredValue, TokenStore } from "../auth/token-store.js";
import { ConfigurationError, StoreError } from "../errors.js";
import { checkEntry, checkKey, checkLock, checkNow, optionsOf } from "./arguments.js";
import { mutex } from "./mutex.js";

/** What is past its expiry is dropped at the latest when this many other entries were written. */
const sweepEveryWrites = 1_000;

export interface MemoryStoreOptions {
  /** Epoch milliseconds. */
  readonly now?: (() => number) | undefined;
  /** Beyond so many entries the one written longest ago is forgotten. Default: none is. */
  readonly mostEntries?: number | undefined;
}

/**
 * Keeps values until they expire or the process ends. Two stores share nothing.
 *
 * @throws ConfigurationError `option_invalid`, at once; its methods too, for what is no text, instant or duration
 * @example
 * const connector = createConnector({ credentials, store: memoryStore() });
 */
export function memoryStore(options: MemoryStoreOptions = {}): TokenStore {
  const { mostEntries = Number.POSITIVE_INFINITY, now: given } = optionsOf(options) as MemoryStoreOptions;
  const now = checkNow(given);
  if (!(mostEntries >= 1))
    throw new ConfigurationError("option_invalid", "mostEntries is no number from 1.", {
      option: "mostEntries",
    });
  const entries = new Map<string, StoredValue & { expiresAt: number }>();
  const queue = mutex();
  let writes = 0;

  const read = (key: string) => {
    const entry = entries.get(key);
    if (entry !== undefined && entry.expiresAt <= now()) {
      entries.delete(key);
      return undefined;
    }
    return entry;
  };

  return {
    async get(key) {
      checkKey(key);
      const entry = read(key);
      return entry && { value: entry.value, version: entry.version };
    },
    async set(key, value, given) {
      const { ifVersion, expiresAt = Number.POSITIVE_INFINITY } = checkEntry(key, value, given);
      if (ifVersion !== undefined && (read(key)?.version ?? null) !== ifVersion)
        throw new StoreError("store_conflict", "Somebody else wrote this entry first; read it again.");
      writes++;
      if (writes % sweepEveryWrites === 0) for (const old of [...entries.keys()]) read(old);
      const entry = { value, version: String(writes), expiresAt };
      // Anew, so that the first in the Map's order is the one written longest ago.
      entries.delete(key);
      entries.set(key, entry);
      if (entries.size > mostEntries) entries.delete(entries.keys().next().value ?? key);
      return { value, version: entry.version };
    },
    async delete(key) {
      checkKey(key);
      entries.delete(key);
    },
    async lock(key, task, given) {
      const finish = await queue.take(key, checkLock(key, given, 10_000));
      try {
        return await task();
      } finally {
        finish();
      }
    },
  };
}
