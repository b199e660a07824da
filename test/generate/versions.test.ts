// Older versions of OpenAPI: they are read as OpenAPI 3.1, with the lines of the document as it is
// written.
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
  json,
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
  const written = (Thing: object, version: string) => ({
    ...openapi(
      { "/a": { get: { operationId: "a", responses: answer(thing) } } },
      { schemas: { Thing } },
    ),
    openapi: version,
  });

  test.each([
    {
      name: "null for a reference",
      in30: { properties: { a: { ...thing, nullable: true, description: "A thing." } } },
      in31: { properties: { a: { description: "A thing.", anyOf: [thing, { type: "null" }] } } },
    },
    {
      name: "limits that are not reached",
      in30: { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      in31: { exclusiveMinimum: 1, maximum: 9 },
    },
    {
      name: "properties with the names of keywords",
      in30: { properties: { example: string, nullable: string, format: nullable } },
      in31: {
        properties: { example: string, nullable: string, format: { type: ["string", "null"] } },
      },
    },
    {
      name: "an example that looks like a schema",
      in30: { type: "object", example: { ...nullable, $ref: "#/nowhere" } },
      in31: { type: "object", example: { ...nullable, $ref: "#/nowhere" } },
    },
    {
      name: "keywords beside a reference, which 3.0 ignores",
      in30: { properties: { a: { ...thing, maxLength: 3, type: "string", description: "A." } } },
      in31: { properties: { a: { ...thing, description: "A." } } },
    },
  ])("with $name gives the types and checks of the same one in 3.1", async ({ in30, in31 }) => {
    const before = await generated(written(in30, "3.0.3"));
    const after = await generated(written(in31, "3.1.0"));
    for (const name of ["schemas.ts", "variant-a.ts", "emulation.ts"])
      expect(await before.text(name)).toBe(await after.text(name));
    const message = "a.yaml: OpenAPI 3.0.3 is read as OpenAPI 3.1";
    expect(before.notices).toEqual([
      { level: "note", code: "document_upgraded", document: "a.yaml", message },
    ]);
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

describe("one document written as OpenAPI 3.0 and as 3.1", () => {
  /** Uses every construct that the versions write differently. */
  const written = (version: "3.0.4" | "3.1.1"): object => {
    const either = (in30: object, in31: object) => (version === "3.0.4" ? in30 : in31);
    const orNull = (type: string, more: object = {}) =>
      either({ type, ...more, nullable: true }, { type: [type, "null"], ...more });
    const string = { type: "string" };
    const file = either(
      { ...string, format: "binary" },
      { ...string, contentMediaType: "application/octet-stream" },
    );
    const bytes = either({ ...string, format: "byte" }, { ...string, contentEncoding: "base64" });
    const between = either(
      { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true },
      { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 9 },
    );
    const shown = (example: unknown) => either({ example }, { examples: [example] });
    const pet = { $ref: "#/components/schemas/Pet" };
    const owner = { $ref: "#/components/schemas/Owner" };
    const Owner = { type: "object", required: ["name"], properties: { name: string } };
    const Pet = {
      type: "object",
      required: ["id", "kind", "tag"],
      properties: {
        id: { type: "integer", format: "int64", ...shown(7) },
        tag: orNull("string"),
        kind: either(
          { ...string, enum: ["cat", "dog"], nullable: true },
          { type: ["string", "null"], enum: ["cat", "dog", null] },
        ),
        weight: between,
        photo: bytes,
        owner: either(
          { allOf: [owner], nullable: true },
          { anyOf: [{ allOf: [owner] }, { type: "null" }] },
        ),
        friends: orNull("array", { items: pet }),
        extra: { type: "object", additionalProperties: orNull("integer") },
      },
      ...shown({ id: 7, kind: "cat", tag: null }),
    };
    const form = {
      type: "object",
      required: ["file"],
      properties: {
        file,
        files: { type: "array", items: file },
        owner,
        note: orNull("string"),
        key: bytes,
      },
    };
    const list = {
      operationId: "list",
      parameters: [
        { name: "weight", in: "query", schema: between },
        { name: "tags", in: "query", explode: false, schema: { type: "array", items: string } },
        {
          name: "where",
          in: "query",
          style: "deepObject",
          schema: { type: "object", properties: { tag: orNull("string") } },
        },
      ],
      responses: {
        200: {
          description: "Pets.",
          headers: { "X-Next": { schema: orNull("string") } },
          content: json({ type: "array", items: pet }),
        },
      },
    };
    const create = {
      operationId: "create",
      requestBody: { required: true, content: json(pet) },
      responses: answer(pet),
    };
    const upload = {
      operationId: "upload",
      requestBody: {
        required: true,
        content: {
          "multipart/form-data": { schema: form, encoding: { file: { contentType: "image/png" } } },
        },
      },
      responses: DONE,
    };
    const replace = {
      operationId: "replace",
      requestBody: { required: true, content: { "application/octet-stream": { schema: file } } },
      responses: { 200: { description: "Bytes.", content: { "image/png": { schema: file } } } },
    };
    const paths = {
      "/pets": { get: list, post: create },
      "/files": { post: upload, put: replace },
    };
    return { ...openapi(paths, { schemas: { Owner, Pet } }), openapi: version };
  };

  test("gives the same types, requests, checks and answers", async () => {
    const [old, now] = [await generated(written("3.0.4")), await generated(written("3.1.1"))];
    // The client makes a request from the table in operations.ts, so the same text makes the same
    // requests.
    for (const name of ["operations.ts", "schemas.ts", "emulation.ts"])
      expect(await old.text(name)).toBe(await now.text(name));
    const typesOf = async ({ text }: Generated) =>
      (await text("variant-a.ts")).replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, "");
    expect(await typesOf(old)).toBe(await typesOf(now));
    const operations = await old.text("operations.ts");
    expect(operations).toContain("{ file: Binary; files?: readonly Binary[] }");
    expect(await typesOf(old)).toContain('kind: "cat" | "dog" | null;');
  });
});

describe("a document of Swagger 2.0", () => {
  const info = { title: "Old", version: "1" };
  const swagger = {
    ...{ swagger: "2.0", info },
    host: "api.example",
    basePath: "/v2",
    consumes: ["application/json"],
    produces: ["application/json"],
    securityDefinitions: { login: { type: "basic" } },
    parameters: {
      Body: { in: "body", name: "thing", required: true, schema: { $ref: "#/definitions/Thing" } },
      Page: { in: "query", name: "page", type: "integer", required: true },
    },
    responses: { Missing: { description: "None.", schema: { $ref: "#/definitions/Thing" } } },
    definitions: {
      Thing: {
        type: "object",
        discriminator: "kind",
        required: ["kind"],
        properties: { kind: { type: "string" }, note: { type: "string", "x-nullable": true } },
      },
    },
    paths: {
      "/things/{id}": {
        parameters: [{ in: "path", name: "id", required: true, type: "string" }],
        get: {
          operationId: "get",
          produces: ["text/csv"],
          parameters: [
            { $ref: "#/parameters/Page" },
            {
              in: "query",
              name: "tags",
              type: "array",
              items: { type: "string" },
              collectionFormat: "pipes",
            },
            { in: "header", name: "X-Ids", type: "array", items: { type: "string" } },
          ],
          responses: {
            200: {
              description: "One.",
              schema: { type: "string" },
              headers: { "X-Rest": { type: "integer" } },
            },
            404: { $ref: "#/responses/Missing" },
          },
        },
        put: { operationId: "put", parameters: [{ $ref: "#/parameters/Body" }], responses: DONE },
        post: {
          operationId: "upload",
          consumes: ["multipart/form-data"],
          parameters: [
            { in: "formData", name: "file", type: "file", required: true },
            {
              in: "formData",
              name: "tags",
              type: "array",
              items: { type: "string", enum: ["a", "b"] },
            },
          ],
          responses: { 200: { description: "Bytes.", schema: { type: "file" } } },
        },
      },
    },
  };

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
    const parameters = [
      { in: "body", name: "thing", required: true, schema: { type: "object" } },
      {
        in: "query",
        name: "tags",
        type: "array",
        items: { type: "string" },
        collectionFormat: "pipes",
      },
    ];
    const item = { put: { operationId: "put", parameters, responses: DONE } };
    const path = { $ref: "#/x-paths/a" };
    const rows = await rowsOf({
      ...{ swagger: "2.0", info, paths: { "/a": path, "/b": path } },
      "x-paths": { a: item },
    });
    for (const id of ["put", "putB"])
      expect(rows[id]).toMatchObject({
        ...{ contentType: "application/json", bodyRequired: true },
        parameters: [{ in: "query", name: "tags", style: "pipeDelimited" }],
      });
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
