// `npm run simulate -- --help` lists what the command can do.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import { faultKinds } from "./plan.js";
import { plantedFaults } from "./planted.js";
import { sequenceDiagram } from "./sequence-diagram.js";
import type { Failure, Played } from "./worker.js";
import { carryOutApart, Workers } from "./workers.js";

/** What a run has done so far. A run that is stopped goes on from it. */
export interface Progress {
  readonly seed: number;
  readonly worlds: number;
  played: number;
  events: number;
  /** Of all runs together. */
  seconds: number;
  readonly faults: Partial<Record<string, number>>;
  readonly failures: Failure[];
}

interface RunOptions {
  readonly seed: number;
  readonly worlds: number;
  readonly workers: number;
  readonly state?: string | undefined;
  readonly onProgress?: (progress: Progress, rate: number) => void;
}

/** A worker gets so many worlds at a time. */
const chunk = 50;

/** Plays worlds on several cores, from where the state file says that an earlier run stopped. */
export async function simulate({
  seed,
  worlds,
  workers,
  state,
  onProgress,
}: RunOptions): Promise<Progress> {
  const begun: Progress = {
    seed,
    worlds,
    played: 0,
    events: 0,
    seconds: 0,
    faults: {},
    failures: [],
  };
  const known =
    state && existsSync(state) ? (JSON.parse(readFileSync(state, "utf8")) as Progress) : begun;
  if (known.seed !== seed || known.worlds !== worlds)
    throw new Error(
      `${state} is of --seed ${known.seed} --worlds ${known.worlds}. Pass these, or another file.`,
    );
  const progress = { ...known };
  const [startedAt, before, playedBefore] = [performance.now(), known.seconds, known.played];
  // Parts end in any order, but the state holds only those before which all are done.
  const done = new Map<number, Played>();
  let next = seed + known.played;
  const save = () => {
    for (
      let part = done.get(seed + progress.played);
      part;
      part = done.get(seed + progress.played)
    ) {
      done.delete(part.seed);
      progress.played += part.worlds;
      progress.events += part.events;
      progress.failures.push(...part.failures);
      for (const [kind, count = 0] of Object.entries(part.faults))
        progress.faults[kind] = (progress.faults[kind] ?? 0) + count;
    }
    progress.seconds = before + (performance.now() - startedAt) / 1_000;
    if (state === undefined) return;
    writeFileSync(`${state}.new`, JSON.stringify(progress));
    renameSync(`${state}.new`, state);
  };
  const fleet = new Workers();
  try {
    await Promise.all(
      Array.from({ length: workers }, async () => {
        const carryOut = await fleet.start();
        while (next < seed + worlds) {
          const from = next;
          next = Math.min(from + chunk, seed + worlds);
          done.set(from, await carryOut({ seed: from, worlds: next - from }));
          save();
          onProgress?.(progress, (progress.played - playedBefore) / (progress.seconds - before));
        }
      }),
    );
  } finally {
    fleet.end();
  }
  if (state !== undefined) rmSync(state, { force: true });
  return progress;
}

/**
 * Returns the number of worlds after which a planted fault broke its rule; `undefined` if it did
 * not.
 */
export async function worldsUntilFound(
  name: string,
  most: number,
  from = 1,
): Promise<number | undefined> {
  const fault = plantedFaults[name];
  if (fault === undefined) throw new Error(`"${name}" is not a planted fault.`);
  const order = { seed: from, worlds: most, planted: name, until: fault.rule };
  const { worlds, failures } = await carryOutApart(order, fault.change);
  return failures.some(({ rule }) => rule === fault.rule) ? worlds : undefined;
}

/** Makes a failing world as small as it can be. */
export function explain(
  { seed, rule }: Pick<Failure, "seed" | "rule">,
  planted?: string,
): Promise<Played> {
  const order = { seed, worlds: 1, until: rule, explain: true, planted } as const;
  return carryOutApart(order, plantedFaults[planted ?? ""]?.change);
}

export function explanation({ seed, rule, how }: Failure, { plan, trace = [] }: Played): string {
  const { processes = [], customers = [], faults = [], acts = [], lifeMs = 0 } = plan ?? {};
  const size = [processes, customers, faults, acts].map(({ length }) => length).join(", ");
  return [
    `Seed ${seed} broke "${rule}": ${how}`,
    `Shrunk to ${size} processes, customers, faults, acts in ${Math.ceil(lifeMs / 1_000)} s. ` +
      `Replay: npm run simulate -- --seed ${seed}`,
    JSON.stringify(plan),
    ...trace,
  ].join("\n");
}

/** A planted fault that is not found in so many worlds counts as missed. */
export const mostWorldsOfAPlantedFault = 5_000;
const mostExplained = 3;

async function plant(only: string, workers: number): Promise<number> {
  const names = Object.keys(plantedFaults).filter((name) => name.includes(only));
  let missed = 0;
  const one = async () => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const startedAt = performance.now();
      const found = await worldsUntilFound(name, mostWorldsOfAPlantedFault);
      if (found === undefined) missed++;
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      const rule = plantedFaults[name]?.rule;
      console.log(
        `${String(found ?? "not found").padStart(9)}  ${seconds.padStart(6)} s  ${name} (${rule})`,
      );
    }
  };
  await Promise.all(Array.from({ length: workers }, one));
  return missed === 0 ? 0 : 1;
}

/**
 * Plays a world several times, each in a process of its own, and all but the first beside two busy
 * loops.
 */
async function repeat(seed: number, times: number): Promise<number> {
  const digests = [(await carryOutApart({ seed, worlds: 1 })).digest];
  const busy = [0, 1].map(() => spawn(process.execPath, ["-e", "for (;;);"]));
  try {
    while (digests.length < times) digests.push((await carryOutApart({ seed, worlds: 1 })).digest);
  } finally {
    for (const child of busy) child.kill();
  }
  console.log(digests.join("\n"));
  return new Set(digests).size === 1 ? 0 : 1;
}

const description =
  "Plays worlds from a seed: processes, customers, people, a store and a network with faults. " +
  "Prints the rules that broke, each with a shrunk world, and exits with 1 if one did.";

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("Pass a whole number from 1.");
  return Number(text);
}

async function main(): Promise<number> {
  const values = new Command("npm run simulate --")
    .description(description)
    .option("--worlds <n>", "how many; with 10000 or more, a stopped run goes on", wholeNumber, 1)
    .option("--seed <n>", "of the first world; the others follow it", wholeNumber, 1)
    .option("--workers <n>", "processes", wholeNumber, availableParallelism())
    .option("--state <file>", "goes on where the run that wrote this file was stopped")
    .option("--json", "print the figures as one line of JSON")
    .option("--trace", "print the events of one world and their digest")
    .option("--html <file>", "draw the events of one world as a sequence diagram")
    .option(
      "--repeat <n>",
      "print the digest of one world n times, all but one under load",
      wholeNumber,
    )
    .option("--planted", "count the worlds until each planted fault is found")
    .option("--only <text>", "the planted faults whose name has this text", "")
    .parse()
    .opts<{
      worlds: number;
      seed: number;
      workers: number;
      state?: string;
      json?: true;
      trace?: true;
      html?: string;
      repeat?: number;
      planted?: true;
      only: string;
    }>();
  const { worlds, seed, workers } = values;
  if (values.repeat !== undefined) return repeat(seed, values.repeat);
  if (values.planted) return plant(values.only, workers);
  if (values.trace || values.html !== undefined) {
    const played = await carryOutApart({ seed, worlds: 1 });
    const [failure] = played.failures;
    const shown = failure ? { ...played, ...(await explain(failure)) } : played;
    if (values.html !== undefined)
      writeFileSync(values.html, sequenceDiagram(seed, shown, failure));
    else console.log([...(shown.trace ?? []), shown.digest].join("\n"));
    return failure ? 1 : 0;
  }
  const isLong = worlds >= 10_000;
  const state =
    values.state ?? (isLong ? `node_modules/.cache/simulation-${seed}-${worlds}.json` : undefined);
  const onProgress = ({ played, failures }: Progress, rate: number) => {
    const leftMinutes = Math.ceil((worlds - played) / rate / 60);
    const line =
      `${played} of ${worlds} worlds, ${rate.toFixed(0)}/s, ${leftMinutes} min left, ` +
      `${failures.length} broken rules`;
    if (process.stderr.isTTY) process.stderr.write(`\r${line.padEnd(80)}`);
  };
  const progress = await simulate({ seed, worlds, workers, state, onProgress });
  if (process.stderr.isTTY) process.stderr.write("\n");
  const { events, seconds, faults, failures } = progress;
  const rate = worlds / seconds;
  if (values.json) {
    const figures = { worlds, seed, events, seconds, workers, worldsPerSecond: rate };
    console.log(JSON.stringify({ ...figures, faults, failures }));
    return failures.length === 0 ? 0 : 1;
  }
  console.log(
    `${worlds} worlds, ${events} events, ${seconds.toFixed(1)} s, ${rate.toFixed(1)} worlds a ` +
      `second on ${workers} cores, ${failures.length} broken rules`,
  );
  const byKind = faultKinds.map((kind) => `${kind} ${faults[kind] ?? 0}`);
  console.log(`faults: ${byKind.join(", ")}`);
  for (const failure of failures.slice(0, mostExplained))
    console.log(explanation(failure, await explain(failure)));
  for (const { seed: at, rule, how } of failures.slice(mostExplained))
    console.log(`Seed ${at} broke "${rule}": ${how}`);
  return failures.length === 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith("simulate.ts")) process.exitCode = await main();
