// The kinds of rounds of the rig of real processes (fleet/logins.long.test.ts), as worlds:
// processes that share logins in Redis, and what may happen to them. Both must say the same.
import type { ActPlan, FaultKind, FaultPlan, Plan } from "./plan.js";
import { randomOf } from "./random.js";

export interface Round {
  readonly faults: readonly FaultKind[];
  /** What the store says that a crash loses. It loses up to a second. */
  readonly lossWindowMs: number;
  /** The planted fault of its store. */
  readonly planted?: string;
  /** Whether a refresh token is sent twice. */
  readonly isSentTwice?: true;
}

export type RoundName =
  | "kills, pauses and crashes"
  | "a sound store"
  | "a lock that does not exclude others"
  | "no lock, and writes that compare nothing"
  | "a store that says what a crash loses"
  | "a store that says that a crash loses nothing";

export const rounds: Readonly<Record<RoundName, Round>> = {
  "kills, pauses and crashes": {
    faults: ["death", "suspend", "store restart"],
    lossWindowMs: 2_000,
  },
  "a sound store": { faults: [], lossWindowMs: 2_000 },
  "a lock that does not exclude others": {
    faults: [],
    lossWindowMs: 2_000,
    planted: "the lock is ignored",
  },
  "no lock, and writes that compare nothing": {
    faults: [],
    lossWindowMs: 0,
    planted: "the compare-and-set is a set, and the lock is ignored",
    isSentTwice: true,
  },
  "a store that says what a crash loses": { faults: ["store restart"], lossWindowMs: 2_000 },
  "a store that says that a crash loses nothing": {
    faults: ["store restart"],
    lossWindowMs: 0,
    isSentTwice: true,
  },
};

/** `size` is the number of instants at which people come. */
export function roundOf(seed: number, { faults: kinds, lossWindowMs }: Round, size = 25): Plan {
  const random = randomOf(seed);
  const below = (most: number) => Math.floor(random() * most);
  const lifeMs = 24_000 * size;
  const processes = Array.from({ length: 4 }, () => ({ rate: 1, offsetMs: 0 }));
  const fault = (kind: FaultKind, at: number): FaultPlan => ({
    kind,
    at,
    until: at + 2_000,
    process: below(processes.length),
    customer: 0,
    share: 0.5 + random() / 2,
    jumpMs: 0,
    retryAfter: 1,
    isAtToken: true,
  });
  const visit = (): ActPlan[] => {
    // Several processes need the token of one person at once.
    const [at, person] = [below(lifeMs), below(2)];
    return [0, 1, 2].map((process) => ({
      kind: "visit",
      at: at + below(200),
      process,
      customer: 0,
      person,
    }));
  };
  return {
    seed,
    lifeMs,
    lifetimeSeconds: 60,
    latencyMs: 200,
    rateLimit: undefined,
    store: "redis",
    lossWindowMs,
    isEncrypted: false,
    isSigned: false,
    hasCookies: false,
    sharesInFlight: true,
    hasOneCredential: true,
    processes,
    customers: [{ tenantId: "tenant-0", variant: "B" }],
    faults: kinds.flatMap((kind) =>
      [1, 2, 3].map((number) => fault(kind, Math.floor((number / 4 + random() / 10) * lifeMs))),
    ),
    acts: Array.from({ length: size }, visit).flat(),
  };
}
