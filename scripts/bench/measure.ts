// Defines a row of the benchmark, and times two sides against each other: loops in one process, or
// programs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Where the compiled package lies. */
export interface Build {
  readonly folder: string;
  /** The main entry as Node loads it, as a module URL. */
  readonly main: string;
}

/** When a row may stop sampling. */
export interface Limit {
  /** The row's aim: an interval on one side of it needs no more samples once it is narrow. */
  readonly aim: number;
  /** The seconds that are left of the row's time when this is read, zero or more. */
  readonly seconds: number;
}

/** The median of some samples, and its 95 % confidence interval. */
interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface Figures extends Interval {
  /** This package by itself, with units, as in "21.4 µs CPU (23.0 µs)". */
  readonly ours: string;
  /** What it is compared with, by itself; absent where the aim is a plain limit. */
  readonly theirs?: string | undefined;
  readonly detail?: string | undefined;
}

/** Each row runs in a process of its own, which is killed when it takes far too long. */
export interface Row {
  readonly name: string;
  /** What is compared with what. */
  readonly title: string;
  /** The unit of the value and of the aim. */
  readonly unit: "times" | "kB" | "ms" | "s" | "MiB" | "requests";
  /** The highest `value` that meets the aim. */
  readonly aim: number;
  /** The wall time that the row may take on two quiet cores. */
  readonly seconds: number;
  /** @throws NotMeasured when something that the row needs is not there */
  measure(build: Build, limit: Limit): Promise<Figures>;
}

/** Its message is the reason, which is printed instead of the figures. */
export class NotMeasured extends Error {}

export type Verdict = "met" | "missed" | "too noisy to say";

export function verdictOn({ low, high }: Interval, aim: number): Verdict {
  if (high <= aim) return "met";
  return low > aim ? "missed" : "too noisy to say";
}

export function medianOf(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}

/**
 * The interval lies between two order statistics, so it assumes nothing of how the samples are
 * distributed. Fewer than six samples have no such interval: theirs is their range.
 */
export function intervalOf(samples: readonly number[]): Interval {
  const sorted = [...samples].sort((a, b) => a - b);
  const last = sorted.length - 1;
  // By the binomial distribution, 2.5 % lies further out than this at each end.
  const outside = Math.max(0, Math.floor(last / 2 - 0.98 * Math.sqrt(sorted.length)));
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  return { value: medianOf(sorted), low: at(outside), high: at(last - outside) };
}

const FEWEST_SAMPLES = 7;
/** The width of an interval that needs no more samples, as a share of its value. */
const NARROW = 0.03;

/**
 * Takes samples until their interval is narrow and on one side of the aim, or the time is over, but
 * at least one.
 */
export async function sample(
  take: () => Promise<number> | number,
  limit: Limit,
): Promise<Interval> {
  const { aim } = limit;
  const until = performance.now() + limit.seconds * 1_000;
  const samples: number[] = [];
  for (;;) {
    samples.push(await take());
    const isOver = performance.now() >= until;
    // Sorting thousands of samples after each of them would take longer than taking them.
    if (!isOver && samples.length % Math.ceil(samples.length / 20) !== 0) continue;
    const interval = intervalOf(samples);
    const isNarrow = interval.high - interval.low <= NARROW * Math.abs(interval.value);
    const isDecided = isNarrow && verdictOn(interval, aim) !== "too noisy to say";
    if (isOver || (isDecided && samples.length >= FEWEST_SAMPLES)) return interval;
  }
}

/** Runs its task `times` times, one after the other. */
export type Loop = (times: number) => Promise<void>;

export function repeat(task: () => unknown): Loop {
  return async (times) => {
    for (let i = 0; i < times; i++) await task();
  };
}

/** What one run costs. Other processes add to the wall time, and hardly to the processor time. */
export interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export interface Compared<T extends Cost> extends Figures {
  /** The medians of each side; without another side its costs are zero. */
  readonly costs: { readonly ours: T; readonly theirs: T };
}

interface Loops extends Limit {
  readonly ours: Loop;
  readonly theirs: Loop;
  /**
   * Which cost the value is the ratio of. With "cpu" what the process does besides the loops counts
   * too.
   */
  readonly by: "cpu" | "wall";
}

const WARM_UP_SHARE = 0.15;
/**
 * After a slice the event loop turns, without which nothing that a weak reference has reached is
 * freed.
 */
const SLICE_MS = 1;
/** Many young garbage collections fall into a block, so each side pays for its own garbage. */
const LONGEST_BLOCK_MS = 200;
/** About as many rounds fit into the time. */
const ROUNDS = 25;

/**
 * Times both loops in turn, block by block in random order, after a warm-up. The median leaves out
 * the full garbage collections, which come every few seconds and at either side.
 */
export async function compare({ ours, theirs, by, aim, seconds }: Loops): Promise<Compared<Cost>> {
  const until = performance.now() + seconds * 1_000;
  const blockMs = Math.min(LONGEST_BLOCK_MS, (seconds * 1_000) / (2 * ROUNDS));
  const sides = [
    { loop: ours, times: await timesFor(ours) },
    { loop: theirs, times: await timesFor(theirs) },
  ] as const;
  const block = async ({ loop, times }: (typeof sides)[number]): Promise<Cost> => {
    let runs = 0;
    const end = performance.now() + blockMs;
    const { cpuMs, wallMs } = await costOf(async () => {
      do {
        await loop(times);
        await turn();
        runs += times;
      } while (performance.now() < end);
    });
    return { cpuMs: cpuMs / runs, wallMs: wallMs / runs };
  };
  const round = async (): Promise<readonly Cost[]> => {
    const costs: Cost[] = [];
    for (const side of shuffled([0, 1] as const)) costs[side] = await block(sides[side]);
    return costs;
  };
  const warmUntil = performance.now() + WARM_UP_SHARE * seconds * 1_000;
  while (performance.now() < warmUntil) await round();
  const rounds: (readonly Cost[])[] = [];
  const interval = await sample(
    async () => {
      const costs = await round();
      rounds.push(costs);
      return ratioOf(costs, `${by}Ms`);
    },
    limitUntil(until, aim),
  );
  const [oursCost, theirsCost] = [0, 1].map((side) =>
    medianCost(rounds.map((costs) => costs[side])),
  );
  const costs = { ours: oursCost ?? NO_COST, theirs: theirsCost ?? NO_COST };
  return { ...interval, ours: inWords(costs.ours), theirs: inWords(costs.theirs), costs };
}

/** Warms the code up, and returns how many runs fill a slice. */
async function timesFor(loop: Loop): Promise<number> {
  for (let times = 1; ; times *= 2) {
    const { wallMs } = await costOf(() => loop(times));
    if (wallMs > 50 * SLICE_MS) return Math.max(1, Math.round((times * SLICE_MS) / wallMs));
  }
}

/** Runs a task, and returns what this process took meanwhile. */
export async function costOf(task: () => Promise<unknown>): Promise<Cost> {
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
  await task();
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1_000, wallMs };
}

/** A program in a process of its own: the arguments of `node`. */
export interface Program {
  readonly args: readonly string[];
  readonly cwd: string;
}

/** From the start of the process to its end, so loading of modules counts. */
interface ProcessCost extends Cost {
  readonly peakMiB: number;
}

export interface Programs extends Limit {
  readonly ours: Program;
  /** Without it the value is the cost of `ours` itself. */
  readonly theirs?: Program | undefined;
  /**
   * A program whose cost is subtracted from both sides, such as Node's own start. Memory is never
   * subtracted.
   */
  readonly bare?: Program | undefined;
  readonly by: "cpuMs" | "wallMs" | "peakMiB";
}

/**
 * Runs the programs in random order, again and again. The first round reads files from the disk, so
 * it is dropped, unless it takes much of the time.
 */
export async function compareProcesses(programs: Programs): Promise<Compared<ProcessCost>> {
  const { ours, theirs, bare, by, aim, seconds } = programs;
  const until = performance.now() + seconds * 1_000;
  const round = async (): Promise<ProcessCost[]> => {
    const costs = [NO_COST, NO_COST, NO_COST];
    const all = [ours, theirs, bare];
    for (const side of shuffled([0, 1, 2])) {
      const program = all[side];
      if (program !== undefined) costs[side] = await runProgram(program);
    }
    const base = costs[2] ?? NO_COST;
    return costs.map(({ cpuMs, wallMs, peakMiB }) => ({
      cpuMs: cpuMs - base.cpuMs,
      wallMs: wallMs - base.wallMs,
      peakMiB,
    }));
  };
  const rounds: ProcessCost[][] = [];
  const startedAt = performance.now();
  let first: ProcessCost[] | undefined = await round();
  if (performance.now() - startedAt < WARM_UP_SHARE * seconds * 1_000) first = undefined;
  const interval = await sample(
    async () => {
      const costs = first ?? (await round());
      first = undefined;
      rounds.push(costs);
      return theirs === undefined ? (costs[0]?.[by] ?? Number.NaN) : ratioOf(costs, by);
    },
    limitUntil(until, aim),
  );
  const [oursCost, theirsCost] = [0, 1].map((side) =>
    medianCost(rounds.map((costs) => costs[side])),
  );
  const costs = { ours: oursCost ?? NO_COST, theirs: theirsCost ?? NO_COST };
  const words = { ours: inWords(costs.ours), theirs: theirs && inWords(costs.theirs) };
  return { ...interval, ...words, costs };
}

const REPORT = fileURLToPath(new URL("report-cost.cjs", import.meta.url));

/** Runs a program, and returns its cost. @throws an Error with what it printed when it fails */
export async function runProgram({ args, cwd }: Program): Promise<ProcessCost> {
  const child = spawn(process.execPath, ["--require", REPORT, ...args], {
    cwd,
    env: { ...process.env, NODE_OPTIONS: "" },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const streams = [child.stdout, child.stderr, child.stdio[3]] as NodeJS.ReadableStream[];
  const [[status], printed, complained, cost] = await Promise.all([
    once(child, "close"),
    ...streams.map((stream) => text(stream)),
  ]);
  if (status !== 0) throw new Error(`a program failed: ${printed}${complained}`);
  return JSON.parse(cost ?? "");
}

const NO_COST: ProcessCost = { cpuMs: 0, wallMs: 0, peakMiB: 0 };

function limitUntil(until: number, aim: number): Limit {
  return { aim, seconds: Math.max(0, until - performance.now()) / 1_000 };
}

function ratioOf<K extends string>(costs: readonly Readonly<Record<K, number>>[], key: K): number {
  return (costs[0]?.[key] ?? Number.NaN) / (costs[1]?.[key] ?? Number.NaN);
}

export function medianCost(all: readonly (Partial<ProcessCost> | undefined)[]): ProcessCost {
  const median = (key: keyof ProcessCost): number => medianOf(all.map((cost) => cost?.[key] ?? 0));
  return { cpuMs: median("cpuMs"), wallMs: median("wallMs"), peakMiB: median("peakMiB") };
}

/** Returns a cost as text, such as "21.4 µs CPU (23.0 µs)". */
export function inWords({
  cpuMs,
  wallMs,
  peakMiB = 0,
}: Cost & { readonly peakMiB?: number }): string {
  const memory = peakMiB > 0 ? `, ${peakMiB.toFixed(0)} MiB` : "";
  return `${duration(cpuMs)} CPU (${duration(wallMs)}${memory})`;
}

export function duration(ms: number): string {
  const units = [
    { unit: "s", size: 1_000 },
    { unit: "ms", size: 1 },
    { unit: "µs", size: 1e-3 },
  ];
  const { unit, size } = units.find(({ size }) => Math.abs(ms) >= size) ?? {
    unit: "ns",
    size: 1e-6,
  };
  return `${Number((ms / size).toPrecision(3))} ${unit}`;
}

export function shuffled<T>(items: readonly T[]): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(Math.floor(Math.random() * left.length), 1));
}
