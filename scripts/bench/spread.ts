// The middle of some figures and how far they lie apart.

export interface Spread {
  readonly median: number;
  /** Tenth percentile. */
  readonly low: number;
  /** Ninetieth percentile. */
  readonly high: number;
}

export function spreadOf(figures: readonly number[]): Spread {
  const sorted = [...figures].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
  return { median: at(0.5), low: at(0.1), high: at(0.9) };
}
