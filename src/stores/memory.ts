/** A token store in the memory of this process. */
import type { StoredValue, TokenStore } from "../auth/token-store.js";
import { StoreError } from "../errors.js";
import { turns } from "./turns.js";

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
 * @example
 * const connector = createConnector({ credentials, store: memoryStore() });
 */
export function memoryStore({
  now = Date.now,
  mostEntries = Number.POSITIVE_INFINITY,
}: MemoryStoreOptions = {}): TokenStore {
  const entries = new Map<string, StoredValue & { expiresAt: number }>();
  const queue = turns();
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
      const entry = read(key);
      return entry && { value: entry.value, version: entry.version };
    },
    async set(key, value, { ifVersion, expiresAt = Number.POSITIVE_INFINITY } = {}) {
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
      entries.delete(key);
    },
    async lock(key, task, { timeoutMs = 10_000 } = {}) {
      const finish = await queue.take(key, timeoutMs);
      try {
        return await task();
      } finally {
        finish();
      }
    },
  };
}
