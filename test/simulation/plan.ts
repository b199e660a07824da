// A world as data: what a seed makes, and what shrinking removes from.
import { randomOf } from "./scheduler.js";

export interface ProcessPlan {
  readonly rate: number;
  readonly offsetMs: number;
}

export interface CustomerPlan {
  readonly tenantId: string;
  readonly variant: "A" | "B";
  /** If not, the service refuses it. */
  readonly isRegistered: boolean;
}

const kinds = [
  "lost before",
  "lost after",
  "cut body",
  "silence",
  "429",
  "429 for a while",
  "503",
  "redirect",
  "page",
  "slow",
  "store lost before",
  "store lost after",
  "store slow",
  "jump",
  "suspend",
  "death",
] as const;

export interface FaultPlan {
  readonly kind: (typeof kinds)[number];
  readonly at: number;
  readonly until: number;
  readonly process: number;
  readonly customer: number;
  readonly share: number;
  readonly jumpMs: number;
  readonly retryAfter: number;
}

export interface CallPlan {
  readonly at: number;
  readonly process: number;
  readonly customer: number;
  readonly abortAfterMs: number | undefined;
}

export interface Plan {
  readonly seed: number;
  readonly lifeMs: number;
  readonly lifetimeSeconds: number;
  readonly latencyMs: number;
  readonly rateLimit: number | undefined;
  readonly store: "none" | "own" | "shared" | "redis";
  readonly processes: readonly ProcessPlan[];
  readonly customers: readonly CustomerPlan[];
  readonly faults: readonly FaultPlan[];
  readonly calls: readonly CallPlan[];
}

export function planOf(seed: number): Plan {
  const random = randomOf(seed);
  const below = (most: number) => Math.floor(random() * most);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const many = <T>(most: number, make: (index: number) => T) =>
    Array.from({ length: 1 + below(most) }, (_, index) => make(index));
  const lifeMs = (10 + below(40)) * 60_000;
  // In three of ten worlds nothing goes wrong, so that needless requests are noticed.
  const isQuiet = random() < 0.3;
  const processes = many(6, () => ({
    rate: 1 + (random() - 0.5) / 5_000,
    offsetMs: isQuiet || random() < 0.5 ? 0 : below(120_000) - 60_000,
  }));
  const customers = many(8, (index) => ({
    tenantId: `tenant-${index}`,
    variant: pick(["A", "B"] as const),
    isRegistered: random() < 0.9,
  }));
  const store = pick(["none", "own", "shared", "redis", "redis"] as const);
  const fault = (): FaultPlan => {
    const at = below(lifeMs);
    const kind = pick(kinds);
    return {
      // In the memory that processes share, a dead one would hold its lock for ever.
      kind: kind === "death" && store === "shared" ? "suspend" : kind,
      at,
      until: Math.min(at + 1_000 + below(120_000), lifeMs),
      process: below(processes.length),
      customer: below(customers.length),
      share: 0.3 + random() * 0.7,
      jumpMs: (below(1_200) - 600) * 1_000,
      retryAfter: 1 + below(40),
    };
  };
  const calls = many(50, () => {
    const [at, customer] = [below(lifeMs), below(customers.length)];
    const abortAfterMs = !isQuiet && random() < 0.15 ? pick([0, 50, 1_000, 8_000]) : undefined;
    // Often several processes need the same token at once.
    const callers = random() < 0.3 ? processes.keys() : [below(processes.length)];
    return [...callers].map((process) => ({ at, process, customer, abortAfterMs }));
  }).flat();
  return {
    seed,
    lifeMs,
    lifetimeSeconds: pick([300, 600, 900]),
    latencyMs: pick([20, 200, 1_500]),
    rateLimit: isQuiet || random() < 0.5 ? undefined : processes.length + 2,
    store,
    processes,
    customers,
    faults: isQuiet ? [] : many(10, fault),
    calls,
  };
}

/** Removes parts of a world as long as it still fails, first many at once. */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan;
  for (const part of ["faults", "calls", "processes", "customers"] as const) {
    for (let size = smallest[part].length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < smallest[part].length; ) {
        const next = without(smallest, part, from, size);
        if (next !== undefined && (await fails(next))) smallest = next;
        else from += size;
      }
    }
  }
  return smallest;
}

function without(
  plan: Plan,
  part: "faults" | "calls" | "processes" | "customers",
  from: number,
  size: number,
) {
  const isKept = (index: number) => index < from || index >= from + size;
  const kept = { ...plan, [part]: [...plan[part]].filter((_, index) => isKept(index)) };
  if (part === "faults" || part === "calls") return kept;
  if (kept[part].length === 0) return undefined;
  // Calls and faults name a process and a customer by index.
  const name = part === "processes" ? "process" : "customer";
  const move = <T extends { process: number; customer: number }>(all: readonly T[]) =>
    all
      .filter((one) => isKept(one[name]))
      .map((one) => (one[name] < from ? one : { ...one, [name]: one[name] - size }));
  return { ...kept, faults: move(plan.faults), calls: move(plan.calls) };
}
