/** The cases as data, and as a run against an emulator that keeps every promise. */
import { describe, expect, test } from "vitest";
import { unknowns } from "../../generated/unknowns.js";
import { contractCases } from "../../src/contract/index.js";
import { rules } from "../../src/emulator/index.js";
import { createRig } from "./rig.js";

const everything = contractCases.map(({ id }) => id);

describe("the table of cases", () => {
  test("ids are unique, and each names a rule or an unknown that exists", () => {
    expect(new Set(everything).size).toBe(everything.length);
    for (const { rule, unknown, id } of contractCases) {
      if (rule !== undefined) expect(rules, id).toHaveProperty([rule]);
      if (unknown !== undefined)
        expect(
          unknowns.map((one) => one.id),
          id,
        ).toContain(unknown);
    }
  });

  test("it is plain data", () => {
    expect(JSON.parse(JSON.stringify(contractCases))).toEqual(contractCases);
  });
});

describe("against an emulator that keeps every promise", () => {
  test.each([
    { name: "with the emulator's clock as now", options: {} },
    { name: "with a wait that alone moves the emulator's clock", options: { now: undefined } },
  ])("every case holds or learns, with everything that a target can lend, $name", async ({ options }) => {
    const { run } = createRig();
    const results = await run({ only: everything, ...options });
    const others = [...results.values()].filter(({ result }) => result !== "holds" && result !== "learnt");
    expect(others.map(({ id, result, observed }) => `${id}: ${result}: ${observed}`)).toEqual([]);
    expect(results.size).toBe(everything.length);
  });

  test("a safe run takes at most 60 requests and changes nothing", async () => {
    const { run, emulator } = createRig({ rateLimit: false });
    const before = JSON.stringify(emulator.journal.entries().length);
    const results = await run({ safe: true, maxRequests: 60 });
    expect(before).toBe("0");
    expect(emulator.journal.entries().length).toBeLessThanOrEqual(60);
    const spent = [...results.values()].filter(({ observed }) => /budget/.test(observed));
    expect(spent.map(({ id }) => id)).toEqual([]);
  });
});
