// npm run simulate -- [--worlds N] [--seed S] [--json] [--planted] [--trace]
import { parseArgs } from "node:util";
import { type Plan, planOf, shrink } from "./plan.js";
import { type Planted, plantedFaults } from "./planted.js";
import { type Outcome, play } from "./world.js";

export interface Failure {
  readonly seed: number;
  readonly rule: string;
  readonly how: string;
}

/** Plays so many worlds, from a seed on. Returns how many lines their traces had, and the rules that broke. */
export async function simulate(
  seed: number,
  worlds: number,
): Promise<{ events: number; failures: Failure[] }> {
  const failures: Failure[] = [];
  let events = 0;
  for (let at = seed; at < seed + worlds; at++) {
    const { broken, trace } = await play(planOf(at));
    events += trace.length;
    for (const [rule, how] of broken) failures.push({ seed: at, rule, how });
  }
  return { events, failures };
}

/** Returns the number of worlds after which a planted fault broke its rule; `undefined` if it did not. */
export async function worldsUntilFound(name: string, most: number): Promise<number | undefined> {
  const fault = plantedFaults[name];
  if (fault === undefined) throw new Error(`"${name}" is not a planted fault.`);
  for (let seed = 1; seed <= most; seed++)
    if ((await play(planOf(seed), fault)).broken.has(fault.rule)) return seed;
  return undefined;
}

/** Makes a failing world as small as it can be, and prints it. */
export async function explain({ seed, rule, how }: Failure, planted?: Planted): Promise<string> {
  const fails = async (plan: Plan) =>
    [...(await play(plan, planted)).broken.keys()].some((one) => one === rule);
  const plan = await shrink(planOf(seed), fails);
  const { trace } = await play(plan, planted);
  const { processes, customers, faults, calls } = plan;
  const size = [processes, customers, faults, calls].map(({ length }) => length).join(", ");
  return [
    `Seed ${seed} broke "${rule}": ${how}`,
    `Shrunk to ${size} processes, customers, faults, calls. Replay: npm run simulate -- --seed ${seed}`,
    JSON.stringify(plan),
    ...trace,
  ].join("\n");
}

const mostWorldsOfAPlantedFault = 200;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      worlds: { type: "string", default: "1" },
      seed: { type: "string", default: "1" },
      json: { type: "boolean", default: false },
      planted: { type: "boolean", default: false },
      trace: { type: "boolean", default: false },
    },
  });
  const [seed, worlds] = [Number(values.seed), Number(values.worlds)];
  if (![seed, worlds].every(Number.isSafeInteger) || worlds < 1)
    throw new Error("--seed and --worlds must be whole numbers, --worlds 1 or more.");
  if (values.planted) {
    let missed = 0;
    for (const [name, { rule }] of Object.entries(plantedFaults)) {
      const found = await worldsUntilFound(name, mostWorldsOfAPlantedFault);
      if (found === undefined) missed++;
      console.log(`${String(found ?? "not found").padStart(9)}  ${name} (${rule})`);
    }
    return missed === 0 ? 0 : 1;
  }
  if (values.trace) {
    const { trace, digest }: Outcome = await play(planOf(seed));
    console.log([...trace, digest].join("\n"));
    return 0;
  }
  const startedAt = performance.now();
  const { events, failures } = await simulate(seed, worlds);
  const seconds = (performance.now() - startedAt) / 1_000;
  if (values.json) console.log(JSON.stringify({ worlds, seed, events, seconds, failures }));
  else
    console.log(
      `${worlds} worlds, ${events} events, ${seconds.toFixed(1)} s, ${failures.length} broken rules`,
    );
  if (!values.json) for (const one of failures.slice(0, 3)) console.log(await explain(one));
  return failures.length === 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith("simulate.ts")) process.exitCode = await main();
