// A quick version of fuzz.long.test.ts.
import { expect, test } from "vitest";
import { fuzz } from "./mutated-rows.js";
import { fuzzSockets } from "./sockets.js";

test("each of 1000 mutated requests gets a documented answer that contains no secret", async () => {
  const { rules } = await fuzz(1000);
  expect(rules.size).toBeGreaterThan(30);
});

test("200 mutated byte streams are answered below 500 or closed, and the server goes on serving", async () => {
  const expected = [200, 400, 401];
  expect([...(await fuzzSockets(200, expected))]).toEqual(expect.arrayContaining(expected));
});
