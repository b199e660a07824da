// The test of properties.test.ts with thousands of lives from a new seed, which a failure prints with the path.
import fc from "fast-check";
import { expect, test } from "vitest";
import { lifeProperty } from "./random-life.js";

test.each(["A", "B"] as const)("no rule is broken in 2 000 random lives of Variant %s", async (variant) => {
  await expect(fc.assert(lifeProperty(variant), { numRuns: 2_000 })).resolves.toBeUndefined();
});
