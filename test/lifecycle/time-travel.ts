// Fake timers whose clock moves in steps, with room between the steps for what takes real time, such as a signature.
import { onTestFinished, vi } from "vitest";
import { START } from "../support/clock.js";
import { pendingCrypto } from "../support/wait.js";
import { settle } from "./fake-service.js";

/** Well below what a test may really wait, and enough for a handful of signatures. */
const realPauseMs = 6;

export interface TimeTravel {
  /** Moves the clock on; 0 only lets everything run that needs no more time. */
  readonly advance: (ms: number, stepMs?: number) => Promise<void>;
  /** Moves the clock on until the promise is settled; however busy the machine, it is not outrun by much. */
  readonly through: <T>(promise: Promise<T>, mostMs?: number) => Promise<T>;
  /** Waits, without moving the clock, for what takes real time. */
  readonly until: (isSo: () => boolean) => Promise<void>;
}

/** Takes over timers and `Date.now` until the test ends. Where `isPure`, nothing that runs takes real time. */
export function timeTravel({ isPure = false }: { isPure?: boolean } = {}): TimeTravel {
  const realSetTimeout = globalThis.setTimeout;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: START });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const pending = pendingCrypto();
  const realPause = async () => {
    // Twice idle: what a signature was waited for by may make another.
    for (let idle = 0; idle < 2; idle = pending() === 0 ? idle + 1 : 0)
      await new Promise((resolve) => realSetTimeout(resolve, realPauseMs / 2));
  };
  const pause = () => (isPure ? settle() : realPause());
  return {
    async through(promise, mostMs = 600_000) {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      promise.then(over, over);
      for (let passed = 0; !isOver && passed < mostMs; passed += 500) {
        await vi.advanceTimersByTimeAsync(500);
        await realPause();
      }
      return promise;
    },
    async advance(ms, stepMs = 500) {
      await pause();
      for (let left = ms; left > 0; left -= stepMs) {
        await vi.advanceTimersByTimeAsync(Math.min(stepMs, left));
        await pause();
      }
    },
    async until(isSo) {
      for (let pauses = 0; pauses < 1_000 && !isSo(); pauses++) await realPause();
      await realPause();
    },
  };
}
