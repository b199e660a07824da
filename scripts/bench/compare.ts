// Times two tasks against each other in one process: in turn, so that what disturbs one disturbs the other too.
import { type Spread, spreadOf } from "./spread.js";

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
/** Short beside what disturbs a machine, so that a round's disturbance falls on both sides alike. */
const SLICE_MS = 1;
const SLICES_PER_ROUND = 50;

export async function compare(ours: Loop, theirs: Loop): Promise<Comparison> {
  const times = { ours: await timesFor(ours), theirs: await timesFor(theirs) };
  const rounds: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const sum = { ours: 0, theirs: 0 };
    for (let slice = 0; slice < SLICES_PER_ROUND; slice++) {
      sum.ours += await nanoseconds(ours, times.ours);
      sum.theirs += await nanoseconds(theirs, times.theirs);
    }
    rounds.push({ ours: sum.ours / SLICES_PER_ROUND, theirs: sum.theirs / SLICES_PER_ROUND });
  }
  const kept = rounds.slice(WARM_UP_ROUNDS);
  return {
    ratio: spreadOf(kept.map((round) => round.ours / round.theirs)),
    ours: spreadOf(kept.map((round) => round.ours)).median,
    theirs: spreadOf(kept.map((round) => round.theirs)).median,
  };
}

async function nanoseconds(loop: Loop, times: number): Promise<number> {
  const startedAt = process.hrtime.bigint();
  await loop(times);
  return Number(process.hrtime.bigint() - startedAt) / times;
}

/** How many runs fill a slice, once the code is warm. */
async function timesFor(loop: Loop): Promise<number> {
  for (let times = 1; ; times *= 2) {
    const tookMs = ((await nanoseconds(loop, times)) * times) / 1e6;
    if (tookMs > 50) return Math.max(1, Math.round((times * SLICE_MS) / tookMs));
  }
}
