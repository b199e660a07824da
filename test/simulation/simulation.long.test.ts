// The same rules in some thousand other worlds for a minute and a half, and planted faults.
import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { plantedFaults } from "./planted.js";
import { mostWorldsOfAPlantedFault, simulate, worldsUntilFound } from "./simulate.js";

const minute = 60_000;

test("no rule is broken in the worlds of forty seconds", async () => {
  const until = performance.now() + 40_000;
  const workers = availableParallelism();
  for (let seed = 1_000_000; performance.now() < until; seed += 200)
    expect((await simulate({ seed, worlds: 200, workers })).failures).toEqual([]);
});

test.each(Object.keys(plantedFaults).filter((_, index) => index % 5 === 0))(
  "a planted fault is found: %s",
  async (name) => {
    expect(await worldsUntilFound(name, mostWorldsOfAPlantedFault)).toBeDefined();
  },
  5 * minute,
);

test.each(Object.entries(plantedFaults))(
  "a planted fault changes a text that is there: %s",
  async (_, fault) => {
    const { change } = fault;
    if (change === undefined) return;
    const { readFileSync } = await import("node:fs");
    const source = readFileSync(new URL(`../../${change.file}`, import.meta.url), "utf8");
    expect(source.split(change.from)).toHaveLength(2);
  },
);
