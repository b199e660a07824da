/** The store of tokens and detections that many processes can share. */
import { inTime, type ResolvedClock } from "../../clock.js";
import { isBivariantError, StoreError } from "../../errors.js";

/** An entry of a {@link TokenStore}. */
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
  /**
   * The time (milliseconds) after a write in which a crash of the store may still lose it. A
   * refresh token is sent only after the store has held the note about it for so long. Default: 0,
   * a write that was acknowledged stays.
   */
  readonly lossWindowMs?: number | undefined;
  /** Resolves with the entry, or with `undefined` if it is missing or has expired. */
  get(key: string): Promise<StoredValue | undefined>;
  /**
   * Writes a value. With `ifVersion` it replaces only that version (`null`: it writes only if
   * nothing is stored) and otherwise throws `store_conflict`. After `expiresAt` (epoch
   * milliseconds) the store may forget it. If `signal` is aborted before the write began, the store
   * may drop it.
   */
  set(
    key: string,
    value: string,
    options?: {
      readonly ifVersion?: string | null;
      readonly expiresAt?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<StoredValue>;
  /** Removes the entry. Does nothing for a key without one. */
  delete(key: string): Promise<void>;
  /**
   * Runs a task while no other task runs under the same key. If the lock has a lease, the task gets
   * a signal that is aborted when the lease is lost: the task then must not write any more.
   *
   * @throws StoreError `store_locked` when the lock was not acquired in time: the task did not run
   */
  lock<T>(
    key: string,
    task: (lease?: AbortSignal) => Promise<T>,
    options?: { readonly timeoutMs?: number },
  ): Promise<T>;
}

/**
 * The error for a fault of the user's store. Its message may hold a secret, such as a URL with a
 * password.
 */
function storeErrorOf(fault: unknown): unknown {
  if (isBivariantError(fault)) return fault;
  return new StoreError("store_unavailable", "The store failed. See the cause.", { cause: fault });
}

/**
 * Adds time limits to the user's store, and lets only StoreErrors out of it, and the errors of a
 * locked task as they are. The limit of a lock is on the wait for it, not on its task.
 */
export function withStoreErrors(
  store: TokenStore,
  timeoutMs: number,
  clock: ResolvedClock,
): TokenStore {
  const within = <T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const given = new AbortController();
    // The async function is needed because a user's store may also throw synchronously.
    const running = (async () => operation(given.signal))().catch((fault: unknown) => {
      throw storeErrorOf(fault);
    });
    return inTime(running, timeoutMs, clock, () => {
      const message =
        `The store did not answer within ${timeoutMs} ms. ` +
        "Check its connection, or raise timeoutMs.";
      const cause = new DOMException("The store did not answer in time.", "TimeoutError");
      const late = new StoreError("store_unavailable", message, { cause });
      given.abort(late);
      return late;
    });
  };
  return {
    lossWindowMs: store.lossWindowMs,
    // Many clients of databases return null for a missing row.
    get: async (key) => (await within(() => store.get(key))) ?? undefined,
    set: (key, value, options) => within((signal) => store.set(key, value, { ...options, signal })),
    delete: (key) => within(() => store.delete(key)),
    lock: (key, task, { timeoutMs: waitMs = timeoutMs } = {}) =>
      new Promise((resolve, reject) => {
        const message = `The lock was not free within ${waitMs} ms. Try again later, or check the store.`;
        const late = () => new StoreError("store_locked", message);
        let running: ReturnType<typeof task> | undefined;
        let isOver = false;
        const end = (error?: unknown): void => {
          isOver = true;
          clock.clearTimeout(timer);
          // The outcome of a task that began counts, even if the store loses the lock or does not
          // release it.
          if (running === undefined) reject(error);
          else resolve(running);
        };
        const run = async (given?: unknown): Promise<void> => {
          if (isOver) throw late();
          // A store may pass anything to its task, for instance by `queue.then(task)`.
          const lease = given instanceof AbortSignal ? given : undefined;
          clock.clearTimeout(timer);
          running ??= (async () => task(lease))();
          await running.catch(() => {});
          if (!isOver) timer = clock.setTimeout(end, timeoutMs);
        };
        // The store's own limit ends earlier, because its error says more.
        let timer = clock.setTimeout(() => end(late()), waitMs + timeoutMs);
        (async () => store.lock(key, run, { timeoutMs: waitMs }))().then(
          () =>
            end(storeErrorOf(new Error("The store's lock() resolved without running its task."))),
          (fault: unknown) => end(storeErrorOf(fault)),
        );
      }),
  };
}
