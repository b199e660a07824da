// Fake timers whose clock moves in steps, with room between the steps for what takes real time, such as a signature.
import { onTestFinished, vi } from "vitest";
import { START } from "../support/stepped-clock.js";
import { settle } from "./fake-service.js";

/** Well below what a test may really wait, and enough for a handful of signatures. */
const realPauseMs = 6;

export interface TimeTravel {
  /** Moves the clock on; 0 only lets everything run that needs no more time. */
  readonly advance: (ms: number, stepMs?: number) => Promise<void>;
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
  const realPause = () => new Promise((resolve) => realSetTimeout(resolve, realPauseMs));
  const pause = () => (isPure ? settle() : realPause());
  return {
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
