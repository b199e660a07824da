// The check of published documents, on small documents: what it counts as a round trip, and what it
// reports.
import { expect, test } from "vitest";
import { comparisonOf, tableOf } from "../../scripts/check-published.js";
import { againstAjv } from "../../scripts/published/against-ajv.js";
import { publishedDocuments } from "../../scripts/published/documents.js";
import { roundTrips } from "../../scripts/published/round-trips.js";
import { answer, json, openapi, sample } from "../generate/sample-documents.js";

const text = { type: "string" };
const named = { type: "object", properties: { name: text }, required: ["name"] };
const endless = { $ref: "#/components/schemas/Endless" };
const required = { in: "query", name: "q", required: true };
const body = (schema: object) => ({ required: true, content: json(schema) });

async function checked(paths: object) {
  const components = { schemas: { Endless: { ...named, properties: { name: endless } } } };
  const { documents } = await sample({}, openapi(paths, components));
  return roundTrips([{ name: "own", path: documents.B, version: "1.0.0" }]);
}

test("an operation whose typed call is answered as documented makes a round trip", async () => {
  const parameters = [{ in: "path", name: "id", required: true, schema: { type: "integer" } }];
  const put = { parameters, requestBody: body(named), responses: answer(named) };
  const content = { "application/jsonl": { schema: named } };
  const get = { responses: { 200: { description: "Lines.", content } } };
  const [result] = await checked({
    "/v1/things/{id}": { put: { operationId: "putThing", ...put } },
    "/v1/lines": { get: { operationId: "lines", ...get } },
  });
  expect(result).toEqual({
    document: "own",
    version: "1.0.0",
    format: "openapi 3.1.0",
    operations: 2,
    roundTrips: 2,
    cast: 0,
    failures: [],
  });
});

test("each operation without a round trip is listed with its place and the reason", async () => {
  const responses = answer(named);
  const parameters = [{ ...required, schema: { type: "array", items: named } }];
  const results = await checked({
    "/v1/a#b": { get: { operationId: "fragment", responses } },
    "/v1/c": { post: { operationId: "noBody", requestBody: body(endless), responses } },
    "/v1/d": { get: { operationId: "noAnswer", responses: answer(endless) } },
    "/v1/e": { get: { operationId: "nested", parameters, responses } },
  });
  expect(results[0]?.failures).toMatchObject([
    { operation: "fragment", at: "b.yaml:8:7", reason: expect.stringContaining("fragment") },
    { operation: "noBody", reason: "no value is found for the body; give an example" },
    { operation: "noAnswer", reason: expect.stringContaining("no value is found that the schema") },
    { operation: "nested", reason: expect.stringContaining("option_invalid: params.query") },
  ]);
  const counts = "4 operations, 0 round trips (0 with a cast), 0 known failures, 4 others";
  expect(tableOf(results)).toContain(counts);
  expect(tableOf(results)).toContain("  fragment (b.yaml:8:7): FAILED: its path has a fragment");
});

test("a document of which nothing is generated is a failure", async () => {
  const results = await checked({ "/v1/a": { get: { operationId: "a", responses: { 700: {} } } } });
  const reason = expect.stringContaining("status_invalid");
  expect(results[0]?.failures).toEqual([{ at: "own", reason }]);
  expect(tableOf(results)).toContain("1 documents, 0 of them generated and compiled");
});

test("the validator is held against Ajv over each schema, and what only one of them allows is a difference", async () => {
  const textOrNull = { type: ["string", "null"] };
  const schemas = {
    Even: { type: "number", multipleOf: 0.01, examples: [19.99] },
    Odd: { type: "object", required: ["a"], nullable: true, properties: { a: textOrNull } },
  };
  const { documents } = await sample({}, openapi({}, { schemas }));
  const found = await againstAjv({ name: "own", path: documents.B, version: "1.0.0" });
  expect(found).toMatchObject({ schemas: 2, withoutSample: 0, notCompared: [] });
  // The difference that src/generate/documents.md names: this quotient is whole save for rounding.
  expect(found.differences).toEqual([
    { schema: "Even", value: 19.99, allowedBy: "validator", isSample: true },
  ]);
  const refused = await sample({}, openapi({}, { schemas: { A: { $ref: "#/nowhere" } } }));
  const none = await againstAjv({ name: "none", path: refused.documents.B, version: "1.0.0" });
  const text = comparisonOf([found, none]);
  expect(text).toMatch(/^none: not compared: b.yaml:.*nowhere/m);
  expect(text).toContain("own: Even: the sample is not allowed by both: 19.99");
  expect(text).toMatch(
    /2 documents; 2 schemas, 0 without a sample; \d+ values, \d+ of them allowed; 1 differences/,
  );
});

test("at least 40 documents are checked, of at least 8 packages", () => {
  const all = publishedDocuments();
  expect(all.length).toBeGreaterThanOrEqual(40);
  const packages = all.map(({ name }) => name.replace(/^(@[^/]+\/[^/]+|[^/]+).*/, "$1"));
  expect(new Set(packages).size).toBeGreaterThanOrEqual(8);
});
