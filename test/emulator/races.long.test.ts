// Plays the rows with concurrent requests a hundred times, in-process and over HTTP. Each counts
// the successes.
import { expect, test } from "vitest";
import { play } from "./negative/row.js";
import { table } from "./negative/table.js";

for (const way of ["in-process", "over HTTP"])
  for (const row of table.filter(({ name }) => name.includes("concurrent")))
    test(`${row.name}, ${way}`, async () => {
      for (let round = 0; round < 100; round++)
        expect((await play(row, [], way === "over HTTP")).answer).toEqual(row.answer);
    });
