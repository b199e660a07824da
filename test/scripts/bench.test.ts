// The frame of `npm run bench`: the interval of a median, verdicts, and rows that fail or never
// end.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { drawFigures } from "../../scripts/bench/chart.js";
import { drawComparison } from "../../scripts/bench/comparison.js";
import {
  compare,
  compareProcesses,
  intervalOf,
  type Row,
  repeat,
  sample,
  verdictOn,
} from "../../scripts/bench/measure.js";
import {
  asText,
  currentSetting,
  type Report,
  type ReportedRow,
  reportOn,
} from "../../scripts/bench/report.js";
import { ROWS } from "../../scripts/bench/rows.js";
import {
  type MeasuredRow,
  MOST_ROW_SECONDS,
  type RowResult,
  runToTheEnd,
} from "../../scripts/bench/run.js";
import { TokenClient } from "../../scripts/bench/token-client.js";
import { servingOn } from "../support/recording-server.js";
import { plant } from "./planted-tree.js";

const main = fileURLToPath(new URL("../../scripts/bench/main.ts", import.meta.url));

describe("the interval of a median", () => {
  const cases = [
    { name: "one sample is its own", samples: [3], interval: [3, 3, 3] },
    { name: "fewer than six samples have their range", samples: [5, 1, 3, 9], interval: [1, 4, 9] },
    { name: "six samples have their range", samples: [6, 5, 4, 3, 2, 1], interval: [1, 3.5, 6] },
    // P(X <= 5) of a binomial distribution of 20 is 0.0207, P(X <= 6) is 0.058.
    {
      name: "of twenty samples five are outside at each end",
      samples: [...Array(20).keys()],
      interval: [5, 9.5, 14],
    },
  ];
  test.each(cases)("$name", ({ samples, interval }) => {
    const { low, value, high } = intervalOf(samples);
    expect([low, value, high]).toEqual(interval);
  });
});

test("a verdict is given only when the whole interval is on one side of the aim", () => {
  const verdict = (low: number, high: number) =>
    verdictOn({ low, value: (low + high) / 2, high }, 1);
  expect(verdict(0.8, 1)).toBe("met");
  expect(verdict(1.01, 1.2)).toBe("missed");
  expect(verdict(1, 1.2)).toBe("too noisy to say");
});

describe("sampling", () => {
  test("ends when the interval is narrow and on one side of the aim", async () => {
    let taken = 0;
    const take = () => 2 + (taken++ % 2) / 1_000;
    await sample(take, { aim: 1, seconds: 60 });
    expect(taken).toBeLessThan(20);
  });

  test("takes one sample when no time is left", async () => {
    let taken = 0;
    expect(await sample(() => taken++, { aim: 1, seconds: 0 })).toEqual({
      value: 0,
      low: 0,
      high: 0,
    });
    expect(taken).toBe(1);
  });
});

describe("two loops", () => {
  const loops = { ours: repeat(() => {}), theirs: repeat(() => {}), by: "cpu", aim: 9 } as const;

  test.each([0.5, 0])("are compared in %d seconds", async (seconds) => {
    const { value, low, high, ours } = await compare({ ...loops, seconds });
    expect(low).toBeGreaterThan(0);
    expect(value).toBeGreaterThanOrEqual(low);
    expect(high).toBeGreaterThanOrEqual(value);
    expect(ours).toMatch(/^[\d.]+ [nµ]s CPU \([\d.]+ [nµ]s\)$/);
  });
});

test("two programs are compared by what each reports of its process", async () => {
  const program = (code: string) => ({ args: ["--eval", code], cwd: "." });
  const busy = program("while (process.cpuUsage().user < 200_000);");
  const limit = { by: "cpuMs", aim: 1, seconds: 0 } as const;
  const { value, theirs } = await compareProcesses({ ours: busy, theirs: program(""), ...limit });
  expect(value).toBeGreaterThan(1.5);
  expect(theirs).toMatch(/ CPU \([\d.]+ m?s, \d+ MiB\)$/);
  const failing = compareProcesses({ ours: program("throw new Error('no memory')"), ...limit });
  await expect(failing).rejects.toThrow("no memory");
});

describe("the process of a row", () => {
  const programs = [
    {
      name: "has its answer as the result",
      code: `process.send({ notMeasured: "no Redis" })`,
      longestMs: 30_000,
      result: { notMeasured: "no Redis" },
    },
    {
      name: "fails when it ends without an answer",
      code: `throw new Error("no more memory")`,
      longestMs: 30_000,
      result: { failed: expect.stringContaining("no more memory") },
    },
    {
      name: "is abandoned when it waits for ever",
      code: `setInterval(() => {}, 1_000)`,
      longestMs: 500,
      result: { failed: "abandoned after 1 s" },
    },
    {
      name: "is abandoned when it computes for ever",
      code: `for (;;);`,
      longestMs: 500,
      result: { failed: "abandoned after 1 s" },
    },
    {
      name: "does not start when earlier rows left no time",
      code: "",
      longestMs: 0,
      result: { failed: expect.stringContaining("no time") },
    },
  ];
  test.each(programs)("$name", async ({ code, longestMs, result }) => {
    const program = join(plant({ "row.mjs": `${code}\n`, "package.json": "{}" }), "row.mjs");
    expect(await runToTheEnd(program, [], longestMs)).toEqual(result);
  });
});

describe("the report", () => {
  const row: Row = {
    name: "call",
    title: "a call",
    unit: "times",
    aim: 1,
    seconds: 1,
    measure: async () => figures,
  };
  const figures = { value: 0.912, low: 0.9, high: 0.95, ours: "9 µs CPU", theirs: "10 µs CPU" };
  const measured = (result: RowResult, verdict: MeasuredRow["verdict"]) => ({
    row,
    result,
    verdict,
    seconds: 1.04,
  });
  const report = reportOn(currentSetting(), [
    measured({ figures }, "met"),
    measured({ failed: "no <answer>" }, "failed"),
    measured({ notMeasured: "no Redis" }, "not measured"),
    measured({ figures: { ...figures, value: 7, low: 6, high: 8 } }, "missed"),
    measured({ figures: { ...figures, high: 1.1 } }, "too noisy to say"),
  ]);

  test("holds the machine, and the figures or the reason of each row", () => {
    const common = { name: "call", title: "a call", unit: "times", aim: 1, seconds: 1 };
    expect(report).toEqual({
      date: expect.stringMatching(/^\d{4}-/),
      node: process.version,
      platform: expect.any(String),
      cpu: expect.any(String),
      cores: expect.any(Number),
      memoryGiB: expect.any(Number),
      load: expect.any(Number),
      rows: expect.arrayContaining([
        { ...common, ...figures, verdict: "met" },
        { ...common, failed: "no <answer>", verdict: "failed" },
        { ...common, notMeasured: "no Redis", verdict: "not measured" },
      ]),
    });
  });

  test("has a line for each row, also of one that failed", () => {
    const text = asText({ ...report, load: 0 });
    expect(text).toMatch(/^call +9 µs CPU +10 µs CPU +0.91 \(0.9 to 0.95\) +at most 1 +met$/m);
    expect(text).toMatch(/^call +at most 1 +failed$/m);
    expect(text).toContain("no <answer>");
  });

  test("says when the machine was busy at the start", () => {
    expect(asText({ ...report, load: 0.1 })).not.toContain("busy");
    expect(asText({ ...report, load: 2 })).toContain("busy with other work at the start (load 2)");
  });

  test("is drawn with a bar for each measured row, whose texture is that of its verdict in the legend", () => {
    const svg = drawFigures(report);
    for (const kind of ["met", "missed", "noisy"])
      expect(svg.split(`class="bar ${kind}"`)).toHaveLength(3);
    expect(svg).toContain(">0.91 (0.9 to 0.95), aim 1<");
    expect(svg).toContain("no &lt;answer>");
  });

  test("is drawn without the control characters of a failure, which XML forbids", () => {
    const failed = measured({ failed: "\u001b[31mno\u0000 memory\u001b[39m" }, "failed");
    expect(drawFigures(reportOn(currentSetting(), [failed]))).not.toMatch(/(?!\n)\p{C}/u);
  });
});

test("an unknown row is an error of usage, and nothing is measured", () => {
  const args = ["--import", "tsx", main, "--only", "warm-call,nope"];
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(stderr).toContain('The benchmark has no row "nope".');
  expect(stderr).toContain("Usage: npm run bench");
  expect(status).toBe(2);
});

test("all rows together take at most as long as the benchmark may", () => {
  expect(ROWS.reduce((sum, { seconds }) => sum + seconds, 0)).toBeLessThanOrEqual(MOST_ROW_SECONDS);
});

describe("the client that posts token requests", () => {
  async function serve(answer: string) {
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.end(answer));
    });
    const client = new TokenClient(`http://127.0.0.1:${await servingOn(server)}/token`, 2);
    onTestFinished(() => client.close());
    return { server, client };
  }

  test("goes on over new connections when the server has closed the idle ones", async () => {
    const { server, client } = await serve('{"access_token":"t"}');
    for (let round = 0; round < 3; round++) {
      await client.post(["a=1", "a=2", "a=3"]);
      server.closeIdleConnections();
    }
  }, 5_000);

  test("rejects when an answer has no token", async () => {
    const { client } = await serve("{}");
    await expect(client.post(["a=1"])).rejects.toThrow("no token");
  });
});

describe("the charts", () => {
  const figures: Report = JSON.parse(readFileSync("scripts/bench/figures.json", "utf8"));
  const comparing = (...rows: readonly Partial<ReportedRow>[]) =>
    drawComparison({ ...figures, rows: rows as readonly ReportedRow[] });

  test("are drawn from the figures that are stored beside them, which have every row", () => {
    expect(drawFigures(figures)).toBe(readFileSync("scripts/bench/figures.svg", "utf8"));
    expect(drawComparison(figures)).toBe(
      readFileSync("scripts/bench/figures-compared.svg", "utf8"),
    );
    expect(figures.rows.map(({ name }) => name)).toEqual(ROWS.map(({ name }) => name));
  });

  test("show each library in a bar, as long as its figure says in any unit", () => {
    const row = { name: "tenant-memory", ours: "500 kB", theirs: "one 1 MiB, two 0.5 MiB" };
    const bars = [
      ...comparing(row).matchAll(
        /class="(ours|theirs)" .* width="(\d+)"[^\n]*\n<text [^>]*>([^<]+)</g,
      ),
    ];
    expect(bars.map(([, side, width, figure]) => [side, Number(width), figure])).toEqual([
      ["ours", 119, "500 kB"],
      ["theirs", 250, "1 MiB"],
      ["theirs", 125, "0.5 MiB"],
    ]);
  });

  test("show the figure of the unit that is asked for, and no row that was not measured", () => {
    const row = {
      name: "cold-start",
      ours: "9 ms CPU (8 ms, 61 MiB)",
      theirs: "10 ms CPU (9 ms, 70 MiB)",
    };
    const svg = comparing(
      row,
      { name: "first-tokens", failed: "no memory" },
      { name: "tenant-memory", ours: "1 kB" },
    );
    expect([...svg.matchAll(/>([\d.]+ \w+)</g)].map(([, figure]) => figure)).toEqual([
      ...["9 ms", "10 ms", "61 MiB", "70 MiB"],
    ]);
  });
});
