// The emulator's only clock: real time until a test moves it.
import { EmulatorError } from "./errors.js";

export type Instant = number | string | Date;

/** How a clock differs from the one it is based on. */
export type ClockState = { readonly offsetMs: number } | { readonly frozenAt: number };

/** ECMAScript: a Date reaches 100,000,000 days either way. */
const FURTHEST_MS = 8.64e15;
/** An instant without a zone means another one on every machine. */
const ZONED = /(Z|[+-]\d{2}:?\d{2})$/i;

/**
 * The one clock of tokens, codes, jti values, rate windows, `Retry-After`, sessions and `Date`. Every change takes
 * effect at once; forward and back, as far as a `Date` reaches. It runs on from wherever it is put unless it is frozen.
 *
 * A step back revives expired tokens, codes and jti values that are still stored: as soon as an emulator holds 1024 of a
 * kind, it deletes the expired ones. Until then a replay is refused at any instant.
 *
 * @example
 * emulator.clock.freeze("2026-03-01T12:00:00Z");
 * emulator.clock.advance(119_999); // a code of that instant is still good
 */
export class EmulatorClock {
  readonly #base: () => number;
  readonly #initial: (base: number) => ClockState;
  #state: ClockState;

  /** @internal */
  constructor(base: () => number, initial: (base: number) => ClockState = () => ({ offsetMs: 0 })) {
    this.#base = () => readBase(base);
    this.#initial = initial;
    this.#state = initial(this.#base());
  }

  /** Epoch milliseconds. */
  now(): number {
    if ("frozenAt" in this.#state) return this.#state.frozenAt;
    // At the end of time it stands still: everything that is made of an instant stays a date.
    return Math.max(-FURTHEST_MS, Math.min(FURTHEST_MS, this.#base() + this.#state.offsetMs));
  }

  get frozen(): boolean {
    return "frozenAt" in this.#state;
  }

  /** Epoch milliseconds, a `Date`, or a string with a time zone. @throws EmulatorError `option_invalid` */
  set(instant: Instant): void {
    const at = readInstant(instant);
    this.#state = this.frozen ? { frozenAt: at } : { offsetMs: at - this.#base() };
  }

  /** Moves it by milliseconds, backwards if negative. @throws EmulatorError `option_invalid` */
  advance(milliseconds: number): void {
    if (typeof milliseconds !== "number") throw invalid("clock: milliseconds must be a number");
    this.set(this.now() + milliseconds);
  }

  /** Stops it there or where it is; `set` and `advance` still move it. @throws EmulatorError `option_invalid` */
  freeze(instant: Instant = this.now()): void {
    this.#state = { frozenAt: readInstant(instant) };
  }

  /** Lets it run on from where it stands. */
  resume(): void {
    if ("frozenAt" in this.#state) this.#state = { offsetMs: this.#state.frozenAt - this.#base() };
  }

  /** Back to real time, or to where the seed has it begin. */
  reset(): void {
    this.#state = this.#initial(this.#base());
  }
}

/** The result of the option `now`. @throws EmulatorError `option_invalid` */
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

/** Epoch milliseconds. @throws EmulatorError `option_invalid` */
export function readInstant(instant: Instant): number {
  if (typeof instant === "string" && !ZONED.test(instant.trim())) {
    throw invalid("clock: an instant as a string needs a time zone: 2026-03-01T12:00:00Z");
  }
  // A Date may be of another realm; null must not be one, which `new Date` would read as 1970.
  const isDate = typeof instant === "string" || Object.prototype.toString.call(instant) === "[object Date]";
  const at: unknown = isDate ? new Date(instant).getTime() : instant;
  if (typeof at === "number" && Math.abs(at) <= FURTHEST_MS) return at;
  throw invalid(
    "clock: an instant must be epoch milliseconds, a Date, or a string like 2026-03-01T12:00:00Z",
  );
}

function invalid(issue: string, cause?: unknown): EmulatorError {
  return new EmulatorError("option_invalid", issue, { issues: [issue], cause });
}
