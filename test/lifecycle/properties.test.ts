// Random sequences of calls, aborts, refusals, rate limits and faults on a connector with two tenants keep all rules.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/index.js";
import { START } from "../support/clock.js";

import { type Life, lifeProperty, type Mutation, type Step } from "./random-life.js";

/** A failure prints the seed and the path with which to replay it. */
const settings = { seed: 20_260_101, numRuns: 100 };

/** Lives in which a rule was once broken. */
const examples: [Life][] = [
  [
    {
      // The last caller leaves while a detection of the other variant runs, and the next caller comes.
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

describe.each(["A", "B"] as const)("in each random life of Variant %s", (variant) => {
  test("no token is used after its expiry or for another tenant, one renewal is in flight, and every promise settles", async () => {
    await fc.assert(lifeProperty(variant), { ...settings, examples });
  });

  test("with shareInFlight: false the same holds, except for the number of renewals in flight", async () => {
    const isAllowed = (wrong: string) => /renewals in flight/.test(wrong);
    await fc.assert(
      lifeProperty(variant, () => ({ shareInFlight: false }), isAllowed),
      { ...settings, numRuns: 50 },
    );
  });

  const mutants: { name: string; mutation: Mutation; seen: RegExp }[] = [
    {
      name: "a clock at half the speed uses a token after its expiry",
      mutation: (clock) => ({ clock: { ...clock, now: () => START + (clock.now() - START) / 2 } }),
      seen: /after its expiry/,
    },
    {
      name: "no sharing has several renewals in flight",
      mutation: () => ({ shareInFlight: false }),
      seen: /renewals in flight/,
    },
    {
      name: "a store that mixes up tenants uses a token for another",
      mutation: (clock) => {
        const store = memoryStore({ clock });
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
  test.each(mutants)("$name, and the property finds it", async ({ mutation, seen }) => {
    const result = await fc.check(lifeProperty(variant, mutation), { ...settings, endOnFailure: true });
    expect(result.failed).toBe(true);
    expect(String(result.errorInstance)).toMatch(seen);
  });
});
