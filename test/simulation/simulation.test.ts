// Worlds from seeds: no rule breaks, a seed replays exactly, and a planted fault is found.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { keptWorlds } from "./kept.js";
import { plantedFaults } from "./planted.js";
import { sequenceDiagram } from "./sequence-diagram.js";
import { explain, explanation, simulate, worldsUntilFound } from "./simulate.js";
import { root, Workers } from "./workers.js";

const workers = new Workers();
const worker = workers.start();
const busy: ChildProcess[] = [];
afterAll(() => {
  workers.end();
  for (const child of busy) child.kill();
});

test("in a hundred worlds no rule is broken", async () => {
  const { failures, events } = await (await worker)({ seed: 1, worlds: 100 });
  expect(failures).toEqual([]);
  expect(events).toBeGreaterThan(4_000);
});

test.each(keptWorlds)(
  "a world that broke a rule does not break it any more: $found",
  async ({ plan }) => {
    expect((await (await worker)({ seed: plan.seed, worlds: 1, plan })).failures).toEqual([]);
  },
);

test("the same seed has the same trace in another process, and beside two busy loops", async () => {
  const seeds = [3, 17, 41];
  const digestsOf = async (carryOut: Awaited<typeof worker>) => {
    const digests: (string | undefined)[] = [];
    for (const seed of seeds) digests.push((await carryOut({ seed, worlds: 1 })).digest);
    return digests;
  };
  const alone = await digestsOf(await worker);
  for (let loop = 0; loop < 2; loop++) busy.push(spawn(process.execPath, ["-e", "for (;;);"]));
  expect(await digestsOf(await workers.start())).toEqual(alone);
  for (const child of busy) child.kill();
});

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

test("a planted fault is found, and its world is shrunk to the few parts that make it fail", async () => {
  const name = "the first assertion is sent again and again";
  const { rule } = plantedFaults[name] ?? { rule: "deadline" };
  const after = await worldsUntilFound(name, 100);
  expect(after).toBeDefined();
  const failure = { seed: after ?? 0, rule, how: "<b>sent again</b>" };
  const played = await explain(failure, name);
  const text = explanation(failure, played);
  expect(text).toContain("Shrunk to 1, 1, 0, ");
  expect(text).toContain(`Replay: npm run simulate -- --seed ${failure.seed}`);
  expect(text).toContain(`broken: ${rule}`);
  const page = sequenceDiagram(failure.seed, played, failure);
  expect(page).toContain("&#60;b&#62;sent again");
  expect(page).not.toMatch(/<b>|<script|https?:\/\/(?!service|planner)/);
});
