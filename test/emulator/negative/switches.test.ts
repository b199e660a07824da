// Every rule's switch has an effect: with it off, a row of the table of negative requests is answered otherwise.
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { type RuleId, rules } from "../../../src/emulator/index.js";
import { play } from "./play.js";
import type { Row } from "./row.js";
import { rows } from "./rows.js";

/** What was played once is not played again: many a rule is the only one of its row. */
const played = new Map<string, Promise<boolean>>();

function changes(row: Row, off: readonly RuleId[]): Promise<boolean> {
  const name = JSON.stringify([rows.indexOf(row), ...off]);
  const known = played.get(name) ?? playChanges(row, off);
  played.set(name, known);
  return known;
}

async function playChanges(row: Row, off: readonly RuleId[]): Promise<boolean> {
  const { answer } = await play(row, { off });
  if (answer.status >= 500)
    throw new Error(`${row.name}: answered ${answer.status} with ${off.join(", ")} off`);
  return !isDeepStrictEqual(answer, row.answer);
}

describe("with one rule off, a row is answered otherwise", () => {
  test.each(Object.keys(rules) as RuleId[])("%s", async (rule) => {
    const depending = rows.filter((row) => row.rules.includes(rule) || row.shapedBy?.includes(rule));
    // Those that break this rule alone come first: one is enough.
    depending.sort((a, b) => a.rules.length - b.rules.length);
    for (const row of depending) if (await changes(row, [rule])) return;
    throw new Error(`no row of ${depending.length} depends on ${rule} alone`);
  });
});

describe("with every rule off that it breaks, a row is answered otherwise", () => {
  for (const row of rows.filter((one) => one.rules.length > 0)) {
    test(row.name, async () => {
      expect(await changes(row, row.rules)).toBe(row.remains !== true);
    });
  }
});

describe("a rule that shapes an answer shapes it", () => {
  for (const row of rows) {
    for (const rule of row.shapedBy ?? []) {
      test(`${rule}: ${row.name}`, async () => {
        expect(await changes(row, [rule])).toBe(true);
      });
    }
  }
});
