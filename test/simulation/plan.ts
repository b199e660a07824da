// A world as data: what a seed makes, and what shrinking removes from.
import { randomOf } from "./random.js";

export interface ProcessPlan {
  readonly rate: number;
  readonly offsetMs: number;
}

export interface CustomerPlan {
  readonly tenantId: string;
  readonly variant: "A" | "B";
  /** From then on its deployment serves the other variant. */
  readonly movesAt?: number | undefined;
  /** Its key and secrets are replaced then. */
  readonly rotatesAt?: number | undefined;
  /** Why the service refuses it for ever. */
  readonly trouble?: "unknown" | "wrong key" | undefined;
}

export const faultKinds = [
  "refused",
  "lost before",
  "lost after",
  "reset",
  "cut body",
  "slow body",
  "silence",
  "429",
  "429 for a while",
  "500",
  "503",
  "redirect",
  "page",
  "slow",
  "store lost before",
  "store lost after",
  "store slow",
  "store silent",
  "store restart",
  "store failover",
  "jump",
  "suspend",
  "death",
  "disabled",
  "narrowed",
  "revoked",
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface FaultPlan {
  readonly kind: FaultKind;
  readonly at: number;
  readonly until: number;
  readonly process: number;
  readonly customer: number;
  readonly share: number;
  readonly jumpMs: number;
  readonly retryAfter: number;
  /**
   * Of what happens to a process or to the store: it waits for the next token request of that
   * process.
   */
  readonly isAtToken?: boolean | undefined;
}

/** What a machine (`call`) or a person does at an instant. */
export interface ActPlan {
  readonly kind: "call" | "visit" | "two tabs" | "log out" | "sign in";
  readonly at: number;
  readonly process: number;
  readonly customer: number;
  /** Which of the customer's people. */
  readonly person: number;
  readonly abortAfterMs?: number | undefined;
  /** Whether a call uses the service of the call before, if there was one. */
  readonly isHeld?: boolean | undefined;
  /** Whether the token is dropped before the call. */
  readonly isInvalidated?: boolean | undefined;
  /** Whether the browser sends the code of a sign-in twice. */
  readonly isImpatient?: boolean | undefined;
}

export interface Plan {
  readonly seed: number;
  readonly lifeMs: number;
  readonly lifetimeSeconds: number;
  readonly latencyMs: number;
  readonly rateLimit: number | undefined;
  readonly store: "none" | "own" | "shared" | "redis";
  readonly isEncrypted: boolean;
  readonly lossWindowMs: number;
  /** Whether assertions are really signed, and their signatures checked. */
  readonly isSigned: boolean;
  readonly hasCookies: boolean;
  /** Whether callers of one process share requests in flight. */
  readonly sharesInFlight: boolean;
  /** Whether connectors have only the credential of the one variant that all customers are of. */
  readonly hasOneCredential: boolean;
  readonly processes: readonly ProcessPlan[];
  readonly customers: readonly CustomerPlan[];
  readonly faults: readonly FaultPlan[];
  readonly acts: readonly ActPlan[];
}

/**
 * The share of large worlds: any size up to 8 processes, 20 customers, 10 faults and 80 acts is as
 * likely as another.
 */
const shareOfLarge = 0.005;

/**
 * When calls are made around a fault, in milliseconds from its begin, since few would be made then
 * by chance.
 */
function callsAround({ kind, retryAfter }: FaultPlan): readonly number[] {
  // While a Retry-After counts that is longer than any call waits.
  if (kind === "jump" && retryAfter >= longestWait) return [1_000, 4_000, 7_000];
  // One gets a token. Several send it at once when it is revoked, so that one learns of it after it
  // was replaced.
  return kind === "revoked" ? [-40_000, 100, 100, 100, 12_000] : [];
}

/** Seconds that a call waits after a refusal, at most: the default of `retryDeadlineMs`. */
const longestWait = 60;

export function planOf(seed: number): Plan {
  const random = randomOf(seed);
  const below = (most: number) => Math.floor(random() * most);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const chance = (share: number) => random() < share;
  // Most worlds are small: what needs few parts is found soon, and many are played in the time of a
  // large one.
  const isLarge = chance(shareOfLarge);
  /** In a small world there is one, and one more with a chance of `more`, again and again. */
  const many = <T>(most: number, more: number, make: (index: number) => T) => {
    let length = 1;
    if (isLarge) length += below(most);
    else while (length < most && chance(more)) length++;
    return Array.from({ length }, (_, index) => make(index));
  };
  const lifeMs = Math.ceil((2 + (isLarge ? 48 : 16) * random()) * 60_000);
  // In three of ten worlds nothing goes wrong, so that needless requests are noticed.
  const isQuiet = chance(0.3);
  const isRare = (share: number) => !isQuiet && chance(share);
  const processes = many(8, 0.35, () => ({
    rate: 1 + (random() - 0.5) / 5_000,
    offsetMs: isRare(0.5) ? below(120_000) - 60_000 : 0,
  }));
  const customers = many(20, 0.25, (index) => ({
    tenantId: `tenant-${index}`,
    variant: pick(["A", "B"] as const),
    ...(chance(0.1) && { trouble: pick(["unknown", "wrong key"] as const) }),
    ...(isRare(0.1) && { movesAt: below(lifeMs) }),
    ...(isRare(0.2) && { rotatesAt: below(lifeMs) }),
  }));
  const store = pick(["none", "own", "shared", "redis", "redis", "redis"] as const);
  const possible = faultKinds.filter((kind) => {
    // In the memory that processes share, a dead one would hold its lock for ever.
    if (store === "shared" && kind === "death") return false;
    return store === "redis" || !kind.startsWith("store");
  });
  // A small world has few kinds of fault, so that one does not hide what another would show.
  const often = ["429 for a while", "503", "lost after"] as const;
  const kinds = isLarge ? possible : many(4, 0.4, () => pick(chance(0.15) ? often : possible));
  let before: FaultPlan | undefined;
  const fault = (): FaultPlan[] => {
    // Often one trouble comes during another.
    const at = before && chance(0.4) ? before.at + below(before.until - before.at) : below(lifeMs);
    before = {
      kind: pick(kinds),
      at,
      until: Math.min(at + 1_000 + below(120_000), lifeMs),
      process: below(processes.length),
      customer: below(customers.length),
      share: 0.3 + random() * 0.7,
      jumpMs: (below(1_200) - 600) * 1_000,
      retryAfter: 1 + below(40),
      isAtToken: chance(0.6),
    };
    // A clock is often set while a Retry-After counts that is longer than any call waits.
    if (before.kind !== "jump" || chance(0.5)) return [before];
    before = { ...before, customer: 0, retryAfter: longestWait + below(60) };
    return [{ ...before, kind: "429 for a while" }, before];
  };
  const faults = isQuiet ? [] : many(10, 0.5, fault).flat();
  // Machines and people meet other faults, so most worlds are about one of them.
  const shareOfPeople = isLarge ? 0.5 : pick([0, 0, 0, 1, 1, 0.4]);
  const acts = many(80, 0.65, (): ActPlan[] => {
    // Much happens while something goes wrong, and soon after it.
    const near = faults.length > 0 && chance(0.5) ? pick(faults) : undefined;
    const at = near
      ? Math.max(0, near.at - 5_000) + below(near.until - near.at + 20_000)
      : below(lifeMs);
    const kind: ActPlan["kind"] = chance(shareOfPeople)
      ? pick(["visit", "visit", "visit", "two tabs", "sign in", "log out"] as const)
      : "call";
    const act = {
      kind,
      at,
      customer: below(customers.length),
      person: chance(0.7) ? 0 : 1,
      process: below(processes.length),
    };
    if (kind === "sign in") return [{ ...act, isImpatient: chance(0.3) }];
    // Often several processes need the same token at once.
    const callers = chance(0.3) ? [...processes.keys()] : [act.process];
    if (kind === "visit") return callers.map((process) => ({ ...act, process }));
    if (kind !== "call") return [act];
    const abortAfterMs = isRare(0.15) ? pick([0, 50, 1_000, 8_000]) : undefined;
    const isHeld = chance(0.3);
    const isInvalidated = isRare(0.1);
    // Or one of them needs it several times in a row.
    const gaps = chance(0.25) ? [0, pick([0, 5, 300]), pick([600, 1_500])] : [0];
    return callers.flatMap((process) =>
      gaps.map((gap) => ({ ...act, at: at + gap, process, abortAfterMs, isHeld, isInvalidated })),
    );
  }).flat();
  for (const fault of faults)
    for (const gap of callsAround(fault))
      acts.push({
        kind: "call",
        at: Math.max(0, fault.at + gap),
        customer: fault.customer,
        person: 0,
        process: fault.process,
      });
  const hasRestart = faults.some(({ kind }) => kind === "store restart");
  return {
    seed,
    lifeMs,
    lifetimeSeconds: pick([60, 300, 900]),
    latencyMs: pick([20, 200, 1_500]),
    rateLimit: isQuiet || chance(0.5) ? undefined : processes.length + 2,
    store,
    isEncrypted: store === "redis" && chance(0.15),
    lossWindowMs: hasRestart || chance(0.2) ? 2_000 : 0,
    isSigned: chance(0.05),
    hasCookies: chance(0.5),
    sharesInFlight: isQuiet || chance(0.9),
    hasOneCredential:
      customers.every(
        ({ variant, movesAt }) => variant === customers[0]?.variant && movesAt === undefined,
      ) && chance(0.5),
    processes,
    customers,
    faults,
    acts,
  };
}

/** Whether machines make calls in a world, and whether people come. */
export const hasMachines = ({ acts }: Plan): boolean => acts.some(({ kind }) => kind === "call");
export const hasPeople = ({ acts }: Plan): boolean => acts.some(({ kind }) => kind !== "call");

type Part = "faults" | "acts" | "processes" | "customers";

/**
 * Makes a world that fails smaller as long as it still fails: parts of it, many at once, and its
 * life.
 */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan;
  const take = async (next: Plan | undefined) => {
    if (next === undefined || !(await fails(next))) return false;
    smallest = next;
    return true;
  };
  for (const part of ["faults", "acts", "processes", "customers"] as const) {
    for (let size = smallest[part].length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < smallest[part].length; )
        if (!(await take(without(smallest, part, from, size)))) from += size;
    }
  }
  for (const plain of [
    { isEncrypted: false },
    { isSigned: false },
    { hasCookies: false },
    { rateLimit: undefined },
  ])
    await take({ ...smallest, ...plain });
  const lastAt = Math.max(
    0,
    ...smallest.acts.map(({ at }) => at),
    ...smallest.faults.map(({ until }) => until),
  );
  await take({ ...smallest, lifeMs: lastAt + 1 });
  return smallest;
}

function without(plan: Plan, part: Part, from: number, size: number): Plan | undefined {
  const isKept = (index: number) => index < from || index >= from + size;
  const kept = { ...plan, [part]: [...plan[part]].filter((_, index) => isKept(index)) };
  if (part === "faults" || part === "acts") return kept;
  if (kept[part].length === 0) return undefined;
  // Acts and faults name a process and a customer by index.
  const name = part === "processes" ? "process" : "customer";
  const move = <T extends { process: number; customer: number }>(all: readonly T[]) =>
    all
      .filter((one) => isKept(one[name]))
      .map((one) => (one[name] < from ? one : { ...one, [name]: one[name] - size }));
  return { ...kept, faults: move(plan.faults), acts: move(plan.acts) };
}
