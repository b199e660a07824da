// `survey` over emulated deployments: its verdicts against the truth, what it sends, and how it
// goes on after an end.
import { execFileSync } from "node:child_process";
import { appendFile, chmod, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { Fetch } from "../../src/index.js";
import {
  type Customer,
  plannedRequests,
  type SurveyOptions,
  type SurveyResult,
  survey,
} from "../../src/survey/index.js";
import { steppedClock } from "../support/clock.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { rejectionOf, settle } from "../support/wait.js";
import { breakages, clientSecret, type Estate, makeEstate, verdictOf } from "./estate.js";

const estates: Estate[] = [];
function estateOf(size: number, brokenEvery?: number, now?: () => number): Estate {
  const estate = makeEstate(size, { brokenEvery, now });
  estates.push(estate);
  return estate;
}
afterAll(() => {
  for (const estate of estates) estate.delete();
});

/** The stepped clock waits for no file, so tests with it have their secrets in variables. */
function inVariables(customers: readonly Customer[]): Customer[] {
  return customers.map(({ aPrivateKeyFile, bClientSecretFile, ...one }) => ({
    ...one,
    ...(aPrivateKeyFile !== undefined && { aPrivateKeyVariable: "KEY" }),
    ...(bClientSecretFile !== undefined && { bClientSecretVariable: "SECRET" }),
  }));
}
const variables = { KEY: pkcs8(rsaKey()), SECRET: clientSecret };

async function resultsOf(
  customers: Iterable<Customer>,
  options: SurveyOptions,
): Promise<SurveyResult[]> {
  const results: SurveyResult[] = [];
  for await (const result of survey(customers, options)) results.push(result);
  return results;
}

const https = "https://a.example";
const sumOf = (requests: ReadonlyMap<string, number>) =>
  [...requests.values()].reduce((sum, one) => sum + one, 0);

describe("the verdicts of a survey", () => {
  test("are the truth about customers of both kinds, each broken in another way or not at all", async () => {
    const estate = estateOf(4 * breakages.length, 2);
    const results = await resultsOf(estate.customers, { fetch: estate.fetch, retryDeadlineMs: 0 });
    const verdicts = new Map(results.map((one) => [one.tenantId, verdictOf(one)]));
    expect(Object.fromEntries(verdicts)).toEqual(Object.fromEntries(estate.truth));
    for (const result of results) {
      expect(result.remedy === undefined).toBe(result.works);
      expect(result.problem === undefined).toBe(result.works);
      expect(result.called).toBe(true);
      expect(result.other?.region).toMatch(/^region \d$/);
    }
    expect(JSON.stringify(results)).not.toContain(clientSecret);
  });

  test("have the evidence of the detection, and the checks of the doctor where something failed", async () => {
    const { customers, fetch } = estateOf(20, 2);
    const results = await resultsOf(customers, { fetch });
    const of = (tenantId: string) => results.find((one) => one.tenantId === tenantId);
    const checks = (tenantId: string) =>
      of(tenantId)
        ?.findings.map(({ check }) => check)
        .join(" ");
    const evidence = [
      { variant: "A", status: 400 },
      { variant: "B", status: 404 },
    ];
    expect(of("t0")?.evidence).toMatchObject(evidence);
    expect(checks("t0")).toBe("detection token api_call");
    const reach = "base_url reachability tls clock";
    expect(checks("t1")).toBe(`detection token api_call ${reach} key jwks audience assertion`);
  });

  test("say which variant is served where there is no credential, and need no tenant for Variant B", async () => {
    const { fetch } = estateOf(2);
    const customers = [
      { baseUrl: https, tenantId: "t0" },
      { baseUrl: "https://b.example" },
      { baseUrl: "https://nothing.example" },
      { baseUrl: "https://pages.example", variant: "B" as const },
    ];
    const results = await resultsOf(customers, { fetch, concurrency: 1 });
    const served = { works: true, called: false, code: undefined };
    const unknown = { works: false, called: false, code: "variant_unknown" };
    const found = results.map(({ works, called, code }) => ({ works, called, code }));
    expect(found).toEqual([served, served, unknown, unknown]);
    expect(results).toMatchObject([
      { tenantId: "t0", variant: "A" },
      { tenantId: null, variant: "B" },
      ...Array(2).fill({ tenantId: null, variant: null }),
    ]);
    expect(results[2]?.remedy).toMatch(/^Add the tenantId, without which Variant A is not asked\./);
  });

  test("send a credential to a server that shows no variant only if the row names it", async () => {
    const { customers, fetch } = estateOf(2);
    const sent: string[] = [];
    const spying: Fetch = async (url, init) => {
      if (typeof init?.body === "string" || init?.body) sent.push(`${init.body}`);
      return fetch(url, init);
    };
    const stranger = { ...(customers[1] as Customer), baseUrl: "https://pages.example" };
    await resultsOf([stranger], { fetch: spying });
    expect(sent.join()).not.toContain(clientSecret);
    const [result] = await resultsOf([{ ...stranger, variant: "B" }], { fetch: spying });
    expect(sent.join()).toContain(clientSecret);
    expect(result).toMatchObject({ works: false, code: "response_not_json", variant: null });
  });

  test("name a customer whose time is over, and keep what was found", async () => {
    const clock = steppedClock();
    const { customers, fetch } = estateOf(2, 10, clock.now);
    const aborted = (signal: AbortSignal | null | undefined) =>
      new Promise<Response>((_, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason)),
      );
    const hanging: Fetch = (url, init) =>
      url.endsWith("/devices") ? aborted(init?.signal) : fetch(url, init);
    const running = resultsOf(inVariables(customers.slice(0, 1)), {
      fetch: hanging,
      clock,
      variables,
      customerTimeoutMs: 5_000,
      timeoutMs: 60_000,
    });
    const [result] = await clock.through(running);
    expect(result).toMatchObject({ works: false, variant: "A", code: "customer_timed_out" });
    expect(result?.evidence).toHaveLength(2);
    expect(result?.remedy).toContain("customerTimeoutMs");
  });

  test("survive a fault of this program, which ends no other customer", async () => {
    const { customers, fetch } = estateOf(4);
    const variables = {
      get FAULTY(): string {
        throw new RangeError(clientSecret);
      },
    };
    const ofB = { bClientId: "x", bClientSecretVariable: "FAULTY" };
    const faulty = { baseUrl: "https://b.example", ...ofB };
    const results = await resultsOf([faulty, ...customers], { fetch, variables });
    expect(results.map(({ works }) => works).sort()).toEqual([false, true, true, true, true]);
    const failed = results.find(({ works }) => !works);
    expect(failed?.code).toBe("internal");
    expect(JSON.stringify(failed)).not.toContain(clientSecret);
  });
});

describe("what a survey sends", () => {
  test("is at most what the plan says, of each kind and for every customer", async () => {
    const { customers, fetch } = estateOf(4 * breakages.length, 2);
    const kinds = ["detection", "token", "call", "doctor"] as const;
    const kindOf = (url: string, init: RequestInit = {}) => {
      if (init.method !== "POST") return url.endsWith("/devices") ? "call" : "doctor";
      const hasCredential = /client_assertion=|"client_secret"/.test(String(init.body));
      return hasCredential ? "token" : "detection";
    };
    const most = { detection: 0, token: 0, call: 0, doctor: 0 };
    for (const customer of customers) {
      const sent = { detection: 0, token: 0, call: 0, doctor: 0 };
      const recording: Fetch = (url, init) => {
        sent[kindOf(url, init as RequestInit)]++;
        return fetch(url, init);
      };
      await resultsOf([customer], { fetch: recording, retryDeadlineMs: 0 });
      const planned = plannedRequests(customer);
      for (const kind of kinds) {
        expect([kind, sent[kind] <= planned[kind]]).toEqual([kind, true]);
        most[kind] = Math.max(most[kind], sent[kind]);
      }
    }
    // Of no kind does the plan say too many.
    expect({ ...most, total: 6 }).toEqual(plannedRequests(customers[0] as Customer));
  });

  /** An estate that limits the first tenant for 30 s, and when that was asked. */
  function limitedEstate(size: number) {
    const clock = steppedClock();
    const { customers, fetch } = estateOf(size, 10, clock.now);
    const limitedUntil = clock.now() + 30_000;
    const times: number[] = [];
    const limiting: Fetch = async (url, init) => {
      if (!url.includes("/t0/external-plugin")) return fetch(url, init);
      times.push(clock.now());
      if (clock.now() >= limitedUntil) return fetch(url, init);
      return new Response(null, { status: 429, headers: { "retry-after": "30" } });
    };
    return { clock, customers: inVariables(customers), limiting, limitedUntil, times };
  }

  test("waits for the rate limit of a tenant, and asks others meanwhile", async () => {
    const { clock, customers, limiting, limitedUntil, times } = limitedEstate(6);
    const order: (string | null)[] = [];
    const running = (async () => {
      const options = { fetch: limiting, clock, variables, concurrency: 2 };
      for await (const { tenantId, works } of survey(customers, options))
        order.push(works ? tenantId : "fails");
    })();
    await clock.through(running);
    expect(order.at(-1)).toBe("t0");
    expect(order).toHaveLength(6);
    // Once before, then the question and the token request after it.
    expect(times).toHaveLength(3);
    expect(times[1]).toBeGreaterThanOrEqual(limitedUntil);
  });

  test("passes one gate for two rows of a tenant", async () => {
    const { clock, customers, limiting, limitedUntil, times } = limitedEstate(2);
    const [one] = customers as [Customer];
    const { baseUrl, tenantId } = one;
    const options = { fetch: limiting, clock, variables, concurrency: 1 };
    const running = resultsOf([one, { baseUrl, tenantId }], options);
    expect((await clock.through(running)).every(({ works }) => works)).toBe(true);
    expect(times.filter((time) => time < limitedUntil)).toHaveLength(1);
  });

  test("is bounded by the concurrency, and by a reader that is slower", async () => {
    const { customers, fetch } = estateOf(40);
    let running = 0;
    let most = 0;
    const tenants = new Set<string>();
    const counting: Fetch = async (url, init) => {
      most = Math.max(most, ++running);
      tenants.add(/\/(t\d+)\//.exec(url)?.[1] ?? "");
      try {
        return await fetch(url, init);
      } finally {
        running--;
      }
    };
    const results = survey(inVariables(customers), { fetch: counting, variables, concurrency: 3 });
    await results.next();
    await settle();
    expect(tenants.size).toBeLessThanOrEqual(8);
    for await (const _ of results);
    expect(most).toBeLessThanOrEqual(3);
  });

  test("ends when the reader leaves", async () => {
    const { customers, requests, fetch } = estateOf(60);
    for await (const _ of survey(inVariables(customers), { fetch, variables, concurrency: 2 }))
      break;
    const sent = sumOf(requests);
    await settle();
    expect(sumOf(requests)).toBe(sent);
    expect(requests.size).toBeLessThan(10);
  });
});

describe("before anything is sent, a survey refuses", () => {
  const sending: Fetch = async () => {
    throw new Error("something was sent");
  };
  test.each<[string, unknown[], string, object?]>([
    ["a wrong customer", [{ baseUrl: https }, { baseUrl: "nowhere" }], "customers_invalid"],
    ["a customer twice", [{ baseUrl: https }, { baseUrl: `${https}/` }], "customers_invalid"],
    ["what is not a customer", [null], "customers_invalid"],
    ["a customer with a misspelt member", [{ baseUrl: https, tenantID: "a" }], "customers_invalid"],
    ["a concurrency of 0", [{ baseUrl: https }], "option_invalid", { concurrency: 0 }],
    ["an unknown option", [], "option_invalid", { parallel: 3 }],
    ["a time limit of 0", [], "option_invalid", { customerTimeoutMs: 0 }],
  ])("%s", (_, customers, code, options) => {
    const start = () => survey(customers as Customer[], { fetch: sending, ...options });
    expect(start).toThrow(expect.objectContaining({ code }));
  });
});

describe("a survey with a state file", () => {
  let estate: Estate;
  let stateFile: string;
  beforeEach(() => {
    estate = estateOf(30, 5);
    stateFile = join(estate.folder, "state");
  });
  const run = (customers: readonly Customer[] = estate.customers) =>
    resultsOf(customers, { fetch: estate.fetch, stateFile, retryDeadlineMs: 0 });
  const comparable = (results: readonly SurveyResult[]) =>
    results
      .map(({ at: _, durationMs: __, evidence: ___, ...one }) => one)
      .sort((one, other) => String(one.tenantId).localeCompare(String(other.tenantId)))
      .map(({ findings, ...one }) => [one, findings.map(({ check, verdict }) => [check, verdict])]);

  async function interrupt(after: number): Promise<number> {
    let seen = 0;
    const options = { fetch: estate.fetch, stateFile, concurrency: 2 };
    for await (const _ of survey(estate.customers, options)) if (++seen === after) break;
    return finished();
  }
  const finished = async () => (await readFile(stateFile, "utf8")).split("\n").length - 2;

  test("asks no finished customer again, and yields every customer once", async () => {
    const count = await interrupt(7);
    const before = new Map(estate.requests);
    const file = await readFile(stateFile, "utf8");
    expect(count).toBeGreaterThanOrEqual(7);
    const results = await run();
    expect(results).toHaveLength(30);
    expect(new Set(results.map(({ tenantId }) => tenantId)).size).toBe(30);
    for (const tenantId of before.keys())
      if (file.includes(`"tenantId":"${tenantId}"`))
        expect([tenantId, estate.requests.get(tenantId)]).toEqual([tenantId, before.get(tenantId)]);
    const sent = sumOf(estate.requests);
    expect(comparable(await run())).toEqual(comparable(results));
    expect(sumOf(estate.requests)).toBe(sent);
  });

  test("makes it readable by its owner only, also if it was there, and writes no secret", async () => {
    await interrupt(3);
    expect((await stat(stateFile)).mode & 0o777).toBe(0o600);
    await chmod(stateFile, 0o644);
    await run();
    expect((await stat(stateFile)).mode & 0o777).toBe(0o600);
    const text = await readFile(stateFile, "utf8");
    expect(text).not.toContain(clientSecret);
    expect(text).not.toMatch(/PRIVATE KEY|eyJ|Bearer/);
    expect(text).not.toContain(estate.folder);
  });

  test("asks again about a customer whose line was cut off by a crash", async () => {
    expect(await interrupt(5)).toBeGreaterThanOrEqual(5);
    const { size } = await stat(stateFile);
    await truncate(stateFile, size - 20);
    expect(await run()).toHaveLength(30);
    const lines = (await readFile(stateFile, "utf8")).trimEnd().split("\n");
    expect(lines).toHaveLength(31);
    for (const line of lines) JSON.parse(line);
  });

  test("asks again about a customer whose row has changed, and not about one that moved to another line", async () => {
    await run();
    const before = new Map(estate.requests);
    const [first, ...others] = estate.customers as [Customer, ...Customer[]];
    const other = { region: "new" };
    const moved = others.map((one, index) => ({ ...one, line: index + 100, other }));
    const results = await run([{ ...first, aKeyId: undefined }, ...moved]);
    const asked = [...estate.requests].filter(([id, count]) => before.get(id) !== count);
    expect(asked.map(([id]) => id)).toEqual(["t0"]);
    const second = results.find(({ tenantId }) => tenantId === "t1");
    expect(second).toMatchObject({ line: 100, other });
  });

  const invalid = { code: "state_invalid" };
  const unavailable = { code: "state_unavailable" };

  test.each([
    ["a damaged line", "{broken\n"],
    ["a line that is not a result", '{"digest":"x","result":{"baseUrl":1}}\n'],
  ])("refuses %s, and leaves it as it is", async (_, damage) => {
    await interrupt(2);
    await appendFile(stateFile, damage);
    const before = await readFile(stateFile, "utf8");
    expect(await rejectionOf(run())).toMatchObject(invalid);
    expect(await readFile(stateFile, "utf8")).toBe(before);
  });

  test("refuses a file of something else, and leaves it as it is", async () => {
    await writeFile(stateFile, "the only copy of a thesis\n");
    expect(await rejectionOf(run())).toMatchObject(invalid);
    expect(await readFile(stateFile, "utf8")).toBe("the only copy of a thesis\n");
  });

  test.skipIf(process.platform === "win32")(
    "refuses what is not a file, such as a pipe or a device, and leaves its mode",
    async () => {
      execFileSync("mkfifo", ["-m", "644", stateFile]);
      expect(await rejectionOf(run())).toMatchObject(invalid);
      expect((await stat(stateFile)).mode & 0o777).toBe(0o644);
    },
  );

  test("refuses a link and a folder", async () => {
    await writeFile(join(estate.folder, "target"), "");
    await symlink(join(estate.folder, "target"), stateFile);
    expect(await rejectionOf(run())).toMatchObject(unavailable);
    stateFile = estate.folder;
    expect(await rejectionOf(run())).toMatchObject(unavailable);
  });

  test("rejects with the reason of the signal, and goes on after it", async () => {
    const stop = new AbortController();
    const reason = new Error("stop");
    const results: SurveyResult[] = [];
    const running = (async () => {
      const options = { fetch: estate.fetch, stateFile, signal: stop.signal, concurrency: 2 };
      for await (const result of survey(estate.customers, options)) {
        results.push(result);
        if (results.length === 4) stop.abort(reason);
      }
    })();
    expect(await rejectionOf(running)).toBe(reason);
    expect(results.length).toBeLessThan(10);
    expect(await run()).toHaveLength(30);
  });

  test("examines no other customer after the signal, also when all that were begun have ended", async () => {
    const stop = new AbortController();
    const reason = new Error("stop");
    let seen = 0;
    const running = (async () => {
      const options = { fetch: estate.fetch, stateFile, signal: stop.signal, concurrency: 2 };
      for await (const _ of survey(estate.customers, options)) {
        if (++seen < 4) continue;
        if (!stop.signal.aborted) await expect.poll(finished).toBe(5);
        stop.abort(reason);
      }
    })();
    expect(await rejectionOf(running)).toBe(reason);
    expect(seen).toBeLessThan(6);
  });
});
