// A clock that moves only when a test moves it. It is complete: with it nothing under test waits by
// real time.
import "./load-at-once.js";
import type { Clock } from "../../src/index.js";
import type { Script } from "./recording-server.js";
import { settle } from "./wait.js";

/** Its functions need no object, so `clock.now` can be passed alone. */
export interface SteppedClock extends Required<Clock> {
  /** Moves the clock on. Each sleep and each timer that becomes due ends at its instant. */
  advance(ms: number): void;
  /**
   * Moves the clock on as far as `advance`, and does at each instant all work that needs no more
   * time.
   */
  pass(ms: number): Promise<void>;
  /** Moves the clock on from timer to timer until the promise is settled. */
  through<T>(promise: Promise<T>, mostMs?: number): Promise<T>;
  /** Changes `now` alone, as the correction of a machine's clock does. */
  correct(byMs: number): void;
  /** Makes `random` return this number. Otherwise the numbers are the same in each run. */
  jitterAt(random: number): void;
  /**
   * From now on a sleep moves the clock on by itself, and ends. Returns the sleeps, in milliseconds
   * and in order.
   */
  skipSleeps(): number[];
  /** Moves the clock on to the end of the time limit that is due next. */
  expire(): void;
  /** Forgets all timers and sleeps, as a worker runtime does when it ends a request. */
  killTimers(): void;
  /** The number of timers and sleeps that have not ended. */
  timerCount(): number;
}

/** A whole second, so that `Date` headers and claims are exact. */
export const START: number = Date.UTC(2026, 0, 1, 12, 0, 0);

interface Timer {
  readonly at: number;
  readonly end: () => void;
  readonly isSleep: boolean;
}

export function steppedClock(start: number = START): SteppedClock {
  let [passedMs, correctedMs, seed] = [0, 0, 1];
  let jitter: number | undefined;
  let skipped: number[] | undefined;
  const timers = new Set<Timer>();
  const now = () => start + passedMs + correctedMs;
  const set = (end: () => void, ms: number, isSleep = false) => {
    const timer = { at: passedMs + Math.max(ms, 0), end, isSleep };
    timers.add(timer);
    return timer;
  };
  /** Of those at one instant the one that was set first. */
  const next = (isWanted: (timer: Timer) => boolean = () => true) =>
    [...timers]
      .filter(isWanted)
      .reduce<Timer | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);
  const advance = (ms: number) => {
    if (ms < 0) throw new Error("Time does not go back. A machine's clock can: use correct.");
    const end = passedMs + ms;
    for (let timer = next(); timer !== undefined && timer.at <= end; timer = next()) {
      passedMs = Math.max(passedMs, timer.at);
      timers.delete(timer);
      timer.end();
    }
    passedMs = Math.max(passedMs, end);
  };
  return {
    now,
    advance,
    monotonic: () => passedMs,
    random() {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return jitter ?? seed / 2 ** 32;
    },
    jitterAt(random) {
      jitter = random;
    },
    setTimeout: (task, ms) => set(task, ms),
    clearTimeout: (timer) => void timers.delete(timer as Timer),
    sleep(ms, signal) {
      if (skipped !== undefined) {
        skipped.push(ms);
        passedMs += ms;
        return new Promise((resolve) => setImmediate(resolve));
      }
      return new Promise((resolve, reject) => {
        const timer = set(resolve, ms, true);
        const end = () => {
          timers.delete(timer);
          reject(signal.reason);
        };
        signal.addEventListener("abort", end, { once: true });
      });
    },
    async pass(ms) {
      const end = passedMs + ms;
      await settle();
      for (let timer = next(); timer !== undefined && timer.at <= end; timer = next()) {
        advance(timer.at - passedMs);
        await settle();
      }
      advance(end - passedMs);
      await settle();
    },
    async through(promise, mostMs = 600_000) {
      const end = passedMs + mostMs;
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      promise.then(over, over);
      for (await settle(); !isOver; await settle()) {
        const timer = next();
        if (timer === undefined || timer.at > end)
          throw new Error(`The promise is not settled, and no timer is due within ${mostMs} ms.`);
        advance(timer.at - passedMs);
      }
      return promise;
    },
    correct(byMs) {
      correctedMs += byMs;
    },
    skipSleeps() {
      skipped = [];
      return skipped;
    },
    expire() {
      const limit = next(({ isSleep }) => !isSleep);
      if (limit === undefined) throw new Error("No time limit is set.");
      advance(limit.at - passedMs);
    },
    killTimers: () => timers.clear(),
    timerCount: () => timers.size,
  };
}

/**
 * A clock for the code under test whose waits end at once, so that an answer that is delayed costs
 * a test no time.
 */
export function waitless(now: () => number = Date.now): { now(): number; sleep(): Promise<void> } {
  return { now, sleep: async () => {} };
}

/**
 * A clock that a sleep moves on, and that then ends after a turn of the event loop. Time limits are
 * the machine's.
 */
export function movedBySleeps(): { now(): number; sleep(ms: number): Promise<void> } {
  let at = START;
  return {
    now: () => at,
    sleep(ms) {
      at += ms;
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** The same script, except that silence makes the client's time limit expire. */
export function overWhereSilent(script: Script, { expire }: { expire(): void }): Script {
  return (request) => {
    const answer = script(request);
    if (answer === "silence") setImmediate(expire);
    return answer;
  };
}
