/**
 * Where time and the randomness of jitter come from: the option `clock`, its default, and
 * countdowns.
 */
import { invalidOption, longestTimerMs, requireObject } from "./options.js";

/**
 * A clock of your own, for tests. `{ now }` is one, and `emulator.clock` of `bivariant/emulator` is
 * one. With one that has all members no time passes but its own.
 */
export interface Clock {
  /** Returns epoch milliseconds, for expiries, assertions and events. */
  now(): number;
  /**
   * Resolves at the end of a wait before another try (a rate limit, or the retry schedule), or
   * before a refusal that must not name a customer. The former counts in full, for pauses and
   * deadlines, even if it ended early or time stood still. The signal is aborted when nothing waits
   * for it any more. Default: by `setTimeout`.
   */
  sleep?(ms: number, signal: AbortSignal): Promise<void>;
  /**
   * Returns milliseconds that only grow, for deadlines, pauses and durations. It is passed together
   * with `setTimeout` and `clearTimeout`, which time limits use, or without them. By default all
   * three are those of this machine. A pause then ends when `now` or real time has moved that far,
   * and any limit by real time.
   */
  monotonic?(): number;
  /** Calls the task once, after that many milliseconds, and returns what `clearTimeout` takes. */
  setTimeout?(task: () => void, ms: number): unknown;
  /** Ends the wait that `setTimeout` began. */
  clearTimeout?(handle: unknown): void;
  /**
   * Returns a number from 0 up to 1. It is for jitter alone: secrets and ids are from WebCrypto.
   * Default: `Math.random`.
   */
  random?(): number;
}

export interface ClockOptions {
  /**
   * Default: the time of this machine. Its functions are looked up at each call, so that fake
   * timers work.
   */
  readonly clock?: Clock | undefined;
}

/** A clock that was checked and has all members. */
export interface ResolvedClock extends Required<Clock> {
  /**
   * Returns monotonic milliseconds, in which each wait before another try counts in full, so that
   * no loop is without end. After such a wait they are `leastMs` at least.
   */
  elapsed(leastMs?: number): number;
  /** Whether a step of `now` ends a pause, because the clock has no monotonic time of its own. */
  readonly isSteppedByNow: boolean;
}

/**
 * The globals are looked up at each call, and called by name: a browser refuses timers as methods.
 */
const machine: Required<Omit<Clock, "sleep">> = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (task, ms) => setTimeout(task, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
  random: () => Math.random(),
};

export const systemClock: ResolvedClock = /* @__PURE__ */ complete(machine);

/**
 * Checks the option `clock`, and adds the members that it lacks.
 * @throws ConfigurationError `option_invalid`
 */
export function resolveClock({ clock }: ClockOptions): ResolvedClock {
  if (clock === undefined) return systemClock;
  // A service inherits the clock of its Auth.
  if ("isSteppedByNow" in requireObject("clock", clock)) return clock as ResolvedClock;
  const completed = complete(clock);
  // With a clock that does not return numbers, either every token or none would count as expired.
  if ([completed.now(), completed.monotonic()].every(Number.isFinite)) return completed;
  throw invalidOption("clock", "must return numbers of milliseconds from now and monotonic");
}

function complete(given: Clock): ResolvedClock {
  const own: Partial<Clock> = {};
  for (const name of [
    "now",
    "sleep",
    "monotonic",
    "setTimeout",
    "clearTimeout",
    "random",
  ] as const) {
    const method: unknown = given[name];
    if (typeof method === "function") own[name] = method.bind(given);
    else if (method !== undefined || name === "now")
      throw invalidOption(`clock.${name}`, "must be a function");
  }
  const isSteppedByNow = own.monotonic === undefined;
  if ([own.setTimeout, own.clearTimeout].some((timer) => (timer === undefined) !== isSteppedByNow))
    throw invalidOption("clock", "must have monotonic, setTimeout and clearTimeout, or none");
  const time = { ...machine, ...own };
  const byTimer: ResolvedClock["sleep"] = (ms, signal) =>
    new Promise((resolve) => {
      const timer = time.setTimeout(resolve, ms);
      signal.addEventListener("abort", () => time.clearTimeout(timer));
    });
  const { sleep = byTimer } = own;
  // The clock of a test may stand still, so without timers of its own each sleep ends in real time
  // too.
  const sleeps = isSteppedByNow && own.sleep ? [sleep, byTimer] : [sleep];
  let [elapsedMs, readAt] = [0, time.monotonic()];
  return Object.freeze<ResolvedClock>({
    ...time,
    setTimeout: (task, ms) => time.setTimeout(task, Math.min(ms, longestTimerMs)),
    sleep: (ms, signal) => Promise.race(sleeps.map((one) => one(ms, signal))),
    elapsed(leastMs = 0) {
      const before = readAt;
      readAt = time.monotonic();
      elapsedMs = Math.max(elapsedMs + Math.max(readAt - before, 0), leastMs);
      return elapsedMs;
    },
    isSteppedByNow,
  });
}

/**
 * Starts the countdown of a pause. Returns a function that returns the milliseconds left, 0 or less
 * at the end. A clock that jumps does not end a pause; a test that steps only `now` does.
 */
export function countdown(ms: number, clock: ResolvedClock): () => number {
  const leftMs = deadlineIn(ms, clock);
  if (!clock.isSteppedByNow) return leftMs;
  const end = clock.now() + ms;
  return () => Math.min(leftMs(), end - clock.now());
}

/**
 * Starts the countdown to the end of all waits of a call, or to the time limit of work in flight.
 * No step of `now` ends it.
 */
export function deadlineIn(ms: number, { elapsed }: ResolvedClock): () => number {
  const end = elapsed() + ms;
  return () => end - elapsed();
}

/** Rejects with what `late` returns if the promise is not settled in time. */
export function inTime<T>(
  promise: Promise<T>,
  ms: number,
  clock: ResolvedClock,
  late: () => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => reject(late()), ms);
    promise.then(resolve, reject).finally(() => clock.clearTimeout(timer));
  });
}

/** A countdown that is over. It is one function, so that no instance has its own. */
export const zero = (): number => 0;
