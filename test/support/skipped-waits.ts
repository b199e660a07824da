// Waits that are skipped and remembered: a timer fires at once and moves the stepped clock by what it asked for.
import { onTestFinished, vi } from "vitest";
import type { SteppedClock } from "./stepped-clock.js";

/** The time limit to give to what is under test: its timer is left alone, for it is no wait. */
export const LIMIT_MS = 9_999;

/** Gives the list of the waits, in milliseconds and in order, that is filled as they are skipped. */
export function skippedWaits(clock: SteppedClock): number[] {
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  const skipping = (task: () => void, ms = 0) => {
    // Only the waits of the schedule; what Node itself uses timers for is left alone.
    if (ms === LIMIT_MS || ms < 500 || ms > 120_000) return real(task, ms);
    waits.push(ms);
    clock.advance(ms);
    return real(task, 0);
  };
  vi.stubGlobal("setTimeout", skipping);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return waits;
}
