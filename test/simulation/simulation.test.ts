// Worlds from seeds: no rule breaks, a seed replays exactly, and a planted fault is found.
import { expect, test } from "vitest";
import { planOf } from "./plan.js";
import { plantedFaults } from "./planted.js";
import { explain, simulate, worldsUntilFound } from "./simulate.js";
import { play } from "./world.js";

test("in fifty worlds no rule is broken", async () => {
  expect((await simulate(1, 50)).failures).toEqual([]);
});

test("the same seed has the same trace", async () => {
  for (const seed of [3, 17, 41]) {
    const { trace } = await play(planOf(seed));
    expect((await play(planOf(seed))).trace).toEqual(trace);
  }
});

test.each(["the lock is ignored", "the header Retry-After is lost", "the store returns another key's token"])(
  "a planted fault is found: %s",
  async (name) => {
    expect(await worldsUntilFound(name, 200)).toBeDefined();
  },
);

test("a failing world is shrunk to the few parts that make it fail", async () => {
  const seed = (await worldsUntilFound("a proxy sends a token request twice", 200)) ?? 0;
  const failure = { seed, rule: "nothing twice", how: "a jti" };
  const text = await explain(failure, plantedFaults["a proxy sends a token request twice"]);
  expect(text).toContain("Shrunk to 1, 1, 0, ");
  expect(text).toContain(`Replay: npm run simulate -- --seed ${seed}`);
  expect(text).toContain("broken: nothing twice");
});
