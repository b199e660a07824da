/** The store of tokens and detections that many processes can share. */
import { isBivariantError, StoreError } from "../errors.js";

export interface StoredValue {
  readonly value: string;
  /** The version changes with every write. */
  readonly version: string;
}

/**
 * A store of short strings under short keys.
 *
 * @throws StoreError `store_unavailable`, `store_locked`, `store_corrupt`, `store_conflict`
 */
export interface TokenStore {
  get(key: string): Promise<StoredValue | undefined>;
  /**
   * Writes a value. With `ifVersion` it replaces only that version (`null`: it writes only if nothing is stored) and
   * otherwise throws `store_conflict`. After `expiresAt` (epoch milliseconds) the store may forget it.
   */
  set(
    key: string,
    value: string,
    options?: { readonly ifVersion?: string | null; readonly expiresAt?: number },
  ): Promise<StoredValue>;
  delete(key: string): Promise<void>;
  /**
   * Runs a task while no other task runs under the same key.
   *
   * @throws StoreError `store_locked` when the lock was not acquired in time: the task did not run
   */
  lock<T>(key: string, task: () => Promise<T>, options?: { readonly timeoutMs?: number }): Promise<T>;
}

/** The error for a fault of the user's store. Its message may hold a secret, such as a URL with a password. */
export function storeErrorOf(fault: unknown): unknown {
  if (isBivariantError(fault)) return fault;
  return new StoreError("store_unavailable", "The store failed. See the cause.", { cause: fault });
}

/** Lets only StoreErrors out of the user's store, and the errors of a locked task as they are. */
export function withStoreErrors(store: TokenStore): TokenStore {
  const guarded = async <T>(operation: () => Promise<T>): Promise<T> => {
    try {
      return await operation();
    } catch (fault) {
      throw storeErrorOf(fault);
    }
  };
  return {
    get: (key) => guarded(() => store.get(key)),
    set: (key, value, options) => guarded(() => store.set(key, value, options)),
    delete: (key) => guarded(() => store.delete(key)),
    async lock<T>(key: string, task: () => Promise<T>, options?: { readonly timeoutMs?: number }) {
      let running: Promise<T> | undefined;
      await guarded(() =>
        store.lock(
          key,
          async () => {
            running = task();
            await running.catch(() => {});
          },
          options,
        ),
      );
      if (running === undefined) throw storeErrorOf(undefined);
      return running;
    },
  };
}
