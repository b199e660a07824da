// A clock that moves only when a test moves it.
import "./load-at-once.js";
import { onTestFinished, vi } from "vitest";
import type { Script } from "./recording-server.js";

export interface SteppedClock {
  /** Epoch milliseconds; fits the option `now`. */
  readonly now: () => number;
  advance(ms: number): void;
}

/** A whole second, so that `Date` headers and claims lose nothing. */
export const START: number = Date.UTC(2026, 0, 1, 12, 0, 0);

export function steppedClock(start: number = START): SteppedClock {
  let at = start;
  return {
    now: () => at,
    advance(ms) {
      at += ms;
    },
  };
}

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

/** The `timeoutMs` to give to what is under test. */
export const HELD_LIMIT_MS = 58_765;

/** `expire` ends the limit that was set last, unless it was taken back. */
export function heldTimeLimit(): { expire(): void } {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis;
  let last: { handle: unknown; task: () => void } | undefined;
  vi.stubGlobal("setTimeout", (task: () => void, ms?: number, ...rest: unknown[]) => {
    if (ms !== HELD_LIMIT_MS) return realSet(task, ms, ...rest);
    const handle = realSet(() => {}, 0);
    last = { handle, task };
    return handle;
  });
  vi.stubGlobal("clearTimeout", (handle: Parameters<typeof clearTimeout>[0]) => {
    if (last?.handle === handle) last = undefined;
    realClear(handle);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return { expire: () => last?.task() };
}

/** The same script, but where it leaves the client waiting the client's time limit is over. */
export function overWhereSilent(script: Script, { expire }: { expire(): void }): Script {
  return (request) => {
    const answer = script(request);
    if (answer === "silence") setImmediate(expire);
    return answer;
  };
}
