/** The store of tokens and detections that many processes can share. */

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
