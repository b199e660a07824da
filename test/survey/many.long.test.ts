// The command over many customers of both kinds, a tenth of them broken: killed twice and resumed,
// its verdicts against the truth, and the curve of its memory, which is printed.
// SURVEY_CUSTOMERS=10000 sets another number.
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { expect, onTestFinished, test } from "vitest";
import type { SurveyResult } from "../../src/survey/index.js";
import { startProcess } from "../cli/command-line.js";
import { closedUrl, listen } from "../cli/servers.js";
import { clientSecret, type Estate, hosts, makeEstate, verdictOf } from "./estate.js";

const size = Number(process.env.SURVEY_CUSTOMERS ?? 500);

/**
 * Runs in the process of the command, and notes twice a second what is left in the heap after a
 * collection.
 */
const sampler = `import { appendFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
setInterval(() => {
  collect();
  const { heapUsed, rss } = process.memoryUsage();
  appendFileSync(process.env.MEMORY_FILE, JSON.stringify([heapUsed, rss]) + "\\n");
}, 500).unref();`;

async function servedEstate(): Promise<Estate> {
  let estate: Estate | undefined;
  const listener = getRequestListener(async (request) => {
    const { url, method, headers } = request;
    const body = method === "GET" ? null : await request.text();
    return estate?.fetch(url, { method, headers, body }) as Promise<Response>;
  });
  const urls = new Map([["down", closedUrl]]);
  for (const host of hosts) urls.set(host, (await listen(listener)).url);
  estate = makeEstate(size, { addressOf: (host) => urls.get(host) ?? "" });
  onTestFinished(estate.delete);
  return estate;
}

function linesOf(path: string): readonly string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

/** The medians of ten parts, in MiB. */
function curve(bytes: readonly number[]): number[] {
  return Array.from({ length: 10 }, (_, part) => {
    const at = (tenth: number) => Math.floor((tenth * bytes.length) / 10);
    const sorted = bytes
      .slice(at(part), Math.max(at(part + 1), at(part) + 1))
      .sort((a, b) => a - b);
    return Math.round((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN) / 2 ** 20);
  });
}

test(
  `a survey of ${size} customers that is killed twice has the true verdicts, asks no customer twice, and its memory does not grow`,
  async () => {
    const estate = await servedEstate();
    const path = (name: string) => join(estate.folder, name);
    const rows = estate.customers.map(({ other, ...one }) => JSON.stringify({ ...one, ...other }));
    writeFileSync(path("customers"), rows.join("\n"));
    const start = (name: string) => {
      const state = ["--state", path("state"), "--skip-wrong-rows"];
      const args = ["survey", path("customers"), ...state, "--json"];
      const env = {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(sampler)}`,
        MEMORY_FILE: path(`${name}.memory`),
      };
      return startProcess(args, env, openSync(path(`${name}.json`), "w"));
    };

    /** How many requests each customer had got when it was found to be finished. */
    const finished = new Map<string, number | undefined>();
    for (const share of [0.1, 0.2]) {
      const { child, ended } = await start("killed");
      while (child.exitCode === null && linesOf(path("state")).length <= share * size)
        await setTimeout(20);
      child.kill("SIGKILL");
      expect((await ended).code).toBe(null);
      for (const line of linesOf(path("state")).slice(1)) {
        const { tenantId } = JSON.parse(line).result;
        if (!finished.has(tenantId)) finished.set(tenantId, estate.requests.get(tenantId));
      }
    }
    const startedAt = performance.now();
    const { code, stderr } = await (await start("resumed")).ended;
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(code).toBe(1);

    const output = linesOf(path("resumed.json"));
    expect(output.join()).not.toContain(clientSecret);
    const results: SurveyResult[] = output.map((line) => JSON.parse(line));
    const verdicts = new Map(results.map((one) => [String(one.tenantId), verdictOf(one)]));
    // Rows whose file or variable is missing are skipped before anything is sent.
    const asked = [...estate.truth].filter(([, truth]) => truth.code !== "credential_invalid");
    expect(stderr.match(/Skipped: /g)?.length ?? 0).toBe(size - asked.length);
    expect(results).toHaveLength(asked.length);
    const wrong = asked
      .map(([id, truth]) => ({ id, truth, verdict: verdicts.get(id) }))
      .filter(({ truth, verdict }) => JSON.stringify(verdict) !== JSON.stringify(truth));
    expect(wrong).toEqual([]);

    expect(finished.size).toBeGreaterThanOrEqual(0.2 * size);
    for (const [tenantId, requests] of finished)
      expect([tenantId, estate.requests.get(tenantId)]).toEqual([tenantId, requests]);

    const samples: [heap: number, resident: number][] = linesOf(path("resumed.memory")).map(
      (line) => JSON.parse(line),
    );
    const heap = curve(samples.map(([one]) => one));
    const resident = curve(samples.map(([, one]) => one));
    const count = asked.length - finished.size;
    console.log(
      `${count} customers in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} ` +
        `per second.\n` +
        `heap, in MiB by tenths of the time: ${heap.join(" ")}\nresident: ${resident.join(" ")}`,
    );
    const [fifth = 0, last = 0] = [heap[4], heap[9]];
    expect(last).toBeLessThanOrEqual(1.1 * fifth);
  },
  120_000 + 200 * size,
);
