// A clock that moves only when a test moves it.
import "./load-at-once.js";
import { onTestFinished, vi } from "vitest";
import type { Script } from "./recording-server.js";
import { pendingCrypto, settle } from "./wait.js";

export interface SteppedClock {
  /** Returns epoch milliseconds, and can be passed as the option `now`. */
  readonly now: () => number;
  advance(ms: number): void;
}

/** A whole second, so that `Date` headers and claims are exact. */
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

/** A clock for the code under test whose waits end at once, so that an answer that is delayed costs a test no time. */
export function waitless(now: () => number = Date.now): { now(): number; sleep(): Promise<void> } {
  return { now, sleep: async () => {} };
}

/**
 * A time limit for the code under test. `skippedWaits` skips neither its timers nor those of its multiples, so no wait of
 * the schedule may have this length: with its jitter a wait takes 2 to 2.5 s, 4 to 5 s, 8 to 10 s, and so on.
 */
export const LIMIT_MS = 13_501;

/** The time limit of a call of a store that only saves requests. It is shorter than any wait of the schedule. */
const STORE_LIMIT_MS = 1_900;

/** Skips the waits of the retry schedule, and makes the clock the only time. Returns the list of skipped waits, in milliseconds and in order. */
export function skippedWaits(clock: SteppedClock): number[] {
  const waits: number[] = [];
  const realTimeout = globalThis.setTimeout;
  const skipping = (task: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    // Only the waits of the schedule are skipped. The timers of Node, of sockets (which have arguments) and of calls of a
    // store run.
    if (args.length > 0 || ms % LIMIT_MS === 0 || ms === STORE_LIMIT_MS || ms < 500 || ms > 120_000)
      return realTimeout(task, ms, ...args);
    waits.push(ms);
    clock.advance(ms);
    return realTimeout(task, 0);
  };
  vi.stubGlobal("setTimeout", skipping);
  const real = vi.spyOn(performance, "now").mockImplementation(() => clock.now());
  onTestFinished(() => {
    vi.unstubAllGlobals();
    real.mockRestore();
  });
  return waits;
}

/** The `timeoutMs` to pass to the code under test. */
export const HELD_LIMIT_MS = 58_765;

/** Holds time limits of `HELD_LIMIT_MS`: `expire` ends the limit that was set last, unless it was cleared. */
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

/** The same script, except that silence makes the client's time limit expire. */
export function overWhereSilent(script: Script, { expire }: { expire(): void }): Script {
  return (request) => {
    const answer = script(request);
    if (answer === "silence") setImmediate(expire);
    return answer;
  };
}

/** Long enough for a signature on another thread to begin. */
const realPauseMs = 6;

export interface TimeTravel {
  /** Moves the clock on. 0 only runs all work that needs no more time. */
  readonly advance: (ms: number, stepMs?: number) => Promise<void>;
  /** Moves the clock on until the promise is settled. */
  readonly through: <T>(promise: Promise<T>, mostMs?: number) => Promise<T>;
  /** Waits, without moving the clock, for work that takes real time. */
  readonly until: (isSo: () => boolean) => Promise<void>;
}

/** Fakes timers, `Date.now` and `performance.now` until the test ends. With `isPure` nothing under test takes real time. */
export function timeTravel({ isPure = false }: { isPure?: boolean } = {}): TimeTravel {
  const realSetTimeout = globalThis.setTimeout;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"], now: START });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const pending = pendingCrypto();
  const realPause = async () => {
    // It must be idle twice in a row, since the code under test may begin another signature after one.
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
