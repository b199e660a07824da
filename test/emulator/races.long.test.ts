// Plays the rows with concurrent requests a hundred times, in-process and over HTTP: exactly one request succeeds.
import { describe, expect, test } from "vitest";
import { play } from "./negative/row.js";
import { table } from "./negative/table.js";

const races = table.filter(({ name }) => name.includes("concurrent"));

describe.each([false, true])("over HTTP: %s", (isOverHttp) => {
  test.each(races)("$name", async (row) => {
    for (let round = 0; round < 100; round++)
      expect((await play(row, [], isOverHttp)).answer).toEqual(row.answer);
  });
});
