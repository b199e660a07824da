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
/** Long enough for the clock and for the garbage of a round to fall into that round. */
const ROUND_MS = 60;

export async function compare(ours: Loop, theirs: Loop): Promise<Comparison> {
  const times = { ours: await timesFor(ours), theirs: await timesFor(theirs) };
  const rounds: { ours: number; theirs: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    // Who begins changes with every round: the second one meets the caches and the heap of the first.
    const first = round % 2 === 0;
    const a = first ? await nanoseconds(ours, times.ours) : undefined;
    const b = await nanoseconds(theirs, times.theirs);
    rounds.push({ ours: a ?? (await nanoseconds(ours, times.ours)), theirs: b });
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

/** How many runs fill a round, once the code is warm. */
async function timesFor(loop: Loop): Promise<number> {
  for (let times = 1; ; times *= 2) {
    const took = (await nanoseconds(loop, times)) * times;
    if (took > (ROUND_MS * 1e6) / 2) return Math.ceil((times * ROUND_MS * 1e6) / took);
  }
}
