// The same rules in a thousand other worlds, and every planted fault.
import { expect, test } from "vitest";
import { plantedFaults } from "./planted.js";
import { simulate, worldsUntilFound } from "./simulate.js";

test("in a thousand worlds no rule is broken", async () => {
  expect((await simulate(1_000, 1_000)).failures).toEqual([]);
});

test.each(Object.keys(plantedFaults))("a planted fault is found within 200 worlds: %s", async (name) => {
  expect(await worldsUntilFound(name, 200)).toBeDefined();
});
