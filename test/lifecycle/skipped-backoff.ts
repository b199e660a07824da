// The waits of the retry schedule, skipped and remembered beside a real socket, whose own timers are left alone.
import { onTestFinished, vi } from "vitest";
import type { SteppedClock } from "../support/clock.js";

/** Gives the list of the waits, in milliseconds, that is filled as they are skipped; each moves the clock. */
export function skippedBackoff(clock: SteppedClock): number[] {
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (task: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    // Only a wait with random jitter is no whole number; Node's own timers are whole.
    if (Number.isInteger(ms)) return real(task, ms, ...args);
    waits.push(ms);
    clock.advance(ms);
    return real(task, 0, ...args);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return waits;
}
