// Situations of both variants against a server of another make: what works, and how every error
// reads.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rsaKey } from "../support/keys.js";
import { calls } from "./calls.js";
import { connections } from "./connections.js";
import { type HonestServer, honestServer } from "./honest-server.js";
import { people } from "./people.js";
import { refusals } from "./refusals.js";
import { play, type Row } from "./situation.js";
import { tokenAnswers } from "./token-answers.js";

const tables = { "token answers": tokenAnswers, refusals, calls, people, connections } as const;

let server: HonestServer;
beforeAll(async () => {
  server = await honestServer(rsaKey().publicKey);
});
afterAll(() => server.close());

for (const [title, rows] of Object.entries<readonly Row[]>(tables))
  describe(title, () => {
    for (const row of rows)
      test(`${row.name} (${row.way}): ${row.expected}`, () => play(row, server.world()));
  });

test("no two situations have the same name", () => {
  const names = Object.entries(tables).flatMap(([table, rows]) =>
    (rows as readonly Row[]).map(({ name, way }) => `${table}: ${name} (${way})`),
  );
  expect(new Set(names).size).toBe(names.length);
});
