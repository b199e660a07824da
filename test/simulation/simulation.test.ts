// Worlds from seeds: no rule breaks, a seed replays exactly, and a run that was stopped goes on.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { keptWorlds } from "./kept.js";
import { plantedFaults } from "./planted.js";
import { simulate } from "./simulate.js";
import { root, Workers } from "./workers.js";

const workers = new Workers();
const worker = workers.start();
afterAll(() => workers.end());

test("in fifty worlds no rule is broken, and a seed has one trace", async () => {
  const { failures, events } = await (await worker)({ seed: 31, worlds: 50 });
  expect(failures).toEqual([]);
  expect(events).toBeGreaterThan(2_000);
  const digestOf = async () => (await (await worker)({ seed: 41, worlds: 1 })).digest;
  const digest = await digestOf();
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(await digestOf()).toBe(digest);
});

test.each(keptWorlds)(
  "a world that broke a rule does not break it any more: $found",
  async ({ plan }) => {
    expect((await (await worker)({ seed: plan.seed, worlds: 1, plan })).failures).toEqual([]);
  },
);

test("a run that was stopped goes on from its state file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "simulation-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const state = join(folder, "state.json");
  const before = {
    seed: 1,
    worlds: 60,
    played: 55,
    events: 100_000,
    seconds: 7,
    faults: { jump: 3 },
    failures: [],
  };
  writeFileSync(state, JSON.stringify(before));
  await expect(simulate({ seed: 2, worlds: 60, workers: 1, state })).rejects.toThrow(
    "--seed 1 --worlds 60",
  );
  const { events, seconds, played } = await simulate({ seed: 1, worlds: 60, workers: 1, state });
  expect({
    played,
    isLonger: seconds > 7,
    isFiveMore: events > 100_000 && events < 105_000,
  }).toEqual({ played: 60, isLonger: true, isFiveMore: true });
  expect(existsSync(state)).toBe(false);
});

test("each fault that is planted in the source replaces a text that occurs once", () => {
  const parts = Object.entries(plantedFaults).flatMap(([name, { change }]) =>
    change ? [[name, readFileSync(join(root, change.file), "utf8").split(change.from).length]] : [],
  );
  expect(parts.filter(([, count]) => count !== 2)).toEqual([]);
});
