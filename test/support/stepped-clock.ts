// A clock that moves only when a test moves it.
import "./load-at-once.js";

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
