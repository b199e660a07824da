// Measures how the processor time of some work grows with the size of its input, as a slope and
// never as a time.

/** Work whose input a stranger chooses. */
export interface Entry {
  readonly name: string;
  /**
   * The largest input that is tried, in characters: the most that the entry reads, where it has a
   * limit.
   */
  readonly most: number;
  /** Makes an input of that size, and returns the work on it. Only the work is measured. */
  readonly prepare: (size: number) => (() => unknown) | Promise<() => unknown>;
  /**
   * What is said of the largest input: that it got as far as the code that the entry is about, and
   * not to an earlier refusal.
   */
  readonly reaches: RegExp;
}

/**
 * Processor time grows with the size to this power at most. It is 1 for linear and 2 for quadratic
 * work, and up to 1.6 where large values cost the garbage collector more for each byte than small
 * ones.
 */
const MOST_GROWTH = 1.7;
/**
 * The sizes that are measured, as shares of the largest. The first shows what does not depend on
 * the size.
 */
const SHARES = [1 / 64, 1 / 8, 1 / 4, 1 / 2, 1];
/**
 * A busy machine only ever adds time, so the least of several rounds counts. The last rounds are
 * for what still looks steep.
 */
const ROUNDS = { least: 3, most: 20 };
/** A difference of less than this share of a time says nothing. */
const NOISE = 0.4;
/**
 * A sample repeats its work for at least so long, so that one garbage collection does not decide.
 */
const SAMPLE_MICROSECONDS = 1_500;
/**
 * No machine goes through the pairs of 60,000 characters in this time, so the slope of such work
 * need not be measured.
 */
const QUICK_MICROSECONDS = 4_000;

/**
 * Returns the names of the entries whose processor time grows faster than their input, and of those
 * that were not reached.
 */
export async function superLinear(entries: Iterable<Entry>): Promise<string[]> {
  const found: string[] = [];
  for (const entry of entries) {
    const largest = await entry.prepare(entry.most);
    const said = await textOf(await largest());
    if (!entry.reaches.test(said)) found.push(`${entry.name} is answered ${said.slice(0, 200)}`);
    else if (!(await isLinear(entry, largest))) found.push(entry.name);
  }
  return found;
}

async function isLinear({ most, prepare }: Entry, largest: () => unknown): Promise<boolean> {
  for (let run = 0; run < 2; run++)
    if ((await processorTime(largest, 1)) < QUICK_MICROSECONDS) return true;
  const runs = await Promise.all(SHARES.map((share) => prepare(Math.ceil(most * share))));
  // The first round warms up, and finds how often to repeat.
  const repeats: number[] = [];
  for (const run of runs) {
    const spent = Math.max(await processorTime(run, 1), 1);
    repeats.push(Math.min(1_000, Math.ceil(SAMPLE_MICROSECONDS / spent)));
  }
  const times = runs.map(() => Number.POSITIVE_INFINITY);
  // A round goes through all sizes, so that a busy moment of the machine spares none.
  for (let round = 1; round <= ROUNDS.most; round++) {
    for (const [at, run] of runs.entries())
      times[at] = Math.min(times[at] ?? 0, await processorTime(run, repeats[at] ?? 1));
    if (round >= ROUNDS.least && exponentOf(times) < MOST_GROWTH) return true;
  }
  return false;
}

async function textOf(result: unknown): Promise<string> {
  if (!(result instanceof Response)) return String(result);
  return `${result.status} ${result.headers.get("location") ?? (await result.text())}`;
}

async function processorTime(run: () => unknown, repeats: number): Promise<number> {
  const start = process.cpuUsage();
  for (let left = repeats; left > 0; left--) await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / repeats;
}

/**
 * The mean exponent of the doublings, but for the largest. Buffers from some size on are mapped
 * anew by the system, and a collection of garbage begins at some size: each is a step in one
 * doubling, while quadratic work has the exponent 2 in all.
 */
function exponentOf([base = 0, ...times]: readonly number[]): number {
  // What does not depend on the size is left out.
  const own = times.map((time) => Math.max(time - base, NOISE * base));
  const doublings = own.slice(1).map((time, at) => Math.log2(time / (own[at] ?? time)));
  const sum = doublings.reduce((total, one) => total + one, 0);
  return (sum - Math.max(...doublings)) / (doublings.length - 1);
}
