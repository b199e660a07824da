// Worlds that once broke a rule, shrunk, each with what it found in the client. One that an
// unrelated change made harmless got another seed, from which it breaks the rule again.
import type { Plan } from "./plan.js";

const usual: Omit<Plan, "seed" | "lifeMs"> = {
  lifetimeSeconds: 300,
  latencyMs: 200,
  rateLimit: undefined,
  store: "none",
  isEncrypted: false,
  lossWindowMs: 0,
  isSigned: false,
  hasCookies: false,
  sharesInFlight: true,
  hasOneCredential: false,
  processes: [{ rate: 1, offsetMs: 0 }],
  customers: [],
  faults: [],
  acts: [],
};

const call = { kind: "call", process: 0, customer: 0, person: 0 } as const;
/** Each kind of fault reads only some of these. */
const fault = { process: 0, customer: 0, share: 1, jumpMs: 0, retryAfter: 1 } as const;
const limited = { ...fault, kind: "429 for a while" } as const;
const jump = { ...fault, kind: "jump" } as const;

export const keptWorlds: readonly { readonly found: string; readonly plan: Plan }[] = [
  {
    found:
      "a detection that had passed the rate limit before a 429 opened it again by its next answer",
    plan: {
      ...usual,
      seed: 362_882,
      lifeMs: 434_127,
      lifetimeSeconds: 60,
      store: "redis",
      sharesInFlight: false,
      processes: [{ rate: 1.0000707097262609, offsetMs: 0 }],
      customers: [{ tenantId: "tenant-0", variant: "B" }],
      faults: [{ ...limited, at: 355_739, until: 434_126, share: 0.365, retryAfter: 31 }],
      acts: [
        { ...call, at: 414_694, isInvalidated: true },
        { ...call, at: 414_694, isInvalidated: true },
      ],
    },
  },
  {
    found: "a session was opened whose tokens no other process found in the store",
    plan: {
      ...usual,
      seed: 370_796,
      lifeMs: 176_654,
      lifetimeSeconds: 60,
      latencyMs: 20,
      store: "redis",
      processes: [
        { rate: 1.0000311949512455, offsetMs: 0 },
        { rate: 0.9999750760948751, offsetMs: 0 },
      ],
      customers: [
        { tenantId: "tenant-0", variant: "A", rotatesAt: 298_959 },
        { tenantId: "tenant-1", variant: "B", trouble: "wrong key" },
      ],
      faults: [
        { ...fault, kind: "store silent", at: 163_042, until: 176_653, process: 1, share: 0.853 },
      ],
      acts: [
        { ...call, kind: "visit", at: 161_573, process: 1 },
        { ...call, kind: "sign in", at: 168_031, customer: 1, process: 1 },
        { ...call, kind: "visit", at: 140_583, customer: 1, person: 1 },
        { ...call, kind: "visit", at: 140_583, customer: 1, person: 1, process: 1 },
      ],
    },
  },
  {
    found:
      "after its clock was set back by half an hour, what a machine wrote to Redis expired at once",
    plan: {
      ...usual,
      seed: 490_742,
      lifeMs: 791_648,
      lifetimeSeconds: 60,
      store: "redis",
      processes: [{ rate: 1.000093723686505, offsetMs: 0 }],
      customers: [{ tenantId: "tenant-0", variant: "A", movesAt: 459_846 }],
      faults: [
        { ...jump, at: 426_647, until: 532_936, jumpMs: -503_000, isAtToken: true },
        { ...jump, at: 573_110, until: 578_011, jumpMs: -368_000 },
        { ...jump, at: 507_109, until: 598_025, jumpMs: -569_000 },
      ],
      acts: [
        { ...call, kind: "two tabs", at: 61_547, person: 1 },
        { ...call, kind: "two tabs", at: 605_078 },
      ],
    },
  },
  {
    found:
      "the mark of a code that was sent ended with a clock that was set ahead, so the code was " +
      "sent again",
    plan: {
      ...usual,
      seed: 189_907,
      lifeMs: 535_275,
      lifetimeSeconds: 60,
      store: "own",
      processes: [{ rate: 0.999984753718134, offsetMs: 0 }],
      customers: [{ tenantId: "tenant-0", variant: "A", rotatesAt: 13_515 }],
      faults: [
        { ...fault, kind: "jump", at: 37_661, until: 58_773, jumpMs: 526_000, isAtToken: false },
        { ...fault, kind: "jump", at: 42_939, until: 72_346, jumpMs: 223_000, isAtToken: true },
        {
          ...limited,
          at: 125_863,
          until: 186_443,
          share: 0.851,
          jumpMs: 448_000,
          retryAfter: 96,
          isAtToken: true,
        },
        { ...fault, kind: "jump", at: 125_863, until: 186_443, jumpMs: 448_000, isAtToken: true },
      ],
      acts: [{ ...call, kind: "sign in", at: 535_274, person: 1, isImpatient: true }],
    },
  },
  {
    found:
      "an assertion that was accepted before the clock was set back cost the trust in what a later answer said",
    plan: {
      ...usual,
      seed: 159_010,
      lifeMs: 275_043,
      store: "redis",
      sharesInFlight: false,
      processes: [{ rate: 0.9999870505697094, offsetMs: -45_527 }],
      customers: [
        { tenantId: "tenant-0", variant: "A", trouble: "wrong key" },
        { tenantId: "tenant-1", variant: "A" },
      ],
      faults: [
        { ...fault, kind: "jump", at: 235_736, until: 247_728, jumpMs: -532_000, isAtToken: true },
        { ...fault, kind: "store slow", at: 221_928, until: 275_042, share: 0.94 },
      ],
      acts: [
        { ...call, kind: "two tabs", at: 256_481 },
        { ...call, kind: "visit", at: 151_467, customer: 1 },
      ],
    },
  },
  {
    found:
      "a customer that moved to the other variant was not detected again as long as its vault " +
      "had no credential of the old one",
    plan: {
      ...usual,
      seed: 235,
      lifeMs: 200_000,
      customers: [{ tenantId: "tenant-0", variant: "B", movesAt: 100_000 }],
      acts: [{ ...call, at: 10_000 }],
    },
  },
  {
    found:
      "a code was sent although another request had met the rate limit while its mark was stored",
    plan: {
      ...usual,
      seed: 246,
      lifeMs: 1_018_136,
      latencyMs: 1_500,
      rateLimit: 3,
      store: "redis",
      processes: [{ rate: 1.0000147606061771, offsetMs: -43_001 }],
      customers: [{ tenantId: "tenant-0", variant: "A", rotatesAt: 656_057 }],
      faults: [
        { ...fault, kind: "jump", at: 346_578, until: 400_232, jumpMs: 273_000 },
        { ...fault, kind: "store slow", at: 946_026, until: 1_018_135, share: 0.792 },
      ],
      acts: [
        { ...call, at: 952_898, person: 1, abortAfterMs: 1_000 },
        { ...call, at: 816_902 },
        { ...call, at: 947_994, person: 1, abortAfterMs: 8_000, isHeld: true },
        { ...call, at: 113_476 },
        { ...call, at: 817_500, person: 1, isHeld: true },
        { ...call, kind: "two tabs", at: 983_054, person: 1 },
        { ...call, at: 668_243, person: 1 },
        { ...call, at: 410_405 },
        { ...call, kind: "two tabs", at: 963_041 },
        { ...call, at: 22_863, person: 1 },
        { ...call, at: 347_291 },
        { ...call, at: 883_289, abortAfterMs: 0 },
      ],
    },
  },
  {
    found:
      "after its clock was set back during a token request a process distrusted the server's " +
      "clock, and was refused for ever",
    plan: {
      ...usual,
      seed: 362,
      lifeMs: 20_000,
      lifetimeSeconds: 60,
      latencyMs: 1_500,
      customers: [{ tenantId: "tenant-0", variant: "A" }],
      hasOneCredential: true,
      faults: [{ ...fault, kind: "jump", at: 10_900, until: 12_000, jumpMs: -176_000 }],
      acts: [{ ...call, at: 10_000 }],
    },
  },
  {
    found:
      "a process remembered only the last token that was refused, and took the one before it " +
      "from a store that had failed meanwhile",
    plan: {
      ...usual,
      seed: 16_462,
      lifeMs: 402_015,
      lifetimeSeconds: 900,
      store: "redis",
      processes: [{ rate: 0.9999920625433326, offsetMs: 0 }],
      customers: [{ tenantId: "tenant-0", variant: "B" }],
      faults: [
        { ...fault, kind: "store slow", at: 239_998, until: 307_252, share: 0.799 },
        { ...fault, kind: "revoked", at: 298_648, until: 402_014 },
      ],
      acts: [
        { ...call, at: 186_149 },
        { ...call, at: 316_537, isInvalidated: true },
        { ...call, at: 298_748 },
      ],
    },
  },
  {
    found: "a process that met a 429 replaced the longer wait of another in the store",
    plan: {
      ...usual,
      seed: 30_444,
      lifeMs: 231_368,
      store: "redis",
      processes: [
        { rate: 0.9999436777115334, offsetMs: 0 },
        { rate: 1.000027883471176, offsetMs: 0 },
        { rate: 0.9999905833211262, offsetMs: 0 },
      ],
      customers: [{ tenantId: "tenant-0", variant: "B" }],
      faults: [
        { ...limited, at: 101_573, until: 127_652, share: 0.585, retryAfter: 37 },
        { ...limited, at: 122_406, until: 231_367, share: 0.547, retryAfter: 25 },
        { ...limited, at: 140_635, until: 227_676, share: 0.464, retryAfter: 4 },
      ],
      acts: [
        { ...call, kind: "visit", at: 151_632, process: 2 },
        { ...call, at: 133_781, process: 1 },
        { ...call, at: 134_376, process: 1 },
        { ...call, kind: "visit", at: 142_670 },
        { ...call, kind: "visit", at: 142_670, process: 1 },
        { ...call, kind: "visit", at: 142_670, process: 2 },
      ],
    },
  },
  {
    found: "the state of a person's token endpoint was read without a time limit",
    plan: {
      ...usual,
      seed: 47_911,
      lifeMs: 160_214,
      lifetimeSeconds: 900,
      store: "redis",
      hasOneCredential: true,
      processes: [{ rate: 1.0000209947066847, offsetMs: 0 }],
      customers: [{ tenantId: "tenant-1", variant: "A" }],
      faults: [{ ...fault, kind: "store silent", at: 113_524, until: 160_213, share: 0.616 }],
      acts: [{ ...call, kind: "visit", at: 160_025 }],
    },
  },
  {
    found: "a login whose record could not be deleted got no session, and had lost the one before",
    plan: {
      ...usual,
      seed: 87925,
      lifeMs: 128_895,
      latencyMs: 20,
      store: "redis",
      hasCookies: true,
      hasOneCredential: true,
      processes: [{ rate: 1.0000419348525815, offsetMs: 0 }],
      customers: [{ tenantId: "tenant-0", variant: "B" }],
      faults: [{ ...fault, kind: "suspend", at: 42_596, until: 128_894, isAtToken: true }],
      acts: [
        { ...call, kind: "sign in", at: 10_970, isImpatient: false },
        { ...call, kind: "two tabs", at: 6_387, person: 1 },
        { ...call, kind: "sign in", at: 81_399, isImpatient: false },
      ],
    },
  },
  {
    found: "a person's refresh that had waited did not see another process' later Retry-After",
    plan: {
      ...usual,
      seed: 80_231,
      lifeMs: 420_272,
      lifetimeSeconds: 60,
      store: "redis",
      processes: [
        { rate: 0.9999641144305002, offsetMs: 0 },
        { rate: 0.9999018314451911, offsetMs: 0 },
      ],
      customers: [{ tenantId: "tenant-0", variant: "B" }],
      faults: [{ ...limited, at: 312_443, until: 420_271, share: 0.988, retryAfter: 9 }],
      acts: [
        { ...call, kind: "sign in", at: 236_987, isImpatient: true },
        { ...call, kind: "two tabs", at: 367_160, process: 1 },
      ],
    },
  },
];
