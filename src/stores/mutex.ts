/** Runs this process's tasks with the same key one after another, in the order in which they came. */
import { StoreError } from "../errors.js";

/** If the wait exceeds `timeoutMs`, rejects with `store_locked` and leaves the queue. */
export type Mutex = <T>(key: string, timeoutMs: number, task: () => Promise<T>) => Promise<T>;

export function mutex(): Mutex {
  const tails = new Map<string, Promise<void>>();
  return async (key, timeoutMs, task) => {
    const before = tails.get(key);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = Promise.resolve(before).then(() => released);
    tails.set(key, tail);
    tail.then(() => {
      if (tails.get(key) === tail) tails.delete(key);
    });
    try {
      if (before !== undefined) await within(before, timeoutMs);
      return await task();
    } finally {
      release();
    }
  };
}

function within(before: Promise<void>, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = new StoreError("store_locked", `The lock was not free within ${timeoutMs} ms.`);
    // A timer set for longer than 2^31 - 1 ms would fire at once.
    const timer = setTimeout(() => reject(late), Math.min(timeoutMs, 2 ** 31 - 1));
    before.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
