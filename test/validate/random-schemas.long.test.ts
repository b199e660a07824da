// The same property for more schemas: RUNS of them, other ones each time, or always the same 200.
import fc from "fast-check";
import { test } from "vitest";
import { agreesWithAjv } from "./random-schemas.js";

test("random schemas and answers: strict throws response_shape exactly where Ajv refuses the answer", async () => {
  const { RUNS } = process.env;
  await fc.assert(
    agreesWithAjv,
    RUNS === undefined ? { seed: 1, numRuns: 200 } : { numRuns: Number(RUNS) },
  );
});
