// Defines a row of the benchmark, and times two tasks against each other in one process.

/** Where the compiled package lies. */
export interface Build {
  readonly folder: string;
  /** The main entry as Node loads it, as a module URL. */
  readonly main: string;
}

export interface Figures {
  /** The figure that the aim is about: a ratio (ours to theirs), a size or a time. */
  readonly value: number;
  /** The tenth and the ninetieth percentile of the rounds; both equal the value where nothing varies. */
  readonly low: number;
  readonly high: number;
  /** The two sides by themselves, with units. */
  readonly detail: string;
}

export interface Row {
  readonly name: string;
  /** What is compared with what. */
  readonly title: string;
  readonly unit: "times" | "kB" | "ms" | "MiB";
  /** The highest `value` that meets the aim. */
  readonly aim: number;
  /** @throws NotMeasured when something that the row needs is not there */
  measure(build: Build): Promise<Figures>;
}

/** Its message is the reason, which is printed instead of the figures. */
export class NotMeasured extends Error {}

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

export function medianOf(figures: readonly number[]): number {
  return spreadOf(figures).median;
}

/** Runs its task `times` times, one after the other. */
export type Loop = (times: number) => Promise<void>;

export interface Comparison {
  /** Ours to theirs, of each round. */
  readonly ratio: Spread;
  /** Median nanoseconds of one run. */
  readonly ours: number;
  readonly theirs: number;
}

const ROUNDS = 41;
const WARM_UP_ROUNDS = 6;
/** A slice is shorter than a usual disturbance of the machine, which therefore affects both sides alike. */
const SLICE_MS = 1;
const SLICES_PER_ROUND = 50;

/** Times both tasks in turn, slice by slice. `time` returns the nanoseconds of one run. */
export async function compare(
  ours: Loop,
  theirs: Loop,
  time: typeof nanoseconds = nanoseconds,
): Promise<Comparison> {
  const times = { ours: await timesFor(ours), theirs: await timesFor(theirs) };
  const rounds: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const sum = { ours: 0, theirs: 0 };
    for (let slice = 0; slice < SLICES_PER_ROUND; slice++) {
      sum.ours += await time(ours, times.ours);
      sum.theirs += await time(theirs, times.theirs);
    }
    rounds.push({ ours: sum.ours / SLICES_PER_ROUND, theirs: sum.theirs / SLICES_PER_ROUND });
  }
  const kept = rounds.slice(WARM_UP_ROUNDS);
  return {
    ratio: spreadOf(kept.map((round) => round.ours / round.theirs)),
    ours: medianOf(kept.map((round) => round.ours)),
    theirs: medianOf(kept.map((round) => round.theirs)),
  };
}

/** Nanoseconds of one run. */
async function nanoseconds(loop: Loop, times: number): Promise<number> {
  const startedAt = process.hrtime.bigint();
  await loop(times);
  return Number(process.hrtime.bigint() - startedAt) / times;
}

/** Nanoseconds of processor time of one run: other processes do not add to it. The tasks must wait for nothing. */
export async function processorTime(loop: Loop, times: number): Promise<number> {
  const startedAt = process.cpuUsage();
  await loop(times);
  const { user, system } = process.cpuUsage(startedAt);
  return ((user + system) * 1_000) / times;
}

/** How many runs fill a slice, once the code is warm. */
async function timesFor(loop: Loop): Promise<number> {
  for (let times = 1; ; times *= 2) {
    const tookMs = ((await nanoseconds(loop, times)) * times) / 1e6;
    if (tookMs > 50) return Math.max(1, Math.round((times * SLICE_MS) / tookMs));
  }
}
