// The table of negative requests over HTTP: each row gets exactly its answer, and the log tells why.
import { describe, expect, test } from "vitest";
import { play } from "./play.js";
import { rows, topics } from "./rows.js";

describe.each(Object.entries(topics))("%s", (_, table) => {
  // Not test.each: it cuts a name after 40 characters.
  for (const row of table) {
    test(row.name, async () => {
      const { answer, rule, logged } = await play(row);
      expect(answer).toEqual(row.answer);
      expect(rule).toBe(row.rules[0]);
      if (row.rules[0] !== undefined) expect(logged).toBe(row.rules[0]);
    });
  }
});

/** Sends every token request the way that faults can strike, which the others do not take. */
const faults = [
  { name: "status", at: "before-token", status: 500, match: { tenantId: "nobody" } },
  { name: "lost-answer", match: { tenantId: "nobody" } },
] as const;

describe.each(Object.entries(topics))("%s: while a fault waits for somebody else", (_, table) => {
  test("each row gets the same answer, and the journal shows the same", async () => {
    for (const row of table) {
      const [plain, waited] = await Promise.all([play(row), play(row, { faults })]);
      expect(waited, row.name).toEqual(plain);
    }
  });
});

test("the table has at least 100 rows that are refused, and no name twice in a topic", () => {
  expect(rows.filter(({ answer }) => answer.status >= 400).length).toBeGreaterThanOrEqual(100);
  for (const table of Object.values(topics)) {
    expect(new Set(table.map(({ name }) => name)).size).toBe(table.length);
  }
});
