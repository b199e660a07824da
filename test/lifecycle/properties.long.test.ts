// The test of properties.test.ts with thousands of lives from a new seed, which a failure prints with the path.
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { START } from "../support/clock.js";
import { stillDigests } from "../support/wait.js";
import { lifeProperty } from "./random-life.js";

beforeEach(() => {
  stillDigests();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(["A", "B"] as const)("no rule is broken in 2 000 random lives of Variant %s", async (variant) => {
  await expect(fc.assert(lifeProperty(variant), { numRuns: 2_000 })).resolves.toBeUndefined();
});
