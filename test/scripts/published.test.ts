// The check of published documents, on small documents: what it counts as a round trip, and what it reports.
import { expect, test } from "vitest";
import { tableOf } from "../../scripts/check-published.js";
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
  const [result] = await checked({
    "/v1/things/{id}": {
      put: {
        operationId: "putThing",
        parameters: [{ in: "path", name: "id", required: true, schema: { type: "integer" } }],
        requestBody: body(named),
        responses: answer(named),
      },
    },
    "/v1/lines": {
      get: {
        operationId: "lines",
        responses: { 200: { description: "Lines.", content: { "application/jsonl": { schema: named } } } },
      },
    },
  });
  expect(result).toEqual({
    ...{ document: "own", version: "1.0.0", format: "openapi 3.1.0" },
    ...{ operations: 2, roundTrips: 2, cast: 0, failures: [] },
  });
});

test("each operation without a round trip is listed with its place and the reason", async () => {
  const results = await checked({
    "/v1/a#b": { get: { operationId: "fragment", responses: answer(named) } },
    "/v1/c": { post: { operationId: "noBody", requestBody: body(endless), responses: answer(named) } },
    "/v1/d": { get: { operationId: "noAnswer", responses: answer(endless) } },
    "/v1/e": {
      get: {
        operationId: "nested",
        parameters: [{ ...required, schema: { type: "array", items: named } }],
        responses: answer(named),
      },
    },
  });
  expect(results[0]?.failures).toMatchObject([
    { operation: "fragment", at: "b.yaml:8:7", reason: expect.stringContaining("fragment") },
    { operation: "noBody", reason: "no value is found for the body; give an example" },
    { operation: "noAnswer", reason: expect.stringContaining("no value is found that the schema") },
    { operation: "nested", reason: expect.stringContaining("option_invalid: params.query") },
  ]);
  expect(tableOf(results)).toContain(
    "4 operations, 0 round trips (0 with a cast), 0 known failures, 4 others",
  );
  expect(tableOf(results)).toContain("  fragment (b.yaml:8:7): FAILED: its path has a fragment");
});

test("a document of which nothing is generated is a failure", async () => {
  const results = await checked({ "/v1/a": { get: { operationId: "a", responses: { 700: {} } } } });
  expect(results[0]?.failures).toEqual([{ at: "own", reason: expect.stringContaining("status_invalid") }]);
  expect(tableOf(results)).toContain("1 documents, 0 of them generated and compiled");
});

test("at least 40 documents are checked, of at least 8 packages", () => {
  const all = publishedDocuments();
  expect(all.length).toBeGreaterThanOrEqual(40);
  expect(
    new Set(all.map(({ name }) => name.replace(/^(@[^/]+\/[^/]+|[^/]+).*/, "$1"))).size,
  ).toBeGreaterThanOrEqual(8);
});
