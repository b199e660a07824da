// The same rules in other worlds for some time, and planted faults.
import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { type RoundName, rounds } from "./rounds.js";
import { mostWorldsOfAPlantedFault, simulate, worldsUntilFound } from "./simulate.js";
import { carryOutApart } from "./workers.js";

test("no rule is broken in the worlds of two minutes", async () => {
  const until = performance.now() + 120_000;
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

/** As in `fleet/logins.long.test.ts`. */
test.each(Object.entries(rounds))(
  "the simulation says what the rig of real processes says of %s",
  async (name, round) => {
    const { planted, isSentTwice } = round;
    const rule = "a refresh token is sent once";
    const order = { seed: 1, worlds: 20, round: name as RoundName, planted };
    const { failures, ...played } = await carryOutApart(
      isSentTwice ? { ...order, until: rule } : order,
    );
    console.info(name, JSON.stringify({ ...played, failures: failures.slice(0, 3) }));
    expect(failures.filter((one) => one.rule === rule).length > 0).toBe(isSentTwice === true);
    if (planted === undefined && !isSentTwice) expect(failures).toEqual([]);
  },
);
