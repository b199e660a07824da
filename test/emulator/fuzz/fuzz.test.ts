// A quick version of fuzz.long.test.ts.
import { expect, test } from "vitest";
import { fuzz } from "./sequences.js";

test("each of 3000 mutated requests gets a documented answer that contains no secret", async () => {
  const { rules } = await fuzz(3000);
  expect(rules.size).toBeGreaterThan(30);
});
