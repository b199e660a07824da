// The table of negative requests. Each row gets exactly its answer, the customer log and the
// journal name the broken rule, and the answer changes when that rule is off. The contract kit's
// cases, which test/contract runs against the emulator, break most rules in further ways.
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { createEmulator, EmulatorError, type RuleId } from "../../../src/emulator/index.js";
import { play, type Row, ruleIds, switchable, titleOf } from "./row.js";
import { table, topics } from "./table.js";

const ofDocuments: readonly RuleId[] = ["request.parameters", "request.body"];

/** Resolves with whether the answer of a row depends on these rules. */
async function dependsOn(row: Row, off: readonly RuleId[]): Promise<boolean> {
  const { answer } = await play(row, off);
  if (answer.status >= 500)
    throw new Error(`${row.name}: ${answer.status} without ${off.join(", ")}`);
  return !isDeepStrictEqual(answer, row.answer);
}

// Not describe.each and test.each, which cut a title after 40 characters.
for (const { topic, rows } of topics) {
  describe(topic, () => {
    for (const row of rows) {
      test(titleOf(row), async () => {
        const { answer, rule, logged } = await play(row);
        expect(answer).toEqual(row.answer);
        expect(rule).toBe(row.breaks[0]);
        if (row.breaks.length > 0) expect(logged).toBe(row.breaks[0]);
        const canBeOff = row.breaks.length > 0 && row.breaks.every((id) => switchable.has(id));
        if (canBeOff && !row.remains) expect(await dependsOn(row, row.breaks)).toBe(true);
        for (const id of row.shapedBy ?? [])
          if (switchable.has(id)) expect(await dependsOn(row, [id]), id).toBe(true);
      });
    }
  });
}

describe("a rule that is off", () => {
  const tried = [...switchable].filter((rule) => !ofDocuments.includes(rule));
  test.each(tried)("%s: a row that breaks it gets another answer", async (rule) => {
    const depending = table.filter(
      (row) => row.breaks.includes(rule) || row.shapedBy?.includes(rule),
    );
    // A row that breaks only this rule is enough, and most rules have one.
    depending.sort((a, b) => a.breaks.length - b.breaks.length);
    for (const row of depending) if (await dependsOn(row, [rule])) return;
    throw new Error(`none of ${depending.length} rows depends on ${rule} alone`);
  });

  test("has an entry in the rule table that says what happens then; all other rules cannot be switched off", () => {
    for (const rule of ruleIds.filter((id) => !switchable.has(id)))
      expect(() => createEmulator({ rules: { [rule]: false } }), rule).toThrow(EmulatorError);
  });

  test("never leads to a status of 500 or more, even if all others are off too", async () => {
    for (const row of table) {
      const { answer } = await play(row, [...switchable]);
      expect(answer.status, row.name).toBeLessThan(500);
    }
  });
});

test("over HTTP all races, a large body, and the first row of each topic get the same answers", async () => {
  const first = topics.flatMap(({ rows: [row] }) => row ?? []);
  const more = table.filter(({ name }) => /concurrent|1 MiB/.test(name));
  for (const row of [...first, ...more])
    expect((await play(row, [], true)).answer, row.name).toEqual(row.answer);
});

test("the table names every rule but those of documents, which requests.test.ts has", () => {
  const named = new Set(table.flatMap((row) => [...row.breaks, ...(row.shapedBy ?? [])]));
  expect(ruleIds.filter((rule) => !named.has(rule))).toEqual(ofDocuments);
});
