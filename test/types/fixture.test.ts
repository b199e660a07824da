/** The committed fixture is what `generate` makes of its documents today. */
import { expect, test } from "vitest";
import { checkGenerated } from "../../src/generate/index.js";
import { fixture } from "./fixture.js";

test("the generated fixture is up to date (else: npx tsx test/types/fixture.ts)", async () => {
  expect(await checkGenerated(fixture)).toEqual({ missing: [], different: [], extra: [] });
});
