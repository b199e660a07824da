/** Lets the tasks of one process run one after another, in the order in which they came. */
import { StoreError } from "../errors.js";

/** A timer set for longer fires at once (2^31-1 ms is the most): so long is for ever. */
const longestWaitMs = 2 ** 31 - 1;

export interface Turns {
  /**
   * Resolves when everybody before has finished, with what ends this turn.
   *
   * @throws StoreError `store_locked` when that takes too long; the place is given up to those behind
   */
  take(key: string, timeoutMs: number): Promise<() => void>;
}

/** Turns under one key wait for each other; turns of different keys do not. */
export function mutex(): Turns {
  const tails = new Map<string, Promise<void>>();
  return {
    async take(key, timeoutMs) {
      const before = tails.get(key) ?? Promise.resolve();
      let finish = () => {};
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const tail = before.then(() => finished);
      tails.set(key, tail);
      tail.then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      try {
        await inTime(before, timeoutMs);
      } catch (error) {
        finish();
        throw error;
      }
      return finish;
    },
  };
}

function inTime(before: Promise<void>, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new StoreError("store_locked", `The lock was not had within ${timeoutMs} ms.`)),
      Math.min(timeoutMs, longestWaitMs),
    );
    before.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
