// Older versions of OpenAPI are read as 3.1, with the lines of the document as it is written.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { generate } from "../../src/generate/index.js";
import {
  answer,
  DONE,
  type Generated,
  generated,
  ONE_OPERATION,
  openapi,
  refusalOf,
  rowsOf,
  sample,
} from "./sample-documents.js";

describe("a document of OpenAPI 3.0", () => {
  const string = { type: "string" };
  const nullable = { ...string, nullable: true };
  const thing = { $ref: "#/components/schemas/Thing" };
  /** A document whose body, answer and header are a Thing. */
  const written = (Thing: object, version: string) => {
    const requestBody = { content: { "multipart/form-data": { schema: thing } } };
    const headers = { "X-Next": { schema: thing } };
    const responses = { ...answer(thing), 201: { description: "Made.", headers } };
    const paths = { "/a": { post: { operationId: "a", requestBody, responses } } };
    return { ...openapi(paths, { schemas: { Thing } }), openapi: version };
  };
  const anyOfNull = (schema: object) => ({ anyOf: [schema, { type: "null" }] });
  const orNull = { type: ["string", "null"] };
  const having = (a: object) => ({ type: "object", properties: { a } });
  const files = (more: object) => having({ type: "array", items: { ...string, ...more } });
  const bytes = (more: object) => having({ ...string, ...more, default: "dGV4dA==" });
  const named = (format: object) => ({ properties: { example: string, nullable: string, format } });
  const limits = { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false };
  const [combined, title, description] = [{ allOf: [string] }, "A", "A."];
  const shown = { type: "object", example: { ...nullable, $ref: "#/nowhere" } };
  const beside = { ...thing, maxLength: 3, type: "string", description };
  const ignored =
    /^a\.yaml:\d+:\d+#\/components\/schemas\/Thing\/properties\/a: before .*: maxLength, type\./;

  test.each<[name: string, in30: object, in31: object, warning?: RegExp]>([
    ["null for a text", nullable, orNull],
    ["null among values", { ...nullable, enum: ["cat"] }, { ...orNull, enum: ["cat", null] }],
    ["null for parts", { ...combined, nullable: true, title }, { title, ...anyOfNull(combined) }],
    ["files", files({ format: "binary" }), files({ contentMediaType: "application/octet-stream" })],
    ["bytes", bytes({ format: "byte" }), bytes({ contentEncoding: "base64" })],
    ["an example", { example: 7 }, { examples: [7] }],
    [
      "null for a reference",
      having({ ...thing, nullable: true, description }),
      having({ description, ...anyOfNull(thing) }),
    ],
    ["limits that are not reached", limits, { exclusiveMinimum: 1, maximum: 9 }],
    ["properties with the names of keywords", named(nullable), named(orNull)],
    ["an example that looks like a schema", shown, shown],
    [
      "keywords beside a reference, which 3.0 ignores",
      { properties: { a: beside } },
      { properties: { a: { ...thing, description } } },
      ignored,
    ],
  ])("with %s gives types, requests, checks and answers of 3.1", async (_, in30, in31, warning) => {
    const before = await generated(written(in30, "3.0.3"));
    const after = await generated(written(in31, "3.1.0"));
    // The client makes a request from the table in operations.ts.
    for (const name of ["operations.ts", "schemas.ts", "emulation.ts"])
      expect(await before.text(name)).toBe(await after.text(name));
    const typesOf = async ({ text }: Generated) =>
      (await text("variant-a.ts")).replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, "");
    expect(await typesOf(before)).toBe(await typesOf(after));
    const message = "a.yaml: OpenAPI 3.0.3 is read as OpenAPI 3.1";
    expect(before.notices).toEqual([
      { level: "note", code: "document_upgraded", document: "a.yaml", message },
      ...(warning === undefined ? [] : [warning]).map((text) => {
        const message = expect.stringMatching(text);
        return expect.objectContaining({ level: "warning", code: "part_ignored", message });
      }),
    ]);
    expect(after.notices).toEqual([]);
  });

  test("has one warning of what stands beside the reference of a parameter", async () => {
    const parameters = [{ $ref: "#/components/parameters/P", required: true }];
    const shared = { P: { name: "p", in: "query", schema: { type: "string" } } };
    const get = { operationId: "a", parameters, responses: DONE };
    const document = openapi({ "/a": { get } }, { parameters: shared });
    const { notices } = await generated({ ...document, openapi: "3.0.3" });
    expect(notices).toMatchObject([{ level: "note" }, { code: "part_ignored" }]);
  });

  test("is changed by an overlay as it is written", async () => {
    const { documents, out } = await sample(written({ type: "object" }, "3.0.3"));
    const overlay = join(dirname(out), "more.yaml");
    const update = { properties: { a: nullable } };
    const action = { target: "$.components.schemas.Thing", "x-variant": "A", update };
    const info = { title: "More", version: "1" };
    await writeFile(overlay, stringify({ overlay: "1.1.0", info, actions: [action] }));
    await generate({ documents, overlays: [overlay], out });
    expect(await readFile(join(out, "variant-a.ts"), "utf8")).toContain("a?: string | null");
  });
});

test("a document of OpenAPI 3.2 is taken as it is", async () => {
  const { notices } = await generated({ ...openapi(ONE_OPERATION), openapi: "3.2.0" });
  expect(notices).toEqual([]);
});

test("a reference to a media type of OpenAPI 3.2 is followed", async () => {
  const mediaTypes = { Text: { schema: { type: "string" } } };
  const responses = {
    200: {
      description: "Text.",
      content: { "application/json": { $ref: "#/components/mediaTypes/Text" } },
    },
  };
  const document = openapi({ "/a": { get: { operationId: "a", responses } } }, { mediaTypes });
  const { text } = await generated({ ...document, openapi: "3.2.0" });
  expect(await text("variant-a.ts")).toMatch(/"application\/json": string;/);
  expect(await text("schemas.ts")).toContain('"type":"string"');
});

describe("a document of Swagger 2.0", () => {
  const info = { title: "Old", version: "1" };
  const swagger = `swagger: "2.0"
info: { title: Old, version: "1" }
host: api.example
basePath: /v2
consumes: [application/json]
produces: [application/json]
securityDefinitions: { login: { type: basic } }
parameters:
  Body: { in: body, name: thing, required: true, schema: { $ref: "#/definitions/Thing" } }
  Page: { in: query, name: page, type: integer, required: true }
responses: { Missing: { description: None., schema: { $ref: "#/definitions/Thing" } } }
definitions:
  Thing:
    type: object
    discriminator: kind
    required: [kind]
    properties: { kind: { type: string }, note: { type: string, x-nullable: true } }
paths:
  /things/{id}:
    parameters: [{ in: path, name: id, required: true, type: string }]
    get:
      operationId: get
      produces: [text/csv]
      parameters:
        - { $ref: "#/parameters/Page" }
        - { in: query, name: tags, type: array, items: { type: string }, collectionFormat: pipes }
        - { in: header, name: X-Ids, type: array, items: { type: string } }
      responses:
        200: { description: One., schema: { type: string }, headers: { X-Rest: { type: integer } } }
        404: { $ref: "#/responses/Missing" }
    put: { operationId: put, parameters: [{ $ref: "#/parameters/Body" }] }
    post:
      operationId: upload
      consumes: [multipart/form-data]
      parameters:
        - { in: formData, name: file, type: file, required: true }
        - { in: formData, name: tags, type: array, items: { type: string, enum: [a, b] } }
      responses: { 200: { description: Bytes., schema: { type: file } } }
`;

  test("is read with its bodies, forms, styles, media types and definitions", async () => {
    const rows = await rowsOf(swagger);
    expect(rows.get).toMatchObject({
      parameters: [
        { in: "query", name: "page", required: true },
        { in: "query", name: "tags", style: "pipeDelimited" },
      ],
      answers: { 200: ["text/csv"] },
    });
    expect(rows.put).toMatchObject({ contentType: "application/json", bodyRequired: true });
    expect(rows.upload).toMatchObject({
      contentType: "multipart/form-data",
      contents: { "multipart/form-data": { tags: { style: "form", explode: false } } },
      bodyRequired: true,
    });
    const { notices, text } = await generated(swagger);
    const types = await text("variant-a.ts");
    expect(types).toContain("note?: string | null;");
    expect(types).toContain('tags?: ("a" | "b")[];');
    expect(await text("operations.ts")).toContain("{ file: Binary }");
    expect(notices.map(({ message }) => message)).toEqual([
      "a.yaml: Swagger 2.0 is read as OpenAPI 3.1",
      expect.stringMatching(
        /^a\.yaml:\d+:\d+#\/basePath: the server https:\/\/api\.example\/v2 is ignored/,
      ),
      expect.stringMatching(/^a\.yaml:\d+:\d+#\/securityDefinitions\/login: .*http basic/),
    ]);
  });

  test("is upgraded where the reference of a path leads, once for all paths", async () => {
    const rows = await rowsOf(`swagger: "2.0"
info: {}
paths: { /a: { $ref: "#/x-paths/a" }, /b: { $ref: "#/x-paths/a" } }
x-paths:
  a:
    put:
      operationId: put
      parameters:
        - { in: body, name: thing, required: true, schema: { type: object } }
        - { in: query, name: tags, type: array, items: {}, collectionFormat: pipes }
`);
    const parameters = [{ in: "query", name: "tags", style: "pipeDelimited" }];
    for (const id of ["put", "putB"])
      expect(rows[id]).toMatchObject({ contentType: "application/json", parameters });
  });

  test("has the body that an example shows for a media type, even without a schema", async () => {
    const response = { description: "Text.", examples: { "text/csv": "a;b" } };
    const get = { operationId: "a", responses: { 200: response } };
    const rows = await rowsOf({ swagger: "2.0", info, paths: { "/a": { get } } });
    expect(rows.a).toMatchObject({ answers: { 200: ["text/csv"] } });
  });

  test("may have its version as a number, which YAML makes of 2.0 without quotes", async () => {
    const paths = "paths: { /a: { get: { operationId: a } } }";
    const { notices } = await generated(`swagger: 2.0\ninfo: {}\n${paths}\n`);
    expect(notices).toMatchObject([{ message: "a.yaml: Swagger 2.0 is read as OpenAPI 3.1" }]);
  });

  test("names the line of the document as it is written", async () => {
    const error = await refusalOf(
      "swagger: '2.0'\ninfo: {}\npaths: {}\ndefinitions:\n  A: { $ref: '#/definitions/B' }\n",
    );
    expect(error).toMatchObject({ code: "reference_missing", document: "a.yaml" });
    expect(error.message).toContain("a.yaml:5:6#/definitions/A: ");
  });

  test("with a list in tabs is refused, since no style writes those", async () => {
    const tags = { name: "t", in: "query", type: "array", items: {}, collectionFormat: "tsv" };
    const get = { operationId: "a", parameters: [tags], responses: DONE };
    expect(await refusalOf({ swagger: "2.0", info, paths: { "/a": { get } } })).toMatchObject({
      code: "style_invalid",
      pointer: "/paths/~1a/get/parameters/0/collectionFormat",
    });
  });
});
