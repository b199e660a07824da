// Whatever a document describes and a server answers, the validator throws nothing but its own error, and finds what Ajv finds.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isUnexpectedResponseError } from "../../src/index.js";
import { answers, checkers, schemas } from "./random-schemas.js";

test("random schemas and answers: strict throws response_shape exactly where Ajv refuses the answer", async () => {
  const property = fc.asyncProperty(
    schemas,
    fc.array(answers, { minLength: 20, maxLength: 20 }),
    async (schema, list) => {
      const { witness, check } = await checkers(schema);
      for (const answer of list) {
        const thrown = check(answer);
        if (thrown !== undefined)
          expect(isUnexpectedResponseError(thrown) && thrown.code).toBe("response_shape");
        const valid = thrown === undefined;
        expect({ answer, valid }).toEqual({ answer, valid: witness(answer) ?? valid });
      }
    },
  );
  // Always the same schemas, unless RUNS asks for more.
  const { RUNS } = process.env;
  const limits = { numRuns: Number(RUNS ?? 200), interruptAfterTimeLimit: 60_000 };
  await fc.assert(property, RUNS === undefined ? { ...limits, seed: 1 } : limits);
});

test("a URI with a line end is response_shape", async () => {
  const properties = { url: { type: "string", format: "uri" } };
  const { check } = await checkers({ type: "object", additionalProperties: false, properties });
  expect(check({ url: "https://a.example/x" })).toBeUndefined();
  const issues = ["$.url: expected the format"].map((text) => expect.stringContaining(text));
  expect(check({ url: "https://a.example/x\nurn:b" })).toMatchObject({ code: "response_shape", issues });
});

test("an answer with more levels than the stack holds is response_shape", async () => {
  const { check } = await checkers({ $ref: "#/components/schemas/Tree" });
  const levels = 20_000;
  const answer = JSON.parse(`${'{"b":1,"a":'.repeat(levels)}{"b":1}${"}".repeat(levels)}`);
  const issues = ["$: cannot be checked, because it is nested too deeply or too long"];
  expect(check(answer)).toMatchObject({ code: "response_shape", issues });
});
