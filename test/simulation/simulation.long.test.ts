// The same rules in other worlds for some time, and planted faults.
import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { mostWorldsOfAPlantedFault, simulate, worldsUntilFound } from "./simulate.js";

test("no rule is broken in the worlds of forty seconds", async () => {
  const until = performance.now() + 40_000;
  const workers = availableParallelism();
  for (let seed = 1_000_000; performance.now() < until; seed += 200)
    expect((await simulate({ seed, worlds: 200, workers })).failures).toEqual([]);
});

/** Those that are found in a few worlds. `npm run simulate -- --planted` looks for all. */
const soon = [
  "a cache of tokens is keyed without the tenant",
  "a grant is stored under the tenant",
  "the mark of a code replaces another",
  "the gate forgets",
  "the pause after a refusal is skipped",
  "callers do not share a renewal",
  "the lock is ignored",
  "a lease is renewed for ever",
];

test.each(soon)("a planted fault is found: %s", async (name) => {
  expect(await worldsUntilFound(name, mostWorldsOfAPlantedFault)).toBeDefined();
});
