// Documents as people write them by hand: merges, empty parts, references to any place, and parts
// of another shape. Each is read as it was meant, or refused with its line.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { generate } from "../../src/generate/index.js";
import {
  answer,
  compiledSample,
  generated,
  openapi,
  refusalOf,
  rowsOf,
  sample,
} from "./sample-documents.js";

const START = 'openapi: 3.1.0\ninfo: { title: Odd, version: "1" }\n';
const done = 'responses: { "200": { description: Done. } }';
const get = (id: string, more = "") => `get: { operationId: ${id}, ${more}${done} }`;

describe("a YAML document", () => {
  test("may have merge keys, as most readers of YAML take them", async () => {
    const text =
      `${START}x-base: &base { ${done} }\npaths: { /a: { get: { <<: ` +
      `*base, operationId: a } } }\n`;
    const { text: read } = await generated(text);
    expect(await read("operations.ts")).toContain("success: {\n      200: undefined;");
  });

  test("with a list as a key is refused with its line", async () => {
    const error = await refusalOf(`${START}paths: {}\n? [a, b]\n: c\n`);
    expect(error).toMatchObject({
      code: "document_not_yaml",
      message: expect.stringMatching(/^a\.yaml:4:3: /),
    });
  });
});

test("a key with nothing behind it is an empty part", async () => {
  const text = `${START}paths:
  /none:
  /a:
    parameters:
    put:
      operationId: put
      responses:
        200:
        201: { description: Made., headers: { X-A: }, content: { application/json: } }
components:
  schemas:
`;
  const { notices, text: read } = await generated(text);
  expect(notices).toEqual([]);
  expect(await read("variant-a.ts")).toContain('"application/json": unknown;');
});

test("a keyword with a value of the wrong kind is a warning, and the types do without it", async () => {
  const schemas = {
    A: { type: "object", properties: ["a"], required: "a" },
    B: { allOf: { type: "string" }, anyOf: [3], oneOf: 3, enum: "a" },
    C: {
      type: "object",
      properties: { enum: { type: "string" }, required: { type: ["integer", 3] } },
    },
    D: { const: { enum: "a", title: 3 } },
  };
  const { notices, text } = await generated(openapi({}, { schemas }));
  expect(notices.map(({ pointer }) => pointer?.replace("/components/schemas/", ""))).toEqual(
    expect.arrayContaining(["A/properties", "A/required", "B/allOf", "B/oneOf", "B/enum"]),
  );
  const types = await text("variant-a.ts");
  for (const kept of ["enum?: string;", 'enum: "a";', "title: 3;"]) expect(types).toContain(kept);
});

test("a comment may be a number, a date or a list for YAML", async () => {
  const { text } = await generated(
    `${START}paths: { /a: { ${get("a", "summary: 404, description: [One, two], ")} } }
components: { schemas: { A: { title: 2020-01-01, type: object, properties: { title: { type: string } } } } }\n`,
  );
  const types = await text("variant-a.ts");
  for (const comment of ["404", "One,two", "2020-01-01"]) expect(types).toContain(comment);
  expect(types).toContain("title?: string;");
});

describe("a mistake is refused with its line and its column:", () => {
  const row = (name: string, text: string, at: string) => ({ name, text, at });
  test.each([
    row("a list of paths", "paths: []", "3:8#/paths: it must be an object"),
    row("a path that is text", "paths: { /a: b }", "3:14#/paths/~1a: it must be an object"),
    row(
      "an object of parameters",
      `paths: { /a: { ${get("a", "parameters: { b: 1 }, ")} } }`,
      "3:51#/paths/~1a/get/parameters: it must be a list",
    ),
    row(
      "an answer that is text",
      'paths: { /a: { get: { responses: { "200": Done } } } }',
      "3:43#/paths/~1a/get/responses/200: it must be an object",
    ),
    row(
      "an operation of a callback that is a number",
      "paths: { /a: { get: { callbacks: { done: { url: { post: 3 } } } } } }",
      "3:57#/paths/~1a/get/callbacks/done/url/post: it must be an object",
    ),
    row(
      "a list of schemas",
      "components: { schemas: [] }",
      "3:24#/components/schemas: it must be an object",
    ),
    row(
      "an operationId that is not text",
      "paths: { /a: { get: { operationId: { a: 1 } } } }",
      "3:36#/paths/~1a/get/operationId: it must be text",
    ),
    row(
      "a reference that is not text",
      "components: { schemas: { A: { items: { $ref: 3 } } } }",
      "3:46#/components/schemas/A/items/$ref: $ref must be text",
    ),
    row(
      "a mapping to a schema that does not exist",
      "components: { schemas: { A: { discriminator: { propertyName: k, mapping: { a: B } } } } }",
      "3:79#/components/schemas/A/discriminator/mapping/a: " +
        '"B" is neither the name of a schema nor a reference',
    ),
    row(
      "a parameter that is a number",
      "paths: { /a: { get: { operationId: a, parameters: [3] } } }",
      "3:52#/paths/~1a/get/parameters/0",
    ),
    row("a mark without a text", "x-not-shown:\n  - id: a\npaths: {}", "4:5#/x-not-shown/0"),
    row(
      "a status",
      "paths: { /a: { get: { operationId: a, responses:\n  { 600: 1 } } } }",
      "4:10#/paths",
    ),
    row(
      "a path without its slash",
      "paths:\n  things: {}",
      '4:3#/paths/things: "things" is not a path; write "/things". ' +
        "A key of `paths` must start with",
    ),
    row(
      "a misspelt method",
      "paths:\n  /a:\n    psot:\n      operationId: a",
      '5:5#/paths/~1a/psot: "psot" is not a method. ' +
        "A key of a path must be one of get, put, post,",
    ),
    row(
      "a misspelt method of a path that others refer to",
      "components:\n  pathItems: { a: { Get: {} } }",
      "4:21#/components/pathItems/a/Get: ",
    ),
    row("text that is not YAML", "x-a: b: c", "3:6: the file is not a YAML document"),
  ])("$name", async ({ text, at }) => {
    const { message } = await refusalOf(`${START}${text}\n`);
    expect(message.slice(0, `a.yaml:${at}`.length)).toBe(`a.yaml:${at}`);
  });
});

describe("a reference", () => {
  const string = { type: "string" };

  test("may lead to any place of the document, and the types compile", async () => {
    const paths = {
      "/a/{b}": {
        get: {
          operationId: "a",
          parameters: [
            { name: "b", in: "path", required: true, schema: string },
            {
              name: "q",
              in: "query",
              schema: { type: "object", properties: { "x y": { enum: ["deep"] } } },
            },
          ],
          responses: answer({ type: "array", items: { type: "integer" } }),
        },
      },
      "/c": {
        get: {
          operationId: "c",
          parameters: [{ $ref: "#/paths/~1a~1%7Bb%7D/get/parameters/1" }],
          responses: {
            200: { $ref: "#/paths/~1a~1{b}/get/responses/200" },
            400: Object(
              answer({ $ref: "#/paths/~1a~1{b}/get/parameters/1/schema/properties/x%20y" }),
            )[200],
          },
        },
      },
    };
    const compiled = await compiledSample(openapi(paths));
    expect(compiled.diagnostics()).toEqual([]);
    expect(await compiled.text("variant-a.ts")).toContain('"x-y": "deep";');
    await compiled.remove();
  });

  test("of a path item may stand beside operations of its own", async () => {
    const beside = `paths: { /a: { $ref: "#/components/pathItems/P", post: { operationId: b, ${done} } } }`;
    const text = `${START}${beside}\ncomponents: { pathItems: { P: { ${get("a")} } } }\n`;
    const { documents, out } = await sample(text);
    await generate({ documents, out });
    const types = await readFile(join(out, "variant-a.ts"), "utf8");
    for (const id of ["a", "b"])
      expect(types.match(new RegExp(`^    ${id}: \\{`, "gm"))).toHaveLength(1);
  });

  test("of a path may lead to a path that is a reference too", async () => {
    const same = '/b: { $ref: "#/paths/~1a" }, /c: { $ref: "#/paths/~1b" }';
    const { notices } = await generated(`${START}paths: { /a: { ${get("a")} }, ${same} }\n`);
    expect(notices[0]?.message).toContain("getB (GET /b), getC (GET /c)");
  });

  test("in a member named like a part of the description leads to a schema", async () => {
    const properties = { responses: { $ref: "#/components/schemas/B/properties/headers" } };
    const B = { type: "object", properties: { headers: { enum: ["one"] } } };
    const document = openapi({}, { schemas: { A: { type: "object", properties }, B } });
    const { text } = await generated(document);
    expect(await text("variant-a.ts")).toContain('responses?: components["schemas"]["headers"];');
  });

  test("ignores what stands beside it, which is a warning", async () => {
    const { notices } = await generated(
      `${START}paths: { /a: { ${get("a", 'parameters: [{ $ref: "#/components/parameters/P", required: true }], ')} } }
components: { parameters: { P: { name: p, in: query, schema: { type: string } } } }\n`,
    );
    expect(notices).toMatchObject([
      { code: "part_ignored", pointer: "/paths/~1a/get/parameters/0" },
    ]);
    expect(notices[0]?.message).toContain("is ignored: required");
  });

  test("inside of an extension may lead nowhere, which is a warning", async () => {
    const { notices } = await generated(
      `${START}x-a: { $ref: "#/none" }\nx-b: { $ref: none.yaml }\npaths: { /a: { ${get("a")} } }\n`,
    );
    expect(notices).toMatchObject([
      { level: "warning", code: "reference_missing", pointer: "/x-b" },
      { level: "warning", code: "reference_missing", pointer: "/x-a" },
      { level: "warning", code: "reference_external", pointer: "/x-b" },
    ]);
  });

  test("of a member whose name begins with x- must lead somewhere", async () => {
    const document = openapi({}, { schemas: { A: { properties: { "x-a": { $ref: "#/none" } } } } });
    expect(await refusalOf(document)).toMatchObject({ code: "reference_missing" });
  });

  test.each([
    {
      name: "to files that lead back to each other",
      files: { "part.yaml": "$ref: other.yaml\n", "other.yaml": "$ref: part.yaml\n" },
      code: "reference_circular",
      at: "other.yaml:1:1: part.yaml leads back to itself",
    },
    {
      name: "to a folder",
      files: { "part.yaml/x.yaml": "" },
      code: "reference_missing",
      at: "a.yaml:3:14#/paths/~1a: part.yaml cannot be read: EISDIR",
    },
  ])("$name is refused", async ({ files, code, at }) => {
    const { documents, out } = await sample(`${START}paths: { /a: { $ref: part.yaml } }\n`);
    for (const [name, text] of Object.entries(files)) {
      const path = join(dirname(documents.A), name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    await expect(generate({ documents, out })).rejects.toMatchObject({ code, message: at });
  });
});

test("an example that its schema refuses is a warning, also among `examples` and by reference", async () => {
  const media = (more: object) => ({
    "application/json": { schema: { type: "integer" }, ...more },
  });
  const answers = {
    200: { description: "One.", content: media({ example: "one" }) },
    201: {
      description: "Some.",
      content: media({ examples: { a: { value: 1 }, b: { value: "two" } } }),
    },
    202: {
      description: "Shared.",
      content: media({ examples: { c: { $ref: "#/components/examples/C" } } }),
    },
  };
  const paths = { "/a": { get: { operationId: "a", responses: answers } } };
  const document = openapi(paths, { examples: { C: { value: "three" } } });
  const { notices, text } = await generated(document);
  const at = (pointer: string) => ({ level: "warning", code: "example_invalid", pointer });
  const responses = "/paths/~1a/get/responses";
  expect(notices).toMatchObject([
    at(`${responses}/200/content/application~1json/example`),
    at(`${responses}/201/content/application~1json/examples/b/value`),
    at("/components/examples/C/value"),
  ]);
  expect(await text("emulation.ts")).not.toContain("one");
  await expect(generated(document, { strict: true })).rejects.toMatchObject({
    code: "example_invalid",
  });
});

test("two descriptions of one parameter are a warning, and the last one counts", async () => {
  const described = (name: string, more: object) => ({
    name,
    in: "header",
    schema: { type: "string" },
    ...more,
  });
  const parameters = [described("X-A", { required: true }), described("x-a", {})];
  const responses = { 200: { description: "Done." } };
  const document = openapi({ "/a": { get: { operationId: "a", parameters, responses } } });
  const { notices } = await generated(document);
  expect(notices).toMatchObject([
    { code: "document_invalid", pointer: "/paths/~1a/get/parameters/1" },
  ]);
  expect((await rowsOf(document)).a).not.toHaveProperty("parameters");
});

test("what OpenAPI 3.2 adds to a path is a warning", async () => {
  const { notices } = await generated(
    `${START.replace("3.1", "3.2")}paths: { /a: { query: { ${done} }, additionalOperations: ` +
      `{}, ${get("a")} } }\n`,
  );
  expect(notices).toMatchObject([
    { code: "part_ignored", pointer: "/paths/~1a/query" },
    { code: "part_ignored", pointer: "/paths/~1a/additionalOperations" },
  ]);
});

test("an operation with TRACE is a warning, since fetch does not send it", async () => {
  const { notices } = await generated(
    `${START}paths: { /a: { trace: { ${done}, operationId: a }, ${get("b")} } }\n`,
  );
  expect(notices).toMatchObject([
    {
      code: "part_ignored",
      pointer: "/paths/~1a/trace",
      message: expect.stringContaining("fetch sends no TRACE"),
    },
  ]);
});
