/** A rule that is off, or an answer that is spoilt, breaks the cases of that rule and no others. */
import { expect, test } from "vitest";
import { contractCases } from "../../src/contract/index.js";
import { type RuleId, rules } from "../../src/emulator/index.js";
import { createRig } from "./rig.js";

const everything = contractCases.map(({ id }) => id);

/** Rules that no request of an integration can see, and why. */
const unseen: Partial<Record<RuleId, string>> = {
  "launch.form": "the pages of the host application are not described",
  "launch.signed-in": "the pages of the host application are not described",
  "login.form": "the pages of the login are not described",
  "login.pending": "the pages of the login are not described",
  "login.credentials": "the pages of the login are not described",
};

/** Cases that break too, because what they do rests on the rule. */
const alsoBroken: Partial<Record<RuleId, readonly string[]>> = {};

const switched = (Object.keys(rules) as RuleId[]).filter((rule) => rules[rule].off !== undefined);

test.each(switched.filter((rule) => !(rule in unseen)))(
  "without the rule %s its cases break, and no others",
  async (rule) => {
    const { run } = createRig({ rules: { [rule]: false } });
    const results = await run({ only: everything });
    const broken = [...results.values()].filter(({ result }) => result === "breaks").map(({ id }) => id);
    const own = contractCases.filter((one) => one.rule === rule).map(({ id }) => id);
    expect(own.length).toBeGreaterThan(0);
    expect(broken.sort()).toEqual([...own, ...(alsoBroken[rule] ?? [])].sort());
  },
);

test("every rule has a case, unless it cannot be seen", () => {
  const covered = new Set(contractCases.map(({ rule }) => rule));
  const without = (Object.keys(rules) as RuleId[]).filter((rule) => !covered.has(rule));
  expect(without.sort()).toEqual(Object.keys(unseen).sort());
});

test("a case costs no more requests than it says, when it is tried alone", {
  timeout: 60_000,
}, async () => {
  const { run } = createRig({ rateLimit: false });
  for (const { id, costs } of contractCases) {
    const result = (await run({ only: [id] })).get(id);
    // The question whether the variant is served comes before, and is not the case's own.
    expect.soft(result?.evidence.length, id).toBeLessThanOrEqual(Math.max(costs.requests, 1));
  }
});
