// Plays the rows with concurrent requests a hundred times in-process, and twenty times over HTTP.
// Each counts the successes.
import { expect, test } from "vitest";
import { play } from "./negative/row.js";
import { table } from "./negative/table.js";

for (const { way, rounds } of [
  { way: "in-process", rounds: 100 },
  { way: "over HTTP", rounds: 20 },
])
  for (const row of table.filter(({ name }) => name.includes("concurrent")))
    test(`${row.name}, ${way}`, async () => {
      for (let round = 0; round < rounds; round++)
        expect((await play(row, [], way === "over HTTP")).answer).toEqual(row.answer);
    });
