// The emitted code: the operation table of a document with every awkward feature, and schemas that mean the same to zod
// as to Ajv, keyword by keyword.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { generate } from "../../src/generate/index.js";
import { type CompiledSample, compiledSample, ONE_OPERATION, openapi, sample } from "./sample-documents.js";

type Entry = { success: number[]; failure: number[] };

const json = (schema: object) => ({ "application/json": { schema } });
const parameter = (place: string, name: string, required = place === "path") => ({
  name,
  in: place,
  required,
  schema: { type: "string" },
});

const AWKWARD = openapi(
  {
    "/tenants/{tenantId}/things/{thing-id}": {
      parameters: [parameter("path", "tenantId"), parameter("path", "thing-id", false)],
      get: {
        operationId: "get-thing",
        parameters: [
          parameter("query", "fields"),
          parameter("query", "accept"),
          parameter("header", "X-Envelope"),
          parameter("header", "X-Trace"),
          parameter("header", "Authorization"),
          parameter("cookie", "session"),
        ],
        responses: {
          200: { description: "One.", content: json({ type: "string" }) },
          404: { $ref: "#/components/responses/NotFound" },
          "4XX": { description: "Other.", content: json({ type: "number" }) },
          default: { description: "Any.", content: { "text/plain": { schema: { type: "string" } } } },
        },
      },
      put: {
        operationId: "constructor",
        parameters: [parameter("query", "version", true)],
        requestBody: { $ref: "#/components/requestBodies/Thing" },
        responses: { 204: { description: "Done." }, 299: { description: "Unregistered." } },
      },
    },
    "/things": {
      post: {
        operationId: "things.create",
        requestBody: {
          content: { "text/csv": {}, "application/problem+json": { schema: { type: "object" } } },
        },
        security: [],
        responses: { "2XX": { description: "Done.", content: {} } },
      },
      delete: { operationId: "'quo\"ted`", responses: { default: { description: "Any." } } },
    },
    "/shared": { $ref: "#/components/pathItems/Shared" },
  },
  {
    responses: { NotFound: { description: "None.", content: json({ type: "boolean" }) } },
    requestBodies: { Thing: { required: true, content: json({ type: "object", required: ["a"] }) } },
    pathItems: {
      Shared: { get: { operationId: "getShared", responses: { 200: { description: "Shared." } } } },
    },
  },
);

describe("operations.ts", () => {
  let compiled: CompiledSample;
  let text: string;

  beforeAll(async () => {
    compiled = await compiledSample(AWKWARD);
    text = await compiled.text("operations.ts");
    return compiled.remove;
  });

  test("compiles with the compiler options of this repository, like all other files", () => {
    expect(compiled.diagnostics()).toEqual([]);
  });

  test("lists every documented status, with ranges written out", async () => {
    const { operationsA } = await compiled.load<{ operationsA: Record<string, Entry> }>("operations");
    expect(operationsA["get-thing"]).toMatchObject({ method: "GET", success: [200] });
    expect(operationsA["get-thing"]?.failure).toContain(418);
    expect(operationsA["get-thing"]?.failure.filter((status) => status === 404)).toHaveLength(1);
    expect(operationsA.constructor).toMatchObject({ success: [204, 299], contentType: "application/json" });
    expect(operationsA["things.create"]).toMatchObject({
      contentType: "application/problem+json",
      anonymous: true,
      success: [200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
      failure: [],
    });
    expect(operationsA.getShared).toMatchObject({ path: "/shared", success: [200] });
  });

  test("has lookup types and no conditional types", () => {
    expect(text).not.toMatch(/ extends /);
    expect(text).toContain(
      `404: A.operations["get-thing"]["responses"][404]["content"]["application/json"];`,
    );
    expect(text).toContain(
      `418: A.operations["get-thing"]["responses"]["4XX"]["content"]["application/json"];`,
    );
    expect(text).toContain(
      `otherBody: A.operations["get-thing"]["responses"]["default"]["content"]["text/plain"];`,
    );
    expect(text).toContain("otherBody: undefined;");
  });

  test("excludes X-Envelope and headers that are not parameters", () => {
    expect(text).not.toMatch(/\["X-Envelope"\]|\["Authorization"\]/);
    expect(text).toContain(`"X-Trace"?:`);
    expect(text).toContain(`query?: NonNullable<A.operations["get-thing"]["parameters"]["query"]>`);
  });

  test("writes types that an editor shows in plain words", () => {
    expect(text).toContain('path: { tenantId?: string; "thing-id": string }');
    expect(text).toContain("other: StatusOtherThan200And404And4XX;");
    expect(text).toContain("other: HttpStatus;");
  });

  test("requires options only where the document requires one of them", () => {
    expect(text).toContain('args: [init: InitsA["get-thing"]]');
    expect(text).toContain('args: [init: InitsA["constructor"]]');
    expect(text).toContain('args: [init?: InitsA["things.create"]]');
    expect(text).toContain('args: [init?: InitsB["listThings"]]');
  });
});

test("the path parameter tenantId is optional in Variant A and required in Variant B", async () => {
  const paths = {
    "/{tenantId}": {
      get: { operationId: "one", parameters: [parameter("path", "tenantId")], responses: {} },
    },
  };
  const { documents, out } = await sample(openapi(paths), openapi(paths));
  await generate({ documents, out });
  const text = await readFile(join(out, "operations.ts"), "utf8");
  expect(text).toContain('args: [init?: InitsA["one"]]');
  expect(text).toContain('args: [init: InitsB["one"]]');
  expect(text).toContain('one: { args: [init: InitsA["one"] & InitsB["one"]] }');
});

test("without a common operation the table of both variants is empty", async () => {
  const { documents, out } = await sample(openapi({}), openapi(ONE_OPERATION));
  await generate({ documents, out });
  expect(await readFile(join(out, "operations.ts"), "utf8")).toContain(
    "export interface OperationsBoth {\n}",
  );
});

interface Row {
  readonly schema: object;
  readonly instances: readonly unknown[];
}

const strings = (...schemas: object[]) => schemas;
const closed = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };

const rows: readonly Row[] = [
  { schema: { type: "object", required: ["a"] }, instances: [{}, { a: 1 }, { a: null }] },
  {
    schema: { type: "object", properties: { a: {} }, required: ["a"] },
    instances: [{}, { a: null }, { a: [1] }],
  },
  {
    schema: { type: "object", required: ["a"], additionalProperties: { type: "string" } },
    instances: [{}, { a: 1 }, { a: "x" }, { a: "x", b: 1 }],
  },
  {
    schema: { required: ["a"], minLength: 2, minimum: 3 },
    instances: [{}, { a: 1 }, "a", "ab", 2, 3, null, [], true],
  },
  { schema: { properties: { a: { type: "string" } } }, instances: [{ a: 1 }, { a: "x" }, 1, null] },
  {
    schema: { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    instances: [{}, { a: 1 }, { b: 1 }, { a: 1, b: 1 }, "a"],
  },
  { schema: { $ref: "#/components/schemas/Text", maxLength: 2 }, instances: ["a", "abc", "", 1] },
  {
    schema: { $ref: "#/components/schemas/Text", anyOf: strings({ const: "a" }, { const: "b" }) },
    instances: ["a", "c", "", 1],
  },
  {
    schema: { anyOf: [{ type: "string" }, { type: "number" }], oneOf: [{ type: "string" }, { const: "a" }] },
    instances: ["a", "b", 1],
  },
  { schema: { oneOf: [{ type: "string" }, { minLength: 2 }] }, instances: ["a", "ab", 1, null] },
  {
    schema: { allOf: [closed, { properties: { b: { type: "string" } } }] },
    instances: [{ a: "x" }, { a: "x", b: "y" }, {}],
  },
  {
    schema: { ...closed, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    instances: [{ a: "x" }, { a: "x", b: "y" }, { b: "y" }, {}],
  },
  { schema: closed, instances: [{}, { a: "x" }, { a: 1 }, { b: 1 }, []] },
  { schema: { type: "object", additionalProperties: false }, instances: [{}, { a: 1 }] },
  {
    schema: { ...closed, patternProperties: { "^x-": { type: "number" } } },
    instances: [{ "x-a": 1 }, { "x-a": "1" }, { a: "x", "x-a": 1 }, { b: 1 }],
  },
  {
    schema: {
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: { type: "number" },
    },
    instances: [{ a: "x", b: 1 }, { a: "x", b: "1" }, { b: 1 }],
  },
  {
    schema: { type: "object", patternProperties: { "^x": { type: "string" } }, required: ["a"] },
    instances: [{}, { a: 1 }, { a: 1, x: 1 }, { a: 1, x: "1" }],
  },
  { schema: { type: "object", propertyNames: { maxLength: 2 } }, instances: [{ ab: 1 }, { abc: 1 }] },
  { schema: { ...closed, propertyNames: { minLength: 2 } }, instances: [{}, { a: "x" }] },
  {
    schema: {
      propertyNames: { pattern: "^[a-z]+$" },
      type: "object",
      additionalProperties: { type: "number" },
    },
    instances: [{ a: 1 }, { a: "1" }, { A: 1 }, {}],
  },
  {
    schema: { type: "object", propertyNames: { enum: ["a", "b.c"] } },
    instances: [{ a: 1, "b.c": 1 }, { bxc: 1 }, {}],
  },
  {
    schema: { type: "object", allOf: [{ propertyNames: { maxLength: 1 } }, { required: ["ab"] }] },
    instances: [{ ab: 1 }, { a: 1 }, {}],
  },
  { schema: { type: "object", propertyNames: false }, instances: [{ a: 1 }, {}] },
  {
    schema: {
      type: "object",
      properties: { a: { type: "string" } },
      patternProperties: { "^x": { type: "number" } },
      additionalProperties: { type: "boolean" },
      required: ["z"],
    },
    instances: [
      { z: true },
      { z: 1 },
      { z: true, a: "s", x: 1 },
      { z: true, x: true },
      { z: true, a: true },
      {},
    ],
  },
  {
    schema: {
      type: "object",
      properties: { "a.b": {}, "c-d/e": {}, "f\\g": {} },
      additionalProperties: false,
    },
    instances: [{ "a.b": 1, "c-d/e": 1, "f\\g": 1 }, { axb: 1 }, { "a.b\n": 1 }],
  },
  {
    schema: { type: "object", minProperties: 1, maxProperties: 2 },
    instances: [{}, { a: 1 }, { a: 1, b: 1 }, { a: 1, b: 1, c: 1 }],
  },
  { schema: { type: ["string", "null"], minLength: 2 }, instances: [null, "a", "ab", 1] },
  { schema: { type: "string", enum: ["a", null] }, instances: ["a", null, "b"] },
  { schema: { type: ["string", "null"], const: null }, instances: [null, "null"] },
  { schema: { type: "string", enum: ["a", "abc"], maxLength: 2 }, instances: ["a", "abc", "b"] },
  { schema: { enum: ["a", 1, true, null] }, instances: ["a", 1, true, null, false, "1"] },
  {
    schema: { type: "integer", minimum: 0, exclusiveMaximum: 10, multipleOf: 2 },
    instances: [0, 1.5, 2, 3, 10, -2, "2", 2.0],
  },
  { schema: { type: "number", exclusiveMinimum: 0, maximum: 1 }, instances: [0, 0.5, 1, 1.1, null] },
  {
    schema: { type: "string", minLength: 2, maxLength: 3 },
    instances: ["😀", "😀😀", "😀😀😀", "😀😀😀😀", "a\nb", "ab", "a", "\uD83D", "\uD83D\uD83D", "\uDE00a"],
  },
  { schema: { type: "string", minLength: 1 }, instances: ["", "😀"] },
  {
    schema: { type: "string", pattern: "b", minLength: 2, maxLength: 3 },
    instances: ["b", "ab", "aa", "aabb"],
  },
  {
    schema: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2, uniqueItems: true },
    instances: [[], ["a"], ["a", "a"], ["a", "b"], ["a", "b", "c"], [1]],
  },
  { schema: { type: "array" }, instances: [[], [1, null], {}] },
  {
    schema: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
    instances: [[], ["a"], ["a", 1], ["a", 1, 2], [1]],
  },
  {
    schema: { type: "array", contains: { type: "string" }, maxContains: 1 },
    instances: [[], [1], ["a"], ["a", "b"]],
  },
  { schema: { type: "object", properties: { a: false } }, instances: [{}, { a: 1 }] },
  { schema: { type: "object", properties: { a: { not: {} } } }, instances: [{}, { a: 1 }] },
  {
    schema: { type: "object", properties: { next: { $ref: "#/components/schemas/Tree" } } },
    instances: [{ next: { children: [{ children: [] }] } }, { next: { children: [{ children: [1] }] } }],
  },
  { schema: { $ref: "#/components/schemas/Tree/properties/children" }, instances: [[], [1]] },
  { schema: { $ref: "#/components/schemas/Tree/properties/left~0right" }, instances: ["a", 1] },
  {
    schema: { type: "object", properties: { a: { type: "string", default: "x" } } },
    instances: [{}, { a: "y" }],
  },
  {
    schema: { type: "object", properties: { a: { type: "string", readOnly: true } } },
    instances: [{ a: "y" }, { a: 1 }],
  },
  {
    schema: { type: "string", format: "date-time" },
    instances: [
      "2020-01-01T00:00:00Z",
      "2020-01-01T00:00:00.5+02:00",
      "2020-01-01T00:00Z",
      "2020-13-01T00:00:00Z",
      "2020-01-01",
      "soon",
    ],
  },
  { schema: { type: "string", format: "date" }, instances: ["2020-02-29", "2021-02-29", "2021-2-1", "soon"] },
  {
    schema: { type: "string", format: "uuid" },
    instances: ["7f6f2a1e-6c0f-4f2b-9d0b-0e3c4d1a2b3c", "7F6F2A1E-6C0F-FF2B-FD0B-0E3C4D1A2B3C", "7f6f2a1e"],
  },
  { schema: { type: "string", format: "email" }, instances: ["a@b.example", "a@localhost", "a", "a@", "@b"] },
  { schema: { type: "string", format: "ipv4" }, instances: ["127.0.0.1", "256.0.0.1", "1.2.3"] },
  { schema: { type: "string", format: "ipv6" }, instances: ["::1", "2001:db8::1", "::g"] },
  {
    schema: { type: "string", format: "uri" },
    instances: ["https://a.example/b?c#d", "urn:ietf:params:oauth", "/relative", "no uri"],
  },
];

const components = {
  schemas: {
    Text: { type: "string", minLength: 1 },
    Tree: {
      type: "object",
      required: ["children"],
      properties: {
        children: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
        "left~right": { type: "string" },
      },
    },
    ...Object.fromEntries(rows.map((row, index) => [`Row${index}`, row.schema])),
  },
};

describe("the generated schemas mean the same to zod and Ajv", () => {
  const document = openapi({}, components);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "sample");
  let compiled: CompiledSample;
  let schemas: { A: { components: Record<string, () => z.ZodType> } };

  beforeAll(async () => {
    compiled = await compiledSample(document);
    ({ schemas } = await compiled.load<{ schemas: typeof schemas }>("schemas"));
    return compiled.remove;
  });

  const named = rows.map((row, index) => ({ ...row, index, name: JSON.stringify(row.schema) }));
  test.each(named)("$name", ({ instances, index }) => {
    const witness = ajv.compile({ $ref: `sample#/components/schemas/Row${index}` });
    const schema = schemas.A.components[`Row${index}`]?.();
    const verdicts = instances.map((instance) => ({ instance, valid: schema?.safeParse(instance).success }));
    expect(verdicts).toEqual(instances.map((instance) => ({ instance, valid: witness(instance) })));
    for (const instance of instances) {
      const result = schema?.safeParse(instance);
      // Parsing changes nothing: unknown keys survive, no default is filled in, nothing is frozen.
      if (result?.success) expect(result.data).toEqual(instance);
    }
  });

  test("they compile", () => {
    expect(compiled.diagnostics()).toEqual([]);
  });
});
