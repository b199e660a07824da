// Waits: for background work to settle, for a rejection, for pending cryptography.
import "./load-at-once.js";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { onTestFinished, vi } from "vitest";

/** Enough time for another thread to make a signature. */
const leastMs = 10;
/** Not that of a test's fake timers. */
const realNow = performance.now.bind(performance);

export async function settled(): Promise<void> {
  const end = realNow() + leastMs;
  for (let turns = 0; turns < 30 || realNow() < end; turns++)
    await new Promise((resolve) => setImmediate(resolve));
}

const methods = ["sign", "verify", "digest", "importKey", "exportKey"] as const;

/** Counts the operations of WebCrypto that have begun and not ended, until the test ends. */
export function pendingCrypto(): () => number {
  let pending = 0;
  for (const name of methods) {
    const own = Object.getOwnPropertyDescriptor(crypto.subtle, name);
    const original = crypto.subtle[name] as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]): Promise<unknown> => {
      pending++;
      return Promise.resolve(original.apply(crypto.subtle, args)).finally(() => {
        pending--;
      });
    };
    Object.defineProperty(crypto.subtle, name, { value: counted, configurable: true, writable: true });
    onTestFinished(() => {
      // The method is on the prototype unless another test replaced it.
      if (own === undefined) Reflect.deleteProperty(crypto.subtle, name);
      else Object.defineProperty(crypto.subtle, name, own);
    });
  }
  return () => pending;
}

/** Returns the error that a promise rejects with. @throws Error when the promise is fulfilled */

export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection, and it was fulfilled");
}

export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
}

/** Waits for all work that needs neither time nor another thread. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Whether a promise settles without more time. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  promise.then(over, over);
  await settle();
  return isOver;
}

/**
 * Replaces the digest that fingerprints of secrets use by one that needs no other thread, so that `settle` waits for all
 * work. It still changes with its input.
 */
export function stillDigests(): void {
  const spy = vi.spyOn(crypto.subtle, "digest").mockImplementation(async (_algorithm, data) => {
    const bytes = new Uint8Array(data as ArrayBuffer);
    const sums = new Uint8Array(32);
    for (const [index, byte] of bytes.entries())
      sums[index % 32] = ((sums[index % 32] ?? 0) * 31 + byte) % 256;
    return sums.buffer;
  });
  onTestFinished(() => spy.mockRestore());
}
