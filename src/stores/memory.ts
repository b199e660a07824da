/** A token store in the memory of this process. */
import type { StoredValue, TokenStore } from "../auth/shared/token-store.js";
import { type ClockOptions, resolveClock } from "../clock.js";
import { StoreError } from "../errors.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireOptions } from "../options.js";
import { requireEntry, requireKey, requireLock } from "./arguments.js";
import { mutex } from "./mutex.js";

export interface MemoryStoreOptions extends ClockOptions {
  /**
   * The most entries to keep. Beyond that, the entry that was written longest ago is dropped.
   * Default: no limit.
   */
  readonly mostEntries?: number | undefined;
}

const names: NamesOf<MemoryStoreOptions> = { clock: true, mostEntries: true };

/**
 * Keeps values until they expire or the process ends. Two stores share nothing.
 *
 * @throws ConfigurationError `option_invalid`, also from its methods, for an argument of the wrong
 * type
 * @example
 * const connector = createConnector({ credentials, store: memoryStore() });
 */
export function memoryStore(options: MemoryStoreOptions = {}): TokenStore {
  const { mostEntries = Number.POSITIVE_INFINITY } = requireOptions("memoryStore", options, names);
  const clock = resolveClock(options);
  if (!(mostEntries >= 1)) throw invalidOption("mostEntries", "must be a number, 1 or more");
  const entries = new Map<string, StoredValue & { expiresAt: number }>();
  const locked = mutex(clock);
  let writes = 0;

  const read = (key: string) => {
    const entry = entries.get(key);
    if (entry !== undefined && entry.expiresAt <= clock.now()) {
      entries.delete(key);
      return undefined;
    }
    return entry;
  };

  return {
    async get(key) {
      requireKey(key);
      const entry = read(key);
      return entry && { value: entry.value, version: entry.version };
    },
    async set(key, value, setOptions) {
      const { ifVersion, expiresAt = Number.POSITIVE_INFINITY } = requireEntry(
        key,
        value,
        setOptions,
      );
      if (ifVersion !== undefined && (read(key)?.version ?? null) !== ifVersion)
        throw new StoreError(
          "store_conflict",
          "Another write changed this entry first. Read it again.",
        );
      writes++;
      // This drops expired entries that are never read again.
      if (writes % 1_000 === 0) for (const old of [...entries.keys()]) read(old);
      const entry = { value, version: String(writes), expiresAt };
      // After this, the first key of the Map is always the one that was written longest ago.
      entries.delete(key);
      entries.set(key, entry);
      if (entries.size > mostEntries) entries.delete(entries.keys().next().value ?? key);
      return { value, version: entry.version };
    },
    async delete(key) {
      requireKey(key);
      entries.delete(key);
    },
    lock: async (key, task, lockOptions) => locked(key, requireLock(key, task, lockOptions), task),
  };
}
