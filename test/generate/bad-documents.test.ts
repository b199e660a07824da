/** What the generator refuses, by which code, and that it writes nothing then. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { GenerateError, generate } from "../../src/generate/index.js";
import { ONE_OPERATION, openapi, sample } from "./sample-documents.js";

const get = (operation: object) => openapi({ "/things": { get: operation } });
const answer = (schema: object, components: object = {}) =>
  openapi(
    {
      "/things": {
        get: {
          operationId: "listThings",
          responses: { 200: { description: "Things.", content: { "application/json": { schema } } } },
        },
      },
    },
    components,
  );
const SCHEMA = "/paths/~1things/get/responses/200/content/application~1json/schema";

const refused = [
  { name: "text that is not YAML", document: "a: [1", code: "document_not_yaml" },
  { name: "a list at the top", document: "- 1\n", code: "document_not_yaml" },
  {
    name: "OpenAPI 3.0",
    document: { ...openapi(ONE_OPERATION), openapi: "3.0.3" },
    code: "document_version_unsupported",
    pointer: "/openapi",
  },
  { name: "no OpenAPI document", document: { swagger: "2.0" }, code: "document_version_unsupported" },
  {
    name: "a $ref to nothing",
    document: answer({ $ref: "#/components/schemas/Missing" }),
    code: "reference_missing",
    pointer: SCHEMA,
  },
  { name: "a $ref to another file", document: answer({ $ref: "other.yaml#/A" }), code: "reference_external" },
  {
    name: "references in a circle",
    document: answer(
      {},
      { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } },
    ),
    code: "reference_circular",
  },
  {
    name: "an operation without operationId",
    document: get({ responses: {} }),
    code: "operation_id_missing",
    pointer: "/paths/~1things/get",
  },
  {
    name: "an operationId given twice",
    document: openapi({ ...ONE_OPERATION, "/more": ONE_OPERATION["/things"] }),
    code: "operation_id_duplicate",
    pointer: "/paths/~1more/get/operationId",
  },
  {
    name: "a status that is none",
    document: get({ operationId: "a", responses: { "2OO": { description: "Letters." } } }),
    code: "status_invalid",
  },
  {
    name: "a mark without an id",
    document: { ...openapi(ONE_OPERATION), "x-not-shown": [{ section: "1", says: "This." }] },
    code: "not_shown_invalid",
    pointer: "/x-not-shown/0",
  },
  {
    name: "one id for two unknowns",
    document: {
      ...openapi(ONE_OPERATION),
      "x-not-shown": [
        { id: "a", section: "1", says: "This." },
        { id: "a", section: "1", says: "That." },
      ],
    },
    code: "not_shown_invalid",
  },
  {
    name: "a parameter without a place",
    document: get({ operationId: "a", parameters: [{ name: "b" }], responses: {} }),
    code: "document_invalid",
  },
  ...[
    { if: { type: "string" } },
    { not: { type: "string" } },
    { type: "object", unevaluatedProperties: false },
    { type: "object", dependentRequired: { a: ["b"] } },
    { type: "object", dependentSchemas: { a: {} } },
    { $dynamicRef: "#here" },
    { type: "string", nullable: true },
    { type: "string", minLenght: 1 },
    { enum: [{ a: 1 }] },
    { const: [1] },
    { type: "object", patternProperties: { "\\p{L}": {} } },
    { type: "object", propertyNames: { anyOf: [{ pattern: "^a" }, { pattern: "b$" }] } },
    { type: "string", pattern: "\\p{L}" },
    { type: "string", pattern: "(" },
    { items: [{ type: "string" }] },
  ].map((schema) => ({
    name: `the schema ${JSON.stringify(schema)}`,
    document: answer({ type: "object", properties: { a: schema } }),
    code: "schema_unsupported",
    pointer: `${SCHEMA}/properties/a`,
  })),
];

describe("a document that cannot be generated from", () => {
  test.each(refused)("$name is refused as $code", async ({ document, code, pointer }) => {
    const { documents, out } = await sample(document);
    const error = await generate({ documents, out }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GenerateError);
    const refusal = error as GenerateError;
    expect(refusal.code).toBe(code);
    expect(refusal.document).toBe("a.yaml");
    if (pointer !== undefined) expect(refusal.pointer).toContain(pointer);
    expect(existsSync(out)).toBe(false);
  });

  test("a file that is not there is refused as document_unreadable", async () => {
    const { documents, out } = await sample(openapi(ONE_OPERATION));
    const missing = { ...documents, A: `${documents.A}.missing` };
    await expect(generate({ documents: missing, out })).rejects.toMatchObject({
      code: "document_unreadable",
    });
  });

  test("a message names method and path of the operation without operationId", async () => {
    const { documents, out } = await sample(get({ responses: {} }));
    await expect(generate({ documents, out })).rejects.toThrow("GET /things");
  });
});
