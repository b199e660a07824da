// The emitted code: the operation table of a document with every awkward feature, and schemas that
// mean the same to zod as to Ajv, keyword by keyword.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { transform } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { readApi } from "../../src/generate/emit/emulation.js";
import { generate } from "../../src/generate/index.js";
import {
  answer,
  type CompiledSample,
  compiledSample,
  generated,
  json,
  ONE_OPERATION,
  openapi,
  rowsOf,
  START,
  sample,
} from "./sample-documents.js";

type Entry = { success: number[]; failure: number[] };

const DEEP = "#/paths/~1deep~1{b}/get/parameters/1/schema/properties/x%20y";
/** With every awkward feature. */
const AWKWARD = `${START}
paths:
  /tenants/{tenantId}/things/{thing-id}:
    parameters:
      - { name: tenantId, in: path, required: true, schema: { type: string } }
      - { name: thing-id, in: path, schema: { type: string } }
    get:
      operationId: get-thing
      parameters:
        - { name: fields, in: query, schema: { type: string } }
        - { name: accept, in: query, schema: { type: string } }
        - { name: X-Envelope, in: header, schema: { type: string } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: Authorization, in: header, schema: { type: string } }
        - { name: Accept, in: header, schema: { type: string } }
        - { name: Content-Type, in: header, schema: { type: string } }
        - { name: session, in: cookie, schema: { type: string } }
      # fetch sends no body with GET.
      requestBody: { required: true, content: { application/json: { schema: { type: object } } } }
      responses:
        200: { description: One., content: { application/json: { schema: { type: string } } } }
        404: { $ref: "#/components/responses/NotFound" }
        4XX: { description: Other., content: { application/json: { schema: { type: number } } } }
        default: { description: Any., content: { text/plain: { schema: { type: string } } } }
    put:
      operationId: constructor
      parameters: [{ name: version, in: query, required: true, schema: { type: string } }]
      requestBody: { $ref: "#/components/requestBodies/Thing" }
      responses: { 204: { description: Done. }, 299: { description: Unregistered. } }
  /things:
    post:
      operationId: things.create
      # fetch sends this header by itself.
      parameters: [{ name: Content-Length, in: header, required: true, schema: { type: string } }]
      requestBody: { content: { text/csv: {}, application/problem+json: {} } }
      security: []
      responses: { 2XX: { description: Done., content: {} } }
    delete: { operationId: "'quo\\"ted\`", responses: { default: { description: Any. } } }
  /shared: { $ref: "#/components/pathItems/Shared" }
  /deep/{b}:
    get:
      operationId: deep
      parameters:
        - { name: b, in: path, required: true, schema: { type: string } }
        - { name: q, in: query, schema: { type: object, properties: { x y: { enum: [deep] } } } }
      responses: { 200: { description: Numbers., content: { application/json: {} } } }
  /referring:
    get:
      operationId: referring
      parameters: [{ $ref: "#/paths/~1deep~1%7Bb%7D/get/parameters/1" }]
      responses:
        200: { $ref: "#/paths/~1deep~1{b}/get/responses/200" }
        400: { description: Deep., content: { application/json: { schema: { $ref: "${DEEP}" } } } }
components:
  responses:
    NotFound: { description: None., content: { application/json: { schema: { type: boolean } } } }
  requestBodies:
    Thing:
      required: true
      content: { application/json: { schema: { type: object, required: [a] } } }
  pathItems:
    Shared: { get: { operationId: getShared, responses: { 200: { description: Shared. } } } }
`;

let compiled: CompiledSample;
/** The generated operations.ts. */
let operations: string;

test("a bundler leaves out answers that nothing uses", async () => {
  const unused = (await readFile("generated/emulation.ts", "utf8")).replaceAll(
    "export const",
    "const",
  );
  const { code } = await transform(unused, { loader: "ts", format: "esm", treeShaking: true });
  expect(code).not.toContain("JSON.parse");
});

const flag = { type: "boolean" };
const map = {
  type: "object",
  properties: { empty: flag },
  additionalProperties: { type: "string" },
};
const subject = (schema: object) => ({
  type: "object",
  required: ["kind"],
  properties: { kind: { type: "string", ...schema } },
});
const either = (name: string) => ({
  oneOf: [{ $ref: `#/components/schemas/${name}` }],
  discriminator: { propertyName: "kind" },
});

test.each([
  {
    name: "a map allows the members beside it, so that there are values of it",
    schemas: { Map: map },
    type: /Map: \{\s+empty\?: boolean;\s+\} & \{\s+\[key: string\]: string \| boolean;/,
  },
  {
    name: "a map whose members have its own type names that once",
    schemas: { Flags: { ...map, additionalProperties: flag } },
    type: /Flags: \{\s+empty\?: boolean;\s+\} & \{\s+\[key: string\]: boolean;/,
  },
  {
    name: "a member with a default is as optional as the document says",
    schemas: { Job: { properties: { tries: { type: "integer", default: 3 } } } },
    type: /tries\?: number;/,
  },
  {
    name: "a member that tells alternatives apart has the values that its own schema names",
    schemas: { ToolSubject: subject({ enum: ["tool"] }), Subject: either("ToolSubject") },
    type: /ToolSubject: \{\s+(?:\/\*\*[^/]*\*\/\s+)?kind: "tool";/,
  },
  {
    // OpenAPI 3.1.1, Discriminator Object.
    name: "a member that tells alternatives apart has else the name of the alternative",
    schemas: { cat: subject({}), Pet: either("cat") },
    type: /kind: "cat";/,
  },
])("the type of $name", async ({ schemas, type }) => {
  const { text } = await generated(openapi({}, { schemas }));
  expect(await text("variant-a.ts")).toMatch(type);
});

describe("operations.ts", () => {
  test("and all other files compile with the compiler options of this repository", () => {
    expect(compiled.diagnostics()).toEqual([]);
  });

  test("lists every documented status, with ranges written out", async () => {
    const { operationsA } = await compiled.load<{ operationsA: Record<string, Entry> }>(
      "operations",
    );
    expect(operationsA["get-thing"]).toMatchObject({ method: "GET", success: [200] });
    expect(operationsA["get-thing"]).not.toHaveProperty("bodyRequired");
    expect(operationsA["get-thing"]?.failure).toContain(418);
    expect(operationsA["get-thing"]?.failure.filter((status) => status === 404)).toHaveLength(1);
    expect(operationsA.constructor).toMatchObject({
      success: [204, 299],
      contentType: "application/json",
    });
    expect(operationsA["things.create"]).toMatchObject({
      contentType: "application/problem+json",
      anonymous: true,
      success: [200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
      failure: [],
    });
    expect(operationsA.getShared).toMatchObject({ path: "/shared", success: [200] });
  });

  test("has lookup types and no conditional types", () => {
    expect(operations).not.toMatch(/ extends .* \? /);
    const answers = `A.operations["get-thing"]["responses"]`;
    expect(operations).toContain(`404: ${answers}[404]["content"]["application/json"];`);
    expect(operations).toContain(`418: ${answers}["4XX"]["content"]["application/json"];`);
    expect(operations).toContain("otherBody: string;");
    expect(operations).toContain("otherBody: undefined;");
  });

  test("has the types of what references lead to, at any place of the document", async () => {
    expect(await compiled.text("variant-a.ts")).toContain('"x-y": "deep";');
  });

  test("excludes X-Envelope and headers that are not parameters", () => {
    const inits = operations.slice(operations.indexOf("export interface InitsA"));
    expect(inits).not.toMatch(/(?:"X-Envelope"|Authorization|Accept|"Content-Type")\??:/);
    expect(operations).toContain(`"X-Trace"?:`);
    expect(operations).toContain(
      `query?: NonNullable<A.operations["get-thing"]["parameters"]["query"]>`,
    );
  });

  test("writes types that an editor shows in plain words", () => {
    expect(operations).toContain('path: { tenantId?: string; "thing-id": string }');
    expect(operations).toContain("other: StatusOtherThan200And404And4XX;");
    expect(operations).toContain("other: StatusOtherThan2XX;");
    expect(operations).toContain("success: AnySuccess;");
  });

  test("requires options only where the document requires one of them", () => {
    expect(operations).toContain('args: [init: InitsA["get-thing"]]');
    expect(operations).toContain('args: [init: InitsA["constructor"]]');
    expect(operations).toContain('args: [init?: InitsA["things.create"]]');
    expect(operations).toContain('args: [init?: InitsB["listThings"]]');
  });
});

test("a row has the scope, the device parameter, a required body and whether a plugin token is accepted, if the document says so", async () => {
  const operation = (more: object) => ({
    post: { operationId: JSON.stringify(more), responses: {}, ...more },
  });
  const deviceId = { name: "deviceId", in: "query", schema: string };
  const body = (schema: object) => ({ requestBody: { content: json(schema) } });
  const named = { properties: { deviceId: string, target: { type: "string", "x-device": true } } };
  const rows: [more: object, expected: object][] = [
    [{}, { scope: "things:read" }],
    [{ security: [{ a: [] }, { b: ["admin", "things:execute"] }] }, { scope: "things:execute" }],
    [{ parameters: [deviceId] }, { scope: "things:read", deviceParameter: "deviceId" }],
    [{ requestBody: { required: true, content: json({}) } }, { bodyRequired: true }],
    [body({ allOf: [named] }), { deviceParameter: { in: "body", name: "target" } }],
    [{ "x-plugin-enabled": false }, { takesPluginTokens: false }],
  ];
  const paths = Object.fromEntries(rows.map(([more], index) => [`/${index}`, operation(more)]));
  const table = await rowsOf({ ...openapi(paths), security: [{ a: ["things:read"] }] });
  for (const [more, expected] of rows) expect(table[JSON.stringify(more)]).toMatchObject(expected);
});

test("a row names the form of a parameter, a body and an answer where it is not the usual one", async () => {
  const responses = { 200: { description: "Done." } };
  const content = (...types: string[]) => Object.fromEntries(types.map((type) => [type, {}]));
  const styled = { style: "form", explode: false, allowReserved: true, contentType: "text/plain" };
  const of = (place: string, more: object = {}) => ({ in: place, name: "p", ...more });
  const reserved = of("query", { explode: false, allowReserved: true });
  const rows: [more: object, expected: object][] = [
    [{ parameters: [of("query", { style: "form" }), of("header", { name: "h" })] }, {}],
    [{ parameters: [of("header", { name: "Accept", required: true })] }, {}],
    [
      { parameters: [of("query", { required: true })] },
      { parameters: [of("query", { required: true })] },
    ],
    [{ parameters: [of("cookie")] }, { parameters: [of("cookie")] }],
    [{ parameters: [reserved] }, { parameters: [reserved] }],
    [
      { requestBody: { content: { "multipart/mixed": { encoding: { a: styled, b: {} } } } } },
      {
        contentType: "multipart/mixed",
        contents: {
          "multipart/mixed": { a: { style: "form", explode: false, allowReserved: true } },
        },
      },
    ],
    [
      { requestBody: { content: content("*/*") } },
      { contentType: "application/json", contents: { "*/*": {} } },
    ],
    [
      {
        responses: {
          200: { description: "JSON.", content: content("application/json; charset=utf-8") },
          400: { description: "Text.", content: content("text/plain", "*/*") },
          "4XX": { description: "Other.", content: content("image/png") },
        },
      },
      { answers: { 400: ["text/plain", "*/*"], "4XX": ["image/png"] } },
    ],
    [
      {
        responses: {
          200: { description: "JSON.", content: content("application/json") },
          204: { description: "Nothing." },
          "2XX": { description: "Text.", content: content("text/plain") },
        },
      },
      { answers: { 200: ["application/json"], "2XX": ["text/plain"] } },
    ],
  ];
  const paths = Object.fromEntries(
    rows.map(([more], index) => [
      `/${index}`,
      { post: { operationId: `of${index}`, responses, ...more } },
    ]),
  );
  const table = await rowsOf(openapi(paths));
  for (const [index, [, expected]] of rows.entries()) {
    const { method, path, failure, success, ...row } = table[`of${index}`] ?? {};
    expect(row).toEqual(expected);
  }
});

test("the emulator's answer for schemas that contain themselves is bounded", async () => {
  const names = Array.from({ length: 9 }, (_, index) => `S${index}`);
  const properties = Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
  );
  const itself = { allOf: [{ $ref: "#/components/schemas/Itself" }] };
  const Itself = { properties: { ...properties, more: itself }, required: names };
  const schemas = { ...Object.fromEntries(names.map((name) => [name, { properties }])), Itself };
  const get = { operationId: "one", responses: answer(itself) };
  const { documents } = await sample(openapi({ "/one": { get } }, { schemas }));
  const { emulation } = (await (await readApi(documents)).emulation()) as { emulation: Answers };
  expect(emulation.A.one).toMatchObject({ status: 200, body: { S0: { S1: {} }, S8: {} } });
  expect(JSON.stringify(emulation.A.one).length).toBeLessThan(30_000);
});

test("the path parameter tenantId is optional in Variant A and required in Variant B", async () => {
  const tenantId = { name: "tenantId", in: "path", required: true, schema: string };
  const get = { operationId: "one", parameters: [tenantId], responses: {} };
  const paths = openapi({ "/{tenantId}": { get } });
  const { documents, out } = await sample(paths, paths);
  await generate({ documents, out });
  const text = await readFile(join(out, "operations.ts"), "utf8");
  for (const args of ['[init?: InitsA["one"]]', '[init: InitsB["one"]]'])
    expect(text).toContain(`args: ${args}`);
  expect(text).toContain('one: { args: [init: InitsA["one"] & InitsB["one"]] }');
});

test("without a common operation the table of both variants is empty", async () => {
  const { documents, out } = await sample({ ...openapi(ONE_OPERATION), security: [] }, openapi({}));
  await generate({ documents, out });
  const text = await readFile(join(out, "operations.ts"), "utf8");
  expect(text).toContain("export interface OperationsBoth {\n}");
  // A document without `security` is called without a bearer.
  expect(text.match(/anonymous: true/g)).toHaveLength(1);
});

type Answers = Record<
  "A" | "B",
  Record<string, { status: number; contentType?: string; body?: unknown }>
>;
interface Row {
  readonly schema: object;
  readonly instances: readonly unknown[];
}

/** Every schema is tried with these instances, and with its own ones. */
const COMMON: readonly unknown[] = [
  ...[{}, { a: 1 }, { a: "x" }, { a: null }, { b: 1 }, { a: 1, b: 1 }, { a: "x", b: "y", c: 1 }],
  ...[[], [1], ["a"], ["a", "a"], ["a", "b", "c"], "", "a", "abc", 0, 1.5, 3, -2, 10, null, true],
];
const row = (schema: object, ...own: readonly unknown[]): Row => ({
  schema,
  instances: [...COMMON, ...own],
});
const string = { type: "string" };
const object = (keywords: object = {}) => ({ type: "object", ...keywords });
const text = (keywords: object) => ({ type: "string", ...keywords });
const closed = object({ properties: { a: string }, additionalProperties: false });
const TEXT = { $ref: "#/components/schemas/Text" };
const TREE = "#/components/schemas/Tree";

/** Each keyword. Random schemas, in test/validate, try them together. */
const rows: readonly Row[] = [
  row(object({ properties: { a: {} }, required: ["a"] }), { a: [1] }),
  row({ required: ["a"], minLength: 2, minimum: 3 }),
  row({ ...TEXT, maxLength: 2 }),
  row({ ...TEXT, anyOf: [{ const: "a" }, { const: "b" }] }, "c"),
  row({ anyOf: [string, { type: "number" }], oneOf: [string, { const: "a" }] }),
  row({ allOf: [closed, { properties: { b: string } }] }),
  row(
    { ...closed, patternProperties: { "^x-": { type: "number" } } },
    { "x-a": 1 },
    { "x-a": "1" },
  ),
  row(object({ properties: { a: string }, additionalProperties: { type: "number" } })),
  row(object({ propertyNames: { pattern: "^[a-z]+$", maxLength: 2 } }), { abc: 1 }, { A: 1 }),
  row(object({ propertyNames: { enum: ["a", "b.c"] } }), { a: 1, "b.c": 1 }, { bxc: 1 }),
  row(text({ $defs: { Short: { maxLength: 1 } } })),
  row(
    object({ properties: { "a.b": {}, "c-d/e": {}, "f\\g": {} }, additionalProperties: false }),
    { "a.b": 1, "c-d/e": 1, "f\\g": 1 },
    { axb: 1 },
    { "a.b\n": 1 },
  ),
  row(object({ minProperties: 1, maxProperties: 2 })),
  row(object({ required: ["a"], additionalProperties: string })),
  row(object({ propertyNames: false })),
  row({ ...closed, anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
  row({ oneOf: [string, { minLength: 2 }] }),
  row({ type: ["string", "null"], minLength: 2 }),
  row({ type: "integer", enum: [1, 1.5, 3] }),
  row({ enum: ["a", 1, true, null] }, "1"),
  row({ type: "number", exclusiveMinimum: 0, maximum: 1 }, 0.5, 1.1, 1),
  row(text({ pattern: "b", minLength: 2, maxLength: 3 }), "aa", "aab", "aabb"),
  row({ type: ["string", "null"], const: null }, "null"),
  // What could end a template, or be read as an escape in it.
  row({ const: "` $\u007Ba} \\` \\u0060" }, "` $\u007Ba} \\` \\u0060"),
  row({ enum: [{ a: 1 }, ["a", { b: null }], "b"] }, ["a", { b: null }], ["a", { b: 1 }]),
  row({ const: { a: { b: [1] } } }, { a: { b: [1] } }, { a: { b: [1, 2] } }, { a: { b: [] } }),
  row({ dependentRequired: { a: ["b"] }, dependentSchemas: { x: false } }, { x: 1 }),
  row({ type: "integer", minimum: 0, exclusiveMaximum: 10, multipleOf: 2 }, "2", 2.0),
  row(text({ minLength: 2, maxLength: 3 }), "😀", "😀😀", "😀😀😀😀", "\uD83D\uD83D", "\uDE00a"),
  row({ type: "array", items: string, minItems: 1, maxItems: 2, uniqueItems: true }),
  row({ type: "array", prefixItems: [string], items: false }, ["a", 1]),
  row({ type: "array", contains: string, maxContains: 1 }),
  row(object({ properties: { a: { not: {} } } })),
  row(object({ properties: { b: { $ref: TREE } } }), { b: { children: [{ children: [1] }] } }),
  row({ $ref: `${TREE}/properties/children` }),
  row({ $ref: `${TREE}/properties/left~0right` }),
  row(object({ properties: { a: { ...string, default: "x", readOnly: true } } }), { a: "y" }),
  row(text({ format: "date-time" }), "2020-01-01T00:00:00.5+02:00", "2020-01-01T00:00Z", "soon"),
  row(text({ format: "date" }), "2020-02-29", "2021-02-29", "2021-2-1"),
  row(text({ format: "uuid" }), "7F6F2A1E-6C0F-FF2B-FD0B-0E3C4D1A2B3C", "7f6f2a1e"),
  row(text({ format: "email" }), "a@b.example", "a@localhost", "a@", "@b"),
  row(text({ format: "ipv4" }), "127.0.0.1", "256.0.0.1", "1.2.3"),
  row(text({ format: "ipv6" }), "::1", "2001:db8::1", "::g"),
  row(text({ format: "uri" }), "https://a.example/b?c#d", "urn:b:c", "/relative", "no uri"),
];

const components = {
  schemas: {
    Text: { type: "string", minLength: 1 },
    Secret: { type: "string", writeOnly: true },
    Account: object({
      properties: {
        name: string,
        pin: { ...string, writeOnly: true },
        secret: { $ref: "#/components/schemas/Secret" },
      },
      required: ["name", "pin", "secret"],
    }),
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

const short = { $ref: "#/components/schemas/Text", maxLength: 2 };
const shortResponses = { 200: { description: "Short.", content: json(short) } };
const rowPaths = rows.map((_, index) => {
  const content = json({ $ref: `#/components/schemas/Row${index}` });
  const get = { operationId: `row${index}`, responses: { 200: { description: "Row.", content } } };
  return [`/rows/${index}`, { get }] as const;
});
const rowsByPath = {
  ...ONE_OPERATION,
  "/short": { get: { operationId: "getShort", responses: shortResponses } },
  ...Object.fromEntries(rowPaths),
};
const ROWS = openapi(rowsByPath, components);

/** One generation and one compilation for both documents. */
beforeAll(async () => {
  compiled = await compiledSample(AWKWARD, ROWS);
  operations = await compiled.text("operations.ts");
  return compiled.remove;
});

describe("the generated schemas mean the same to zod and Ajv", () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(ROWS, "sample");
  type Schema = () => z.ZodType;
  type Operations = { getShort: { responses: { 200: Schema } } };
  let schemas: { B: { components: Record<string, Schema>; operations: Operations } };

  beforeAll(async () => {
    ({ schemas } = await compiled.load<{ schemas: typeof schemas }>("schemas"));
  });

  const named = rows.map((row, index) => ({ ...row, index, name: JSON.stringify(row.schema) }));
  test.each(named)("$name, and the emulator's answer is allowed", async ({ instances, index }) => {
    const witness = ajv.compile({ $ref: `sample#/components/schemas/Row${index}` });
    const schema = schemas.B.components[`Row${index}`]?.();
    for (const instance of instances) {
      const result = schema?.safeParse(instance);
      expect([instance, result?.success]).toEqual([instance, witness(instance)]);
      // Parsing changes nothing: unknown keys survive, no default is filled in, nothing is frozen.
      if (result?.success) expect(result.data).toEqual(instance);
    }
    const { emulation } = await compiled.load<{ emulation: Answers }>("emulation");
    const { body } = emulation.B[`row${index}`] ?? {};
    expect([body, body === undefined || witness(body)]).toEqual([body, true]);
  });

  test("an answer may lack what is required and only written", () => {
    const account = schemas.B.components.Account?.();
    const isAllowed = (value: object) => account?.safeParse(value).success;
    const kept = { name: "Ann", pin: "1", secret: "2" };
    expect([{ name: "Ann" }, kept, { pin: "1" }].map(isAllowed)).toEqual([true, true, false]);
  });

  test("a body's keywords beside its $ref are checked too", () => {
    const schema = schemas.B.operations.getShort.responses[200]();
    expect(["ab", "abc"].map((text) => schema.safeParse(text).success)).toEqual([true, false]);
  });
});
