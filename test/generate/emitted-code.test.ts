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
  type CompiledSample,
  compiledSample,
  generated,
  json,
  ONE_OPERATION,
  openapi,
  rowsOf,
  sample,
} from "./sample-documents.js";

type Entry = { success: number[]; failure: number[] };

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
          parameter("header", "Accept"),
          parameter("header", "Content-Type"),
          parameter("cookie", "session"),
        ],
        responses: {
          200: { description: "One.", content: json({ type: "string" }) },
          404: { $ref: "#/components/responses/NotFound" },
          "4XX": { description: "Other.", content: json({ type: "number" }) },
          default: {
            description: "Any.",
            content: { "text/plain": { schema: { type: "string" } } },
          },
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
    requestBodies: {
      Thing: { required: true, content: json({ type: "object", required: ["a"] }) },
    },
    pathItems: {
      Shared: { get: { operationId: "getShared", responses: { 200: { description: "Shared." } } } },
    },
  },
);

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

test.each(["get", "head"])(
  "a %s has no body, which fetch would not send, and generate warns",
  async (method) => {
    const requestBody = { required: true, content: json({ type: "object" }) };
    const operation = {
      operationId: "find",
      requestBody,
      responses: { 200: { description: "Done." } },
    };
    const { notices, text } = await generated(openapi({ "/v1/things": { [method]: operation } }));
    const message = expect.stringContaining("requires a body, but fetch sends none");
    expect(notices).toMatchObject([{ level: "warning", code: "document_invalid", message }]);
    expect(await text("operations.ts")).toMatch(/find: \{\n\s+args: \[init\?:/);
    expect(await text("operations.ts")).not.toContain("bodyRequired: true");
  },
);

test("the type of a map allows the members beside it, so that there are values of it", async () => {
  const flag = { type: "boolean" };
  const map = {
    type: "object",
    properties: { empty: flag },
    additionalProperties: { type: "string" },
  };
  const { text } = await generated(
    openapi({}, { schemas: { Map: map, Flags: { ...map, additionalProperties: flag } } }),
  );
  const types = await text("variant-a.ts");
  expect(types).toMatch(
    /Map: \{\s+empty\?: boolean;\s+\} & \{\s+\[key: string\]: string \| boolean;/,
  );
  expect(types).toMatch(/Flags: \{\s+empty\?: boolean;\s+\} & \{\s+\[key: string\]: boolean;/);
});

test("a member with a default is as optional as the document says, in bodies and answers", async () => {
  const Job = { type: "object", properties: { tries: { type: "integer", default: 3 } } };
  const { text } = await generated(openapi({}, { schemas: { Job } }));
  expect(await text("variant-a.ts")).toMatch(/tries\?: number;/);
});

test("a member that tells alternatives apart has the values that its own schema names", async () => {
  const kind = (only: string) => ({ type: "string", enum: [only] });
  const named = (only: string) => ({
    type: "object",
    required: ["kind"],
    properties: { kind: kind(only) },
  });
  const either = (...names: string[]) => ({
    oneOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })),
    discriminator: { propertyName: "kind" },
  });
  const plain = { type: "object", required: ["kind"], properties: { kind: { type: "string" } } };
  const schemas = {
    ...{
      ToolSubject: named("tool"),
      PageSubject: named("page"),
      Subject: either("ToolSubject", "PageSubject"),
    },
    ...{ cat: plain, dog: plain, Pet: either("cat", "dog") },
  };
  const { text } = await generated(openapi({}, { schemas }));
  const types = await text("variant-a.ts");
  expect(types).toMatch(/ToolSubject: \{\s+(?:\/\*\*[^/]*\*\/\s+)?kind: "tool";/);
  // Where the schema names none, the name of the alternative is the value (OpenAPI 3.1.1,
  // Discriminator Object).
  expect(types).toMatch(/kind: "cat";/);
});

test("a header that fetch sends by itself is not an argument", async () => {
  const length = {
    name: "Content-Length",
    in: "header",
    required: true,
    schema: { type: "integer" },
  };
  const put = {
    operationId: "put",
    parameters: [length],
    responses: { 200: { description: "Done." } },
  };
  const rows = await rowsOf(openapi({ "/things": { put } }));
  expect(rows.put).not.toHaveProperty("parameters");
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
  const deviceId = parameter("query", "deviceId");
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
  const { documents } = await sample({ ...openapi(paths), security: [{ a: ["things:read"] }] });
  const { operations } = await readApi({ A: documents.A });
  for (const [more, expected] of rows)
    expect(operations.A[JSON.stringify(more)]).toMatchObject(expected);
});

test("a row names the form of a parameter, a body and an answer where it is not the usual one", async () => {
  const schema = { type: "string" };
  const responses = { 200: { description: "Done." } };
  const content = (...types: string[]) =>
    Object.fromEntries(types.map((type) => [type, { schema }]));
  const form = {
    schema,
    encoding: { a: { contentType: "image/png" }, b: { style: "pipeDelimited" }, c: {} },
  };
  const styled = { style: "form", explode: false, allowReserved: true, contentType: "text/plain" };
  const of = (place: string, more: object = {}) => ({ in: place, name: "p", schema, ...more });
  const rows: [more: object, expected: object][] = [
    [
      {
        parameters: [
          of("query"),
          of("header", { name: "h" }),
          of("query", { style: "form", name: "q" }),
        ],
      },
      {},
    ],
    [{ parameters: [of("header", { name: "Accept", required: true })] }, {}],
    [
      { parameters: [of("query", { required: true })] },
      { parameters: [{ in: "query", name: "p", required: true }] },
    ],
    [{ parameters: [of("cookie")] }, { parameters: [{ in: "cookie", name: "p" }] }],
    [
      { parameters: [of("query", { explode: false, allowReserved: true })] },
      { parameters: [{ in: "query", name: "p", explode: false, allowReserved: true }] },
    ],
    [
      { parameters: [of("query", { style: "pipeDelimited" }), of("header", { explode: true })] },
      {
        parameters: [
          { in: "query", name: "p", style: "pipeDelimited" },
          { in: "header", name: "p", explode: true },
        ],
      },
    ],
    [
      { parameters: [{ in: "query", name: "p", content: content("application/json") }] },
      { parameters: [{ in: "query", name: "p", content: "application/json" }] },
    ],
    [{ requestBody: { content: content("text/csv") } }, { contentType: "text/csv" }],
    [
      { requestBody: { content: { ...content("*/*"), "multipart/form-data": form } } },
      {
        contentType: "multipart/form-data",
        contents: {
          "*/*": {},
          "multipart/form-data": { a: { contentType: "image/png" }, b: { style: "pipeDelimited" } },
        },
      },
    ],
    [
      { requestBody: { content: { "multipart/mixed": { encoding: { a: styled } } } } },
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
          200: { description: "Either.", content: content("application/json", "text/csv") },
          201: { description: "JSON.", content: content("application/json; charset=utf-8") },
          400: {
            description: "Text.",
            content: content("application/problem+json", "text/plain", "*/*"),
          },
          "4XX": { description: "Other.", content: content("image/png") },
          default: { description: "Any.", content: content("application/pdf") },
        },
      },
      {
        success: [200, 201],
        answers: {
          200: ["application/json", "text/csv"],
          400: ["application/problem+json", "text/plain", "*/*"],
          "4XX": ["image/png"],
          default: ["application/pdf"],
        },
      },
    ],
  ];
  const paths = Object.fromEntries(
    rows.map(([more], index) => [
      `/${index}`,
      { post: { operationId: `of${index}`, responses, ...more } },
    ]),
  );
  const { documents } = await sample(openapi(paths));
  const { operations } = await readApi({ A: documents.A });
  for (const [index, [, expected]] of rows.entries()) {
    const { method, path, failure, success, ...row } = operations.A[`of${index}`] as Record<
      string,
      unknown
    >;
    expect({ success, ...row }).toEqual({ success: [200], ...expected });
  }
});

test("a parameter in a style that its place does not have is refused", async () => {
  const get = (more: object) => {
    const parameters = [{ in: "query", name: "p", ...more }];
    return openapi({ "/a": { get: { operationId: "a", parameters, responses: {} } } });
  };
  const wrong = [
    { style: "simple" },
    { style: "matrix" },
    { in: "header", style: "form" },
    { style: 1 },
  ];
  for (const more of wrong) {
    const { documents, out } = await sample(get(more));
    const error = await generate({ documents, out }).catch((cause) => cause);
    expect(error).toMatchObject({
      code: "style_invalid",
      pointer: "/paths/~1a/get/parameters/0/style",
    });
  }
});

test("a parameter with two media types is written as the first, with a warning", async () => {
  const parameters = [{ in: "query", name: "p", content: { ...json({}), "text/plain": {} } }];
  const { notices } = await generated(
    openapi({ "/a": { get: { operationId: "a", parameters, responses: {} } } }),
  );
  expect(notices).toMatchObject([
    {
      level: "warning",
      code: "document_invalid",
      pointer: "/paths/~1a/get/parameters/0/content/text~1plain",
      message: expect.stringContaining("It is written as application/json"),
    },
  ]);
});

test("the emulator's answer for schemas that contain themselves is bounded", async () => {
  const names = Array.from({ length: 9 }, (_, index) => `S${index}`);
  const properties = Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
  );
  const itself = { allOf: [{ $ref: "#/components/schemas/Itself" }] };
  const Itself = { properties: { ...properties, more: itself }, required: names };
  const components = { ...Object.fromEntries(names.map((name) => [name, { properties }])), Itself };
  const get = {
    operationId: "one",
    responses: { 200: { description: "One.", content: json(itself) } },
  };
  const { documents } = await sample(openapi({ "/one": { get } }, { schemas: components }));
  const { emulation } = (await (await readApi(documents)).emulation()) as { emulation: Answers };
  expect(emulation.A.one).toMatchObject({ status: 200, body: { S0: { S1: {} }, S8: {} } });
  expect(JSON.stringify(emulation.A.one).length).toBeLessThan(30_000);
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

test("an operation is sent without a bearer if its document requires none", async () => {
  const { documents, out } = await sample({ ...openapi(ONE_OPERATION), security: [] });
  await generate({ documents, out });
  const text = await readFile(join(out, "operations.ts"), "utf8");
  expect(text.match(/anonymous: true/g)).toHaveLength(1);
});

test("without a common operation the table of both variants is empty", async () => {
  const { documents, out } = await sample(openapi({}), openapi(ONE_OPERATION));
  await generate({ documents, out });
  const text = await readFile(join(out, "operations.ts"), "utf8");
  expect(text).toContain("export interface OperationsBoth {\n}");
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
  ...[
    {},
    { a: 1 },
    { a: "x" },
    { a: null },
    { b: 1 },
    { b: "y" },
    { a: 1, b: 1 },
    { a: "x", b: 1 },
  ],
  ...[
    { a: "x", b: "y" },
    { a: 1, b: 1, c: 1 },
    { a: 1, x: 1 },
  ],
  ...[[], [1], ["a"], ["a", "a"], ["a", "b"], ["a", "b", "c"], ["a", 1]],
  ...["", "a", "b", "ab", "abc", 0, 1, 1.5, 2, 3, -2, 10, null, true, false],
];
const row = (schema: object, own: readonly unknown[] = []): Row => ({
  schema,
  instances: [...COMMON, ...own],
});
const string = { type: "string" };
const number = { type: "number" };
const object = (keywords: object = {}) => ({ type: "object", ...keywords });
const array = (keywords: object = {}) => ({ type: "array", ...keywords });
const text = (keywords: object) => ({ type: "string", ...keywords });
const strings = (...schemas: object[]) => schemas;
const closed = {
  type: "object",
  properties: { a: { type: "string" } },
  additionalProperties: false,
};

const rows: readonly Row[] = [
  row(object({ required: ["a"] })),
  row(object({ properties: { a: {} }, required: ["a"] }), [{ a: [1] }]),
  row(object({ required: ["a"], additionalProperties: string })),
  row({ required: ["a"], minLength: 2, minimum: 3 }),
  row({ properties: { a: string } }),
  row(object({ anyOf: [{ required: ["a"] }, { required: ["b"] }] })),
  row({ $ref: "#/components/schemas/Text", maxLength: 2 }),
  row({ $ref: "#/components/schemas/Text", anyOf: strings({ const: "a" }, { const: "b" }) }, ["c"]),
  row({ anyOf: [string, number], oneOf: [string, { const: "a" }] }),
  row({ oneOf: [string, { minLength: 2 }] }),
  row({ allOf: [closed, { properties: { b: string } }] }),
  row({ ...closed, anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
  row(closed),
  row(object({ additionalProperties: false })),
  row({ ...closed, patternProperties: { "^x-": number } }, [
    { "x-a": 1 },
    { "x-a": "1" },
    { a: "x", "x-a": 1 },
  ]),
  row(object({ properties: { a: string }, additionalProperties: number }), [{ a: "x", b: "1" }]),
  row(object({ patternProperties: { "^x": string }, required: ["a"] }), [{ a: 1, x: "1" }]),
  row(object({ propertyNames: { maxLength: 2 } }), [{ ab: 1 }, { abc: 1 }]),
  row({ ...closed, propertyNames: { minLength: 2 } }),
  row({ propertyNames: { pattern: "^[a-z]+$" }, type: "object", additionalProperties: number }, [
    { a: "1" },
    { A: 1 },
  ]),
  row(object({ propertyNames: { enum: ["a", "b.c"] } }), [{ a: 1, "b.c": 1 }, { bxc: 1 }]),
  row(object({ allOf: [{ propertyNames: { maxLength: 1 } }, { required: ["ab"] }] }), [{ ab: 1 }]),
  row(object({ propertyNames: false })),
  row(object({ propertyNames: { minLength: 1 } }), [{ "": 1 }]),
  row({ type: "integer", enum: [1, 1.5] }),
  row(text({ $defs: { Short: { maxLength: 1 } } })),
  row(
    object({
      properties: { a: string },
      patternProperties: { "^x": number },
      additionalProperties: { type: "boolean" },
      required: ["z"],
    }),
    [{ z: true }, { z: 1 }, { z: true, a: "s", x: 1 }, { z: true, x: true }, { z: true, a: true }],
  ),
  row(object({ properties: { "a.b": {}, "c-d/e": {}, "f\\g": {} }, additionalProperties: false }), [
    { "a.b": 1, "c-d/e": 1, "f\\g": 1 },
    { axb: 1 },
    { "a.b\n": 1 },
  ]),
  row(object({ minProperties: 1, maxProperties: 2 })),
  row({ type: ["string", "null"], minLength: 2 }),
  row(text({ enum: ["a", null] })),
  row({ type: ["string", "null"], const: null }, ["null"]),
  // What could end a template, or be read as an escape in it.
  row({ const: "` $\u007Ba} \\` \\u0060" }),
  row(text({ enum: ["a", "abc"], maxLength: 2 })),
  row({ enum: [{ a: 1 }, [], ["a", { b: null }], "b"] }, [
    ["a", { b: null }],
    ["a", { b: 1 }],
    [[]],
    { a: 1, c: 1 },
  ]),
  row({ const: { a: { b: [1] } } }, [{ a: { b: [1] } }, { a: { b: [1, 2] } }, { a: { b: [] } }]),
  row({ const: {} }),
  row({ dependentRequired: { a: ["b"], b: [] } }),
  row({ dependentSchemas: { a: { required: ["b"] }, x: false } }),
  row({ enum: ["a", 1, true, null] }, ["1"]),
  row({ type: "integer", minimum: 0, exclusiveMaximum: 10, multipleOf: 2 }, ["2", 2.0]),
  row({ type: "number", exclusiveMinimum: 0, maximum: 1 }, [0.5, 1.1]),
  row(text({ minLength: 2, maxLength: 3 }), [
    "😀",
    "😀😀",
    "😀😀😀",
    "😀😀😀😀",
    "a\nb",
    "\uD83D",
    "\uD83D\uD83D",
    "\uDE00a",
  ]),
  row(text({ minLength: 1 }), ["😀"]),
  row(text({ pattern: "b", minLength: 2, maxLength: 3 }), ["aa", "aabb"]),
  row(array({ items: string, minItems: 1, maxItems: 2, uniqueItems: true })),
  row(array(), [[1, null]]),
  row(array({ prefixItems: [string, number], items: false }), [["a", 1, 2]]),
  row(array({ contains: string, maxContains: 1 })),
  row(object({ properties: { a: false } })),
  row(object({ properties: { a: { not: {} } } })),
  row(object({ properties: { next: { $ref: "#/components/schemas/Tree" } } }), [
    { next: { children: [{ children: [] }] } },
    { next: { children: [{ children: [1] }] } },
  ]),
  row({ $ref: "#/components/schemas/Tree/properties/children" }),
  row({ $ref: "#/components/schemas/Tree/properties/left~0right" }),
  row(object({ properties: { a: { type: "string", default: "x" } } }), [{ a: "y" }]),
  row(object({ properties: { a: { type: "string", readOnly: true } } }), [{ a: "y" }]),
  row(text({ format: "date-time" }), [
    "2020-01-01T00:00:00Z",
    "2020-01-01T00:00:00.5+02:00",
    "2020-01-01T00:00Z",
    "2020-13-01T00:00:00Z",
    "2020-01-01",
    "soon",
  ]),
  row(text({ format: "date" }), ["2020-02-29", "2021-02-29", "2021-2-1", "soon"]),
  row(text({ format: "uuid" }), [
    "7f6f2a1e-6c0f-4f2b-9d0b-0e3c4d1a2b3c",
    "7F6F2A1E-6C0F-FF2B-FD0B-0E3C4D1A2B3C",
    "7f6f2a1e",
  ]),
  row(text({ format: "email" }), ["a@b.example", "a@localhost", "a@", "@b"]),
  row(text({ format: "ipv4" }), ["127.0.0.1", "256.0.0.1", "1.2.3"]),
  row(text({ format: "ipv6" }), ["::1", "2001:db8::1", "::g"]),
  row(text({ format: "uri" }), [
    "https://a.example/b?c#d",
    "urn:ietf:params:oauth",
    "/relative",
    "no uri",
  ]),
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
  test.each(named)("$name", ({ instances, index }) => {
    const witness = ajv.compile({ $ref: `sample#/components/schemas/Row${index}` });
    const schema = schemas.B.components[`Row${index}`]?.();
    const verdicts = instances.map((instance) => ({
      instance,
      valid: schema?.safeParse(instance).success,
    }));
    expect(verdicts).toEqual(instances.map((instance) => ({ instance, valid: witness(instance) })));
    for (const instance of instances) {
      const result = schema?.safeParse(instance);
      // Parsing changes nothing: unknown keys survive, no default is filled in, nothing is frozen.
      if (result?.success) expect(result.data).toEqual(instance);
    }
  });

  test.each(named)("the emulator's answer is allowed by $name", async ({ index }) => {
    const { emulation } = await compiled.load<{ emulation: Answers }>("emulation");
    const { body } = emulation.B[`row${index}`] ?? {};
    const witness = ajv.compile({ $ref: `sample#/components/schemas/Row${index}` });
    expect({ body, valid: body === undefined || witness(body) }).toEqual({ body, valid: true });
  });

  test("a body's keywords beside its $ref are checked too", () => {
    const schema = schemas.B.operations.getShort.responses[200]();
    expect(["ab", "abc"].map((text) => schema.safeParse(text).success)).toEqual([true, false]);
  });
});
