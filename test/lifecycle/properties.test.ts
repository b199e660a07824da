// Random lives of a connector with two tenants: whatever is called, aborted, refused, limited, reset or expires, the rules hold.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { memoryStore } from "../../src/index.js";
import { START } from "../support/clock.js";
import { stillDigests } from "../support/wait.js";
import { type Life, live, lives, type Mutation, type Step } from "./random-life.js";

/** A failure prints the seed and the path with which to replay it. */
const settings = { seed: 20_260_101, numRuns: 300 };

/** Lives that once went wrong. */
const examples: [Life][] = [
  [
    {
      // The last caller leaves while it is asked whether the other variant is served, and the next one comes.
      lifetimeSeconds: 30,
      steps: [
        { act: "call", tenant: 0, seconds: 1, abortAfterMs: 3_000 },
        { act: "wait", tenant: 0, seconds: 3, abortAfterMs: undefined },
        ...Array<Step>(5).fill({ act: "call", tenant: 0, seconds: 1, abortAfterMs: undefined }),
      ],
      tokenAnswers: [
        { kind: "garbage", latencyMs: 0 },
        { kind: "token", latencyMs: 12_000 },
        { kind: "429", latencyMs: 0 },
      ],
      apiStatuses: [200],
    },
  ],
];

beforeEach(() => {
  stillDigests();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

const property = (variant: "A" | "B", mutation?: Mutation, isAllowed = (_wrong: string) => false) =>
  fc.asyncProperty(lives, async (life: Life) => {
    const wrong = (await live(variant, life, mutation)).filter((one) => !isAllowed(one));
    if (wrong.length > 0) throw new Error(wrong.join("; "));
  });

describe.each(["A", "B"] as const)("in every life of Variant %s", (variant) => {
  test("no token is used after its expiry or for another tenant, one renewal is in flight, and every promise settles", async () => {
    await fc.assert(property(variant), { ...settings, examples });
  });

  test("without sharing the same holds, but for the number of renewals in flight", async () => {
    const isAllowed = (wrong: string) => /renewals in flight/.test(wrong);
    await fc.assert(
      property(variant, () => ({ shareInFlight: false }), isAllowed),
      { ...settings, numRuns: 150 },
    );
  });

  const mutants: { name: string; mutation: Mutation; seen: RegExp }[] = [
    {
      name: "a clock at half the speed uses a token after its expiry",
      mutation: (now) => ({ now: () => START + (now() - START) / 2 }),
      seen: /after its expiry/,
    },
    {
      name: "no sharing has several renewals in flight",
      mutation: () => ({ shareInFlight: false }),
      seen: /renewals in flight/,
    },
    {
      name: "a store that mixes up tenants uses a token for another",
      mutation: (now) => {
        const store = memoryStore({ now });
        const mixed = (key: string) => key.replace(/acme|globex/g, "any");
        return {
          store: {
            ...store,
            get: (key) => store.get(mixed(key)),
            set: (key, value, options) => store.set(mixed(key), value, options),
          },
        };
      },
      seen: /a token of \w+ for \w+/,
    },
    {
      name: "no time limit leaves promises unsettled",
      mutation: () => ({ timeoutMs: 2 ** 31 - 1 }),
      seen: /left unsettled/,
    },
  ];
  test.each(mutants)("$name, and it is seen", async ({ mutation, seen }) => {
    const result = await fc.check(property(variant, mutation), { ...settings, endOnFailure: true });
    expect(result.failed).toBe(true);
    expect(String(result.errorInstance)).toMatch(seen);
  });
});
