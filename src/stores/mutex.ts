/** Runs the tasks of one process under one key one after another, in the order of their arrival. */
import { StoreError } from "../errors.js";

/** A timer set for longer than this fires at once. */
const longestTimerMs = 2 ** 31 - 1;

export interface Mutex {
  /**
   * Resolves when all earlier holders of the key have finished, with the function that releases it.
   *
   * @throws StoreError `store_locked` after `timeoutMs`; the place in the queue is given up
   */
  take(key: string, timeoutMs: number): Promise<() => void>;
}

export function mutex(): Mutex {
  const tails = new Map<string, Promise<void>>();
  return {
    async take(key, timeoutMs) {
      const before = tails.get(key) ?? Promise.resolve();
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const tail = before.then(() => released);
      tails.set(key, tail);
      tail.then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      try {
        await inTime(before, timeoutMs);
      } catch (error) {
        release();
        throw error;
      }
      return release;
    },
  };
}

function inTime(before: Promise<void>, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new StoreError("store_locked", `The lock was not free within ${timeoutMs} ms.`)),
      Math.min(timeoutMs, longestTimerMs),
    );
    before.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
