// The emulator's only clock. It shows real time until a test moves it.
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";

/** Epoch milliseconds, a `Date`, or text that `Date` reads, such as `2026-03-01T12:00:00Z`. */
export type Instant = number | string | Date;

/** The instant that a clock starts with. */
export interface ClockStart {
  readonly at: Instant;
  readonly frozen?: boolean | undefined;
}

/** ECMAScript limits a Date to 100,000,000 days before and after 1970. */
const FURTHEST_MS = 8.64e15;
/** Without a zone, a string would mean different instants on different machines. */
const ZONED = /(Z|[+-]\d{2}:?\d{2})$/i;

const skipSchema = z.strictObject({ timeoutMs: z.number().min(0).default(4000) });

/**
 * The only clock for tokens, codes, jti values, rate windows, `Retry-After`, sessions and `Date`.
 * It can be moved forward and back, within the range of `Date`, at once. It then runs on unless it
 * is frozen.
 *
 * After a step back, expired tokens and codes are valid again, and used jti values are refused
 * again, if they are still stored. An emulator deletes the expired ones of a kind only when it
 * stores 1024 of that kind.
 *
 * @example
 * emulator.clock.freeze("2026-03-01T12:00:00Z");
 * emulator.clock.advance(119_999); // a code from that instant is still valid
 */
export class EmulatorClock {
  /** The sleeps that have not ended: when each ends, by this clock, and what ends it. */
  readonly #sleeps = new Set<{ readonly endsAt: number; readonly end: () => void }>();
  readonly #base: () => number;
  readonly #start: ClockStart | undefined;
  #offsetMs = 0;
  #frozenAt: number | undefined;

  /** @internal */
  constructor(base: () => number, start?: ClockStart) {
    this.#base = () => readBase(base);
    this.#start = start;
    // A wrong option is reported at once.
    this.#base();
    this.reset();
  }

  /** Epoch milliseconds. */
  now(): number {
    if (this.#frozenAt !== undefined) return this.#frozenAt;
    // At the limits of Date it stops, so that everything computed from it is a valid date.
    return Math.max(-FURTHEST_MS, Math.min(FURTHEST_MS, this.#base() + this.#offsetMs));
  }

  get frozen(): boolean {
    return this.#frozenAt !== undefined;
  }

  /**
   * Takes epoch milliseconds, a `Date` or a string with a zone.
   * @throws EmulatorError `option_invalid`
   */
  set(instant: Instant): void {
    const at = readInstant(instant);
    if (this.frozen) this.#frozenAt = at;
    else this.#offsetMs = at - this.#base();
    for (const { endsAt, end } of this.#sleeps) if (endsAt <= at) end();
  }

  /** Moves the clock, backwards if negative. @throws EmulatorError `option_invalid` */
  advance(milliseconds: number): void {
    if (typeof milliseconds !== "number") throw invalid("clock: milliseconds must be a number");
    this.set(this.now() + milliseconds);
  }

  /**
   * Stops it at `instant`. `set` and `advance` still move it.
   * @throws EmulatorError `option_invalid`
   */
  freeze(instant: Instant = this.now()): void {
    this.set(instant);
    this.#frozenAt = readInstant(instant);
  }

  /** Lets a frozen clock run on from its instant. */
  resume(): void {
    if (this.#frozenAt === undefined) return;
    this.#offsetMs = this.#frozenAt - this.#base();
    this.#frozenAt = undefined;
  }

  /**
   * Resolves when the clock has been moved on by `milliseconds`, and after that long in real time
   * at the latest. A client with this clock as its option `clock` waits with it. Rejects with the
   * signal's reason when it is aborted.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#sleeps.delete(sleep);
        signal?.removeEventListener("abort", end);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      };
      const sleep = { endsAt: this.now() + milliseconds, end };
      const timer = setTimeout(end, milliseconds);
      this.#sleeps.add(sleep);
      signal?.addEventListener("abort", end);
      if (signal?.aborted) end();
    });
  }

  /**
   * Waits until something sleeps on this clock, and moves it to the end of the shortest sleep.
   * Resolves with the milliseconds that it moved. `timeoutMs` is real time; by default it ends
   * before the time of a test runner does.
   *
   * @throws EmulatorError `sleep_timeout`
   */
  async skipSleep(options: { readonly timeoutMs?: number | undefined } = {}): Promise<number> {
    const { timeoutMs } = parseInput(skipSchema, options, "skipSleep");
    const startedAt = performance.now();
    while (this.#sleeps.size === 0) {
      if (performance.now() - startedAt > timeoutMs)
        throw new EmulatorError("sleep_timeout", notSlept(timeoutMs));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const endsAt = Math.min(...[...this.#sleeps].map((sleep) => sleep.endsAt));
    const milliseconds = Math.max(0, endsAt - this.now());
    this.advance(milliseconds);
    return milliseconds;
  }

  /** Returns to real time, or to the clock that the seed defines. */
  reset(): void {
    this.#frozenAt = undefined;
    this.#offsetMs = 0;
    if (this.#start?.frozen) this.freeze(this.#start.at);
    else if (this.#start !== undefined) this.set(this.#start.at);
  }
}

const notSlept = (timeoutMs: number) =>
  `skipSleep: nothing waited on this clock within ${timeoutMs} ms. ` +
  `Pass it to the client as the option \`clock\`, start the call before and await it after ` +
  `skipSleep, and look into \`journal\` whether the call has ended already. ` +
  `The fault \`slow\` waits in real time, which skipSleep cannot skip.`;

/** Calls the option `now`. @throws EmulatorError `option_invalid` */
function readBase(base: () => number): number {
  let at: unknown;
  try {
    at = base();
  } catch (cause) {
    throw invalid("now: must not throw", cause);
  }
  if (Number.isFinite(at)) return at as number;
  throw invalid("now: must return epoch milliseconds");
}

/** Returns epoch milliseconds. @throws EmulatorError `option_invalid` */
function readInstant(instant: Instant): number {
  if (typeof instant === "string" && !ZONED.test(instant.trim())) {
    throw invalid("clock: an instant as a string needs a time zone: 2026-03-01T12:00:00Z");
  }
  // A Date may come from another realm. `new Date(null)` would be 1970, so null must not count as
  // one.
  const isDate =
    typeof instant === "string" || Object.prototype.toString.call(instant) === "[object Date]";
  const at: unknown = isDate ? new Date(instant).getTime() : instant;
  if (typeof at === "number" && Math.abs(at) <= FURTHEST_MS) return at;
  throw invalid(
    "clock: an instant must be epoch milliseconds, a Date, or a string like 2026-03-01T12:00:00Z",
  );
}

function invalid(issue: string, cause?: unknown): EmulatorError {
  return new EmulatorError("option_invalid", issue, { issues: [issue], cause });
}
