// Waits: for all work that needs no time, for a rejection.
import "./load-at-once.js";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The work that goes on off the event loop and has not ended. */
let inFlight = 0;

/**
 * Makes a function whose work `settle` waits for, such as a fetch of a server on loopback or a
 * method of a store on disk.
 */
export function counted<This, A extends unknown[], T>(
  work: (this: This, ...args: A) => Promise<T>,
): (this: This, ...args: A) => Promise<T> {
  return async function (this: This, ...args) {
    inFlight++;
    try {
      return await work.apply(this, args);
    } finally {
      inFlight--;
    }
  };
}

// WebCrypto works on other threads.
const { prototype } = SubtleCrypto;
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
  if (typeof value === "function" && name !== "constructor")
    Object.defineProperty(prototype, name, {
      value: counted(value),
      configurable: true,
      writable: true,
    });

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

/** Turns of the event loop are real, also where a test fakes its timers. */
const realImmediate = setImmediate;

/** Waits for all work that needs no time, also on other threads. */
export async function settle(): Promise<void> {
  for (let idle = 0; idle < 3; idle = inFlight === 0 ? idle + 1 : 0)
    await new Promise((resolve) => realImmediate(resolve));
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
