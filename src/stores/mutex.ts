/**
 * Runs this process's tasks with the same key one after another, in the order in which they came.
 */
import { inTime, type ResolvedClock } from "../clock.js";
import { StoreError } from "../errors.js";

/** If the wait exceeds `timeoutMs`, rejects with `store_locked` and leaves the queue. */
export type Mutex = <T>(key: string, timeoutMs: number, task: () => Promise<T>) => Promise<T>;

export function mutex(clock: ResolvedClock): Mutex {
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
      if (before !== undefined) await inTime(before, timeoutMs, clock, () => late(timeoutMs));
      return await task();
    } finally {
      release();
    }
  };
}

const late = (timeoutMs: number) =>
  new StoreError("store_locked", `The lock was not free within ${timeoutMs} ms.`);
