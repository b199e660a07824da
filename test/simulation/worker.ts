// One process that plays worlds. It runs as a bundle, into which a fault of the client may be
// planted.
import { type FaultKind, type Plan, planOf, shrink } from "./plan.js";
import { plantedFaults } from "./planted.js";
import { type Round, type RoundName, roundOf, rounds } from "./rounds.js";
import type { RuleName } from "./rules.js";
import { play } from "./world.js";

/**
 * Play so many worlds from a seed on, or this one; with `until`, only up to the first that breaks
 * that rule.
 */
export interface Order {
  readonly seed: number;
  readonly worlds: number;
  readonly plan?: Plan | undefined;
  /** Worlds of this kind. */
  readonly round?: RoundName | undefined;
  readonly planted?: string | undefined;
  readonly until?: RuleName | undefined;
  /** Shrink this world until no part can be left out without the rule `until` holding again. */
  readonly explain?: true | undefined;
}

export interface Failure {
  readonly seed: number;
  readonly rule: RuleName;
  readonly how: string;
}

export interface Played {
  readonly seed: number;
  readonly worlds: number;
  readonly events: number;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly failures: readonly Failure[];
  /** The trace and the digest of the last world, if one was played or explained. */
  readonly trace?: readonly string[];
  readonly digest?: string;
  /** The shrunk world. */
  readonly plan?: Plan;
}

const failover: Round = { faults: ["store failover"], lossWindowMs: 2_000 };

/** One world in forty is about logins that processes share: their refreshes are rare elsewhere. */
function worldOf(seed: number, round: RoundName | undefined): Plan {
  if (round !== undefined) return roundOf(seed, rounds[round]);
  if (seed % 40 !== 0) return planOf(seed);
  return roundOf(seed, seed % 80 === 0 ? failover : rounds["kills, pauses and crashes"], 8);
}

export async function carryOut({
  seed,
  worlds,
  plan: given,
  round,
  planted,
  until,
  explain,
}: Order): Promise<Played> {
  const surroundings = plantedFaults[planted ?? ""] ?? {};
  const failures: Failure[] = [];
  const faults: Partial<Record<FaultKind, number>> = {};
  if (explain) {
    const fails = async (plan: Plan) =>
      (await play(plan, surroundings)).broken.has(until as RuleName);
    const plan = await shrink(worldOf(seed, round), fails);
    const { trace, digest } = await play(plan, surroundings);
    return { seed, worlds: 1, events: trace.length, faults, failures, trace, digest, plan };
  }
  let events = 0;
  let last: { readonly trace: readonly string[]; readonly digest: string } | undefined;
  for (let at = seed; at < seed + worlds; at++) {
    const {
      broken,
      trace,
      digest,
      faults: counts,
    } = await play(given ?? worldOf(at, round), surroundings);
    events += trace.length;
    for (const [kind, count] of counts) faults[kind] = (faults[kind] ?? 0) + count;
    for (const [rule, how] of broken) failures.push({ seed: at, rule, how });
    last = { trace, digest };
    if (until !== undefined && broken.has(until))
      return { seed, worlds: at - seed + 1, events, faults, failures };
  }
  return { seed, worlds, events, faults, failures, ...(worlds === 1 && last) };
}

// In a process of its own it takes orders from the process that started it.
if (process.send !== undefined && process.env.SIMULATION === "worker") {
  process.on("message", async (order: Order) => void process.send?.(await carryOut(order)));
  process.once("disconnect", () => process.exit());
}
