// Whatever a document describes and a server answers, the validator throws nothing but its own
// error, and finds what Ajv finds.
import fc from "fast-check";
import { expect, test } from "vitest";
import { agreesWithAjv, checkers } from "./random-schemas.js";

test("random schemas and answers: strict throws response_shape exactly where Ajv refuses the answer", async () => {
  await fc.assert(agreesWithAjv, { seed: 1, numRuns: 25 });
});

test("a URI with a line end is response_shape", async () => {
  const properties = { url: { type: "string", format: "uri" } };
  const { check } = await checkers({ type: "object", additionalProperties: false, properties });
  expect(check({ url: "https://a.example/x" })).toBeUndefined();
  const issues = ["$.url: expected the format"].map((text) => expect.stringContaining(text));
  expect(check({ url: "https://a.example/x\nurn:b" })).toMatchObject({
    code: "response_shape",
    issues,
  });
});

test("an answer with more levels than the stack holds is response_shape", async () => {
  const { check } = await checkers({ $ref: "#/components/schemas/Tree" });
  const levels = 20_000;
  const answer = JSON.parse(`${'{"b":1,"a":'.repeat(levels)}{"b":1}${"}".repeat(levels)}`);
  const issues = ["$: cannot be checked, because it is nested too deeply or too long"];
  expect(check(answer)).toMatchObject({ code: "response_shape", issues });
});
