// The same rules in other worlds for some time, the same traces again, and planted faults.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { plantedFaults } from "./planted.js";
import { type RoundName, rounds } from "./rounds.js";
import { sequenceDiagram } from "./sequence-diagram.js";
import {
  explain,
  explanation,
  mostWorldsOfAPlantedFault,
  simulate,
  worldsUntilFound,
} from "./simulate.js";
import { carryOutApart, Workers } from "./workers.js";

test("no rule is broken in the worlds of two minutes", async () => {
  const until = performance.now() + 120_000;
  const workers = availableParallelism();
  for (let seed = 1_000_000; performance.now() < until; seed += 200)
    expect((await simulate({ seed, worlds: 200, workers })).failures).toEqual([]);
});

test("the same seed has the same trace in another process, and beside two busy loops", async () => {
  const workers = new Workers();
  onTestFinished(() => workers.end());
  const digestsIn = async (carryOut: Awaited<ReturnType<typeof workers.start>>) => {
    const digest = async (seed: number) => (await carryOut({ seed, worlds: 1 })).digest;
    return [await digest(3), await digest(17), await digest(41)];
  };
  const used = await workers.start();
  await used({ seed: 1, worlds: 50 });
  const alone = await digestsIn(used);
  expect(new Set(alone).size).toBe(3);
  for (let loop = 0; loop < 2; loop++) {
    const busy = spawn(process.execPath, ["-e", "for (;;);"]);
    onTestFinished(() => void busy.kill());
  }
  expect(await digestsIn(await workers.start())).toEqual(alone);
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

/** Those that are found in a few worlds. `npm run simulate -- --planted` looks for all. */
const soon = [
  ...["a cache of tokens is keyed without the tenant", "a grant is stored under the tenant"],
  ...["the mark of a code replaces another", "the gate forgets"],
  ...["the pause after a refusal is skipped", "callers do not share a renewal"],
  ...["the lock is ignored", "a lease is renewed for ever"],
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
