// The frame of `npm run bench`: the interval of a median, verdicts, and rows that fail or never
// end.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawFigures } from "../../scripts/bench/chart.js";
import { drawComparison } from "../../scripts/bench/comparison.js";
import { intervalOf, sample, verdictOn } from "../../scripts/bench/measure.js";
import type { Report } from "../../scripts/bench/report.js";
import { ROWS } from "../../scripts/bench/rows.js";
import { MOST_ROW_SECONDS, runToTheEnd } from "../../scripts/bench/run.js";
import { plant } from "./planted-tree.js";

test.each([
  { name: "one sample is its own", samples: [3], interval: [3, 3, 3] },
  { name: "fewer than six samples have their range", samples: [5, 1, 3, 9], interval: [1, 4, 9] },
  // P(X <= 5) of a binomial distribution of 20 is 0.0207, P(X <= 6) is 0.058.
  { name: "of twenty five are outside", samples: [...Array(20).keys()], interval: [5, 9.5, 14] },
])("the interval of a median: $name", ({ samples, interval }) => {
  const { low, value, high } = intervalOf(samples);
  expect([low, value, high]).toEqual(interval);
});

test("a verdict is given only when the whole interval is on one side of the aim", () => {
  const verdict = (low: number, high: number) => verdictOn({ low, value: low, high }, 1);
  const verdicts = [verdict(0.8, 1), verdict(1.01, 1.2), verdict(1, 1.2)];
  expect(verdicts).toEqual(["met", "missed", "too noisy to say"]);
});

test("sampling ends when the interval is narrow and on one side of the aim, or no time is left", async () => {
  let taken = 0;
  const take = () => 2 + (taken++ % 2) / 1_000;
  await sample(take, { aim: 1, seconds: 60 });
  expect(taken).toBeLessThan(20);
  const one = await sample(() => 7, { aim: 1, seconds: 0 });
  expect(one).toEqual({ value: 7, low: 7, high: 7 });
});

const failed = (text: string) => ({ failed: expect.stringContaining(text) });
const noRedis = { notMeasured: "no Redis" };
test.each([
  { name: "has its answer", code: `process.send(${JSON.stringify(noRedis)})`, result: noRedis },
  { name: "fails without one", code: `throw new Error("memory")`, result: failed("memory") },
  { name: "is abandoned", code: "for (;;);", ms: 500, result: failed("abandoned after 1 s") },
  { name: "does not start when no time is left", code: "", ms: 0, result: failed("no time") },
])("the process of a row $name", async ({ code, ms = 30_000, result }) => {
  const program = join(plant({ "row.mjs": `${code}\n`, "package.json": "{}" }), "row.mjs");
  expect(await runToTheEnd(program, [], ms)).toEqual(result);
});

test("all rows together take at most as long as the benchmark may", () => {
  expect(ROWS.reduce((sum, { seconds }) => sum + seconds, 0)).toBeLessThanOrEqual(MOST_ROW_SECONDS);
});

test("the charts are drawn from the figures that are stored beside them, which have every row", () => {
  const figures: Report = JSON.parse(readFileSync("scripts/bench/figures.json", "utf8"));
  const stored = (name: string) => readFileSync(`scripts/bench/${name}.svg`, "utf8");
  expect(drawFigures(figures)).toBe(stored("figures"));
  expect(drawComparison(figures)).toBe(stored("figures-compared"));
  expect(figures.rows.map(({ name }) => name)).toEqual(ROWS.map(({ name }) => name));
});
