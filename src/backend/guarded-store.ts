/** The user's token store, as the backend trusts it: it answers in time, fails in one way, and keeps nothing for ever. */
import type { TokenStore } from "../auth/token-store.js";
import { isBivariantError, StoreError } from "../errors.js";

export interface GuardOptions {
  readonly timeoutMs: number;
  readonly now: () => number;
  /** What is written without an end ends after this. */
  readonly longestMs: number;
}

/**
 * Bounds every answer by a time limit, and every entry by an end: how long a refresh token lives is not shown in the
 * description, and nobody may ever come back to have it forgotten.
 */
export function guardedStore(store: TokenStore, { timeoutMs, now, longestMs }: GuardOptions): TokenStore {
  const within = <T>(answer: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new StoreError("store_unavailable", `No answer of the store within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      // A store of the user's own may throw anything, at once too.
      (async () => answer())()
        .then(resolve, (fault: unknown) => reject(storeErrorOf(fault)))
        .finally(() => clearTimeout(timer));
    });
  return {
    get: (key) => within(() => store.get(key)),
    set: (key, value, options) =>
      within(() => store.set(key, value, { expiresAt: now() + longestMs, ...options })),
    delete: (key) => within(() => store.delete(key)),
    lock: <T>(key: string, task: () => Promise<T>, { timeoutMs: waitMs = timeoutMs } = {}) =>
      new Promise<T>((resolve, reject) => {
        let isWaiting = true;
        const stopWaiting = () => {
          isWaiting = false;
          clearTimeout(timer);
        };
        const giveUp = (error: unknown) => {
          if (isWaiting) reject(error);
          stopWaiting();
        };
        // The store's own limit comes first: it knows more.
        const late = new StoreError("store_locked", `The lock was not had within ${waitMs} ms.`);
        const timer = setTimeout(() => giveUp(late), waitMs + timeoutMs);
        const run = async (): Promise<void> => {
          if (!isWaiting) throw late;
          stopWaiting();
          // What comes of the task counts, whatever becomes of the lock: that may never be said to be released.
          await (async () => task())().then(resolve, reject);
        };
        (async () => store.lock(key, run, { timeoutMs: waitMs }))().catch((fault) =>
          giveUp(storeErrorOf(fault)),
        );
      }),
  };
}

function storeErrorOf(fault: unknown): unknown {
  if (isBivariantError(fault)) return fault;
  return new StoreError("store_unavailable", "The store failed; see the cause.", { cause: fault });
}
