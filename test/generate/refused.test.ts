// What `generate` refuses in a document, and what is a warning unless `strict` refuses it: each
// with its code, and with the line, the column and the pointer of the mistake.
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type GenerateErrorCode, generate, type Notice } from "../../src/generate/index.js";
import { answer, ONE_OPERATION, openapi, refusalOf, START, sample } from "./sample-documents.js";

/** `says` are parts of the message, which begins with file, line, column and pointer. */
const row = (name: string, document: object | string, ...says: readonly string[]) => ({
  name,
  document,
  says,
});
const rowsOf = (code: GenerateErrorCode, ...rows: readonly ReturnType<typeof row>[]) =>
  rows.map((one) => ({ ...one, code }));

/** A mistake in the third line of a document. */
const line = (name: string, text: string, ...says: readonly string[]) =>
  row(name, `${START}${text}\n`, ...says);

const get = (operation: object) => openapi({ "/a": { get: operation } });
const parameter = (more: object) =>
  get({ operationId: "a", parameters: [{ name: "b", in: "query", ...more }], responses: {} });
const withSchema = (schema: object, components = {}) =>
  openapi({ "/a": { get: { operationId: "a", responses: answer(schema) } } }, components);
const withMarks = (...marks: object[]) => ({ ...openapi(ONE_OPERATION), "x-not-shown": marks });
const SCHEMA = "#/paths/~1a/get/responses/200/content/application~1json/schema";
const circle = {
  A: { anyOf: [{ $ref: "#/components/schemas/B" }] },
  B: { allOf: [{ $ref: "#/components/schemas/A" }, { type: "object" }] },
};
const times = (count: number, text: (at: number) => string, separator = "\n") =>
  Array.from({ length: count }, (_, at) => text(at)).join(separator);
const nested = (at: number) => (at === 0 ? "x" : `${`*a${at - 1},`.repeat(9)}`);

const again = { post: { operationId: "listThings", responses: {} } };
const mark = { id: "a", section: "1", says: "This." };
const refused = [
  ...rowsOf(
    "document_not_yaml",
    row("a list at the top", "- 1"),
    line("text that is not YAML", "x-a: b: c", "a.yaml:3:6: the file is not a"),
    line("a list as a key", "? [a, b]\n: c", "a.yaml:3:3: "),
    row("a tag that the parser does not know", "a: !!js/function 'x'"),
    row("a YAML key given twice", "info: { a: 1, 'a': 2 }"),
    row("a JSON key given twice", '{ "a": "\\"b\\": c", "p": {}, "p": {} }'),
    row("two YAML documents in one file", "a: 1\n---\na: 1"),
    row("an empty file", ""),
  ),
  ...rowsOf(
    "reference_circular",
    row("an alias that contains itself", "x-loop: &loop\n  self: *loop"),
    row("schemas that apply each other", openapi({}, { schemas: circle })),
    row(
      "references in a circle",
      openapi({}, { responses: { A: { $ref: "#/components/responses/A" } } }),
    ),
  ),
  ...rowsOf(
    "document_too_large",
    row(
      "aliases in aliases that expand to a thousand million values",
      times(10, (at) => `x-${at}: &a${at} [${nested(at)}]`),
    ),
    row(
      "a chain of aliases, each in a list of its own",
      `x-0: &a0 [${Array(20_000).fill("x")}]\n` +
        times(150, (at) => `x-${at + 1}: &a${at + 1} [*a${at}]`),
    ),
    row(
      "an alias of a long string, given often",
      `x-0: &a ${"b".repeat(900_000)}\nx-1: [${"*a, ".repeat(80)}]`,
    ),
    line("201 levels", `a: ${"{ a: ".repeat(200)}1${" }".repeat(200)}`),
    row(
      "blocks of 9,000 levels",
      times(9_000, (at) => `${" ".repeat(at)}a:`),
    ),
    row("JSON of 9,000 levels", `${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`),
    row("a long JSON string", JSON.stringify({ a: "a".repeat(1_100_000) })),
    row("a long JSON key", JSON.stringify({ ["a".repeat(1_100_000)]: 1 })),
    row("a long YAML string", `a: ${"a".repeat(1_100_000)}`),
    row("4 million escapes in JSON", JSON.stringify({ a: "\n".repeat(4e6) })),
  ),
  ...rowsOf(
    "document_version_unsupported",
    row("OpenAPI 4.0", { openapi: "4.0.0" }, "#/openapi"),
    row("Swagger 1.2", { swagger: "1.2" }, "#/swagger"),
  ),
  ...rowsOf(
    "document_invalid",
    row("a document without info", { openapi: "3.1.0", paths: {} }, "#/info"),
    row("OpenAPI 3.2 of a version only", { openapi: "3.2.0", info: {} }, "#/path"),
    row("OpenAPI 3.0 without paths", { openapi: "3.0.3", info: {}, components: {} }, "#/paths"),
    line("a list of paths", "paths: []", "a.yaml:3:8#/paths: it must be an object"),
    line(
      "an object of parameters",
      "paths: { /a: { get: { parameters: { b: 1 } } } }",
      "a.yaml:3:35#/paths/~1a/get/parameters: it must be a list",
    ),
    line(
      "an operation of a callback that is a number",
      "paths: { /a: { get: { callbacks: { done: { url: { post: 3 } } } } } }",
      "a.yaml:3:57#/paths/~1a/get/callbacks/done/url/post: it must be an object",
    ),
    line(
      "an operationId that is not text",
      "paths: { /a: { get: { operationId: { a: 1 } } } }",
      "a.yaml:3:36#/paths/~1a/get/operationId: it must be text",
    ),
    line("a method without an operation", "paths:\n  /a:\n    get:", "#/paths/~1a/get"),
    line(
      "a misspelt method",
      "components:\n  pathItems: { a: { Get: {} } }",
      'a.yaml:4:21#/components/pathItems/a/Get: "Get" is not a method. A key of a path must',
    ),
    row("a parameter without a place", parameter({ in: undefined })),
    line(
      "a $ref that is not text",
      "components: { schemas: { A: { items: { $ref: 3 } } } }",
      "a.yaml:3:46#/components/schemas/A/items/$ref: $ref must be text",
    ),
  ),
  ...rowsOf(
    "status_invalid",
    line("a status from 600 on", "paths: { /a: { get: { responses: { 600: {} } } } }"),
    line("letters as a status", "paths: { /a: { get: { responses: { 2OO: {} } } } }"),
  ),
  ...rowsOf(
    "style_invalid",
    row("a style of another place", parameter({ style: "matrix" }), "/0/style"),
    row("a style of no place", parameter({ in: "header", style: 1 }), "/0/style"),
  ),
  ...rowsOf(
    "schema_unsupported",
    row(
      "a property named __proto__",
      `{ "openapi": "3.1.0", "info": {}, "components": { "schemas": { "Odd": { "properties": ` +
        `{ "__proto__": {} } } } } }`,
    ),
  ),
  ...rowsOf(
    "reference_missing",
    row("a missing $ref", withSchema({ $ref: "#/components/none" }), SCHEMA),
    row("a $ref that is not UTF-8", withSchema({ $ref: "#/components/%FF" })),
    row(
      "an encoded slash in a $ref",
      withSchema({ $ref: "#/components/schemas%2FCat" }, { schemas: { Cat: {} } }),
    ),
    row(
      "an encoded ~1 in a $ref",
      withSchema({ $ref: "#/components/schemas/a%7E1b" }, { schemas: { "a/b": {} } }),
    ),
    line(
      "a missing example",
      "components: { parameters: { A: { examples: { b: { $ref: '#/c' } } } } }",
      "#/components/parameters/A/examples/b",
    ),
    row(
      "a missing link named default",
      openapi({}, { links: { default: { $ref: "#/components/none" } } }),
      "#/components/links/default",
    ),
    row(
      "a missing property whose name begins with x-",
      openapi({}, { schemas: { A: { properties: { "x-a": { $ref: "#/none" } } } } }),
    ),
    line(
      "a mapping to the name of no schema",
      "components: { schemas: { A: { discriminator: { propertyName: k, mapping: { a: B } } } } }",
      'a.yaml:3:79#/components/schemas/A/discriminator/mapping/a: "B" is neither the name of',
    ),
    line(
      "a mapping to no schema",
      "components: { schemas: { A: { discriminator: { mapping: { a: '#/components/B' } } } } }",
      "#/components/schemas/A/discriminator/mapping/a",
    ),
    line(
      "the separators of Windows",
      "paths: { /a: { $ref: paths\\a.yaml } }",
      "#/paths/~1a",
      "write / between folders",
    ),
  ),
  ...rowsOf(
    "reference_external",
    line(
      "another address, with the command that bundles",
      "paths: { /a: { $ref: https://api.example/a.yaml } }",
      "a.yaml --output bundled.yaml",
    ),
  ),
  ...rowsOf(
    "not_shown_invalid",
    line("a mark without a text", "x-not-shown:\n  - id: a\npaths: {}", "a.yaml:4:5#/x-not-s"),
    row("a mark without an id", withMarks({ section: "1", says: "This." })),
    row("a mark whose untilTold is a list", withMarks({ ...mark, untilTold: [] })),
    row("one id with two texts", withMarks(mark, { ...mark, says: "That." })),
    row("one id in two sections", withMarks(mark, { ...mark, section: "2" })),
    row("one id, twice assumed", withMarks(mark, { ...mark, untilTold: "A." })),
    row(
      "a mark without an id at a property named default",
      withSchema({ properties: { default: { "x-not-shown": [{ section: "1", says: "This." }] } } }),
      `${SCHEMA}/properties/default`,
    ),
  ),
  ...rowsOf(
    "operation_id_duplicate",
    row(
      "an operationId given again in another path",
      openapi({ ...ONE_OPERATION, "/more": again }),
      "#/paths/~1more/post/operationId",
    ),
    row(
      "an operationId given again in a webhook named default",
      { ...openapi(ONE_OPERATION), webhooks: { default: again } },
      "#/webhooks/default/post",
    ),
    row(
      "an operationId given again in a callback",
      openapi({ ...ONE_OPERATION, "/b": { get: { callbacks: { done: { "{$url}": again } } } } }),
      "/callbacks/done",
    ),
    row(
      "an operationId given again where only a webhook refers to it",
      {
        ...openapi(ONE_OPERATION),
        webhooks: { done: { $ref: "#/x-shared/done" } },
        "x-shared": { done: again },
      },
      "#/x-shared/done/post",
    ),
    row(
      "an operationId given again as a name by method and path",
      openapi({ "/a-b": { get: { responses: {} } }, "/a/b": { get: { responses: {} } } }),
      'GET /a/b has the operationId "getAB" of GET /a-b',
    ),
  ),
];

/** What of a schema is not checked, and the advice of the warning. */
const unchecked = (
  [
    [{ minLenght: 1 }, "/minLenght", 'Did you mean "minLength"?'],
    [{ nullable: true }, "/nullable", 'Write "null" into `type`.'],
    [{ colour: "red" }, "/colour", "start its name with x-."],
    [{ pattern: "(" }, "/pattern", '"(" is not a regular expression of ECMAScript.'],
    [{ pattern: "\\Aa\\z" }, "/pattern", "is not a regular expression of ECMAScript."],
    [{ patternProperties: { "(": {} } }, "/patternProperties", '"(" is not a regular expression'],
    [{ items: [{}] }, "/items", "write the list as `prefixItems`."],
    [{ required: true }, "/required", '"required" must be a list of names in the schema of'],
    [{ exclusiveMinimum: true }, "/exclusiveMinimum", "must be a number; it takes the place of"],
    [{ minLength: "1" }, "/minLength", '"minLength" must be a count.'],
    [{ oneOf: { a: 1 } }, "/oneOf", '"oneOf" must be a list of schemas.'],
    [{ allOf: [] }, "/allOf", '"allOf" must be a list of schemas.'],
    [{ properties: { b: 1 } }, "/properties/b", "a schema must be an object, true or false."],
    [{ properties: [] }, "/properties", "must be an object of schemas."],
    [{ enum: "a" }, "/enum", '"enum" must be a list of values.'],
    [null, "", "a schema must be an object, true or false."],
    [{ type: ["string", "nul"] }, "/type", '"nul" is not a type; use one of object, array'],
  ] as const
).map(([schema, at, says]) => {
  const document = withSchema({ type: "object", properties: { a: schema } });
  const place = `${SCHEMA}/properties/a${at}: `;
  return row(`the schema ${JSON.stringify(schema)}`, document, place, says);
});

const inPath = { name: "id", in: "path", required: true, schema: { type: "string" } };
const two = { ...inPath, name: "b" };
const header = (name: string) => ({ name, in: "header", schema: { type: "string" } });
const body = { required: true, content: { "application/json": { schema: { type: "object" } } } };
const NO_BODY = "requires a body, but fetch sends none";
const warned = [
  ...rowsOf(
    "document_invalid",
    row("a document of nothing but paths", openapi({}), "#/paths: the document has no operations"),
    row("a body of get", get({ operationId: "a", requestBody: body, responses: {} }), NO_BODY),
    row(
      "a body of head",
      openapi({ "/a": { head: { operationId: "a", requestBody: body, responses: {} } } }),
      NO_BODY,
    ),
    row(
      "a name in the path without a parameter",
      openapi({ "/{id}": { get: { operationId: "a", responses: {} } } }),
      "#/paths/~1{id}/get: ",
    ),
    row(
      "a path parameter that the path does not have",
      get({ operationId: "a", parameters: [inPath], responses: {} }),
      "#/paths/~1a/get: ",
    ),
    row(
      "two paths that differ only in the names of their parameters",
      openapi({
        "/{id}": { get: { operationId: "a", parameters: [inPath], responses: {} } },
        "/{b}": { get: { operationId: "b", parameters: [two], responses: {} } },
      }),
      "#/paths/~1{b}/get: ",
    ),
    row(
      "a parameter that is described twice",
      get({ operationId: "a", parameters: [header("X-A"), header("x-a")], responses: {} }),
      "#/paths/~1a/get/parameters/1: ",
    ),
    row(
      "a parameter with two media types",
      parameter({ content: { "application/json": {}, "text/plain": {} } }),
      "/content/text~1plain: ",
      "It is written as application/json",
    ),
  ),
  ...rowsOf(
    "scope_invalid",
    row(
      "a scope that is not area:read, area:write or area:execute",
      get({ operationId: "a", security: [{ token: ["write-schedules"] }] }),
      "#/paths/~1a/get/security",
    ),
  ),
  ...rowsOf(
    "part_ignored",
    row(
      "a server whose address is ignored",
      { ...openapi(ONE_OPERATION), servers: [{ url: "https://api.example/v2" }] },
      "#/servers/0: ",
    ),
    row(
      "a security scheme that is not the bearer",
      openapi(ONE_OPERATION, {
        securitySchemes: { key: { type: "apiKey", in: "header", name: "K" } },
      }),
      "#/components/securitySchemes/key: ",
    ),
    line(
      "what stands beside a reference",
      "paths: { /a: { get: { parameters: [{ $ref: '#/x-p', name: b }], operationId: a } } }\n" +
        "x-p: { name: p, in: query }",
      "#/paths/~1a/get/parameters/0: ",
      "is ignored: name",
    ),
    line(
      "an operation with TRACE",
      "paths: { /a: { trace: { operationId: a } } }",
      "#/paths/~1a/trace: fetch sends no TRACE",
    ),
    line(
      "what OpenAPI 3.2 adds to a path",
      "paths: { /a: { query: {}, get: { operationId: a } } }",
      "#/paths/~1a/query: ",
    ),
    line(
      "the other member that OpenAPI 3.2 adds to a path",
      "paths: { /a: { additionalOperations: {}, get: { operationId: a } } }",
      "#/paths/~1a/additionalOperations: ",
    ),
  ),
  ...rowsOf(
    "style_invalid",
    row(
      "a list in a deepObject",
      parameter({
        style: "deepObject",
        schema: { properties: { tags: { type: ["array", "null"] } } },
      }),
      "/0/schema/properties/tags: ",
      "calls with tags need querySerializer",
    ),
  ),
  ...rowsOf(
    "schema_unsupported",
    ...unchecked,
    row(
      "a parameter whose schema is null",
      parameter({ schema: null }),
      "#/paths/~1a/get/parameters/0/schema: ",
    ),
  ),
];

test.each(refused)("$name is refused with $code", async ({ document, code, says }) => {
  const { documents, out } = await sample(document);
  const error = await generate({ documents, out }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: "GenerateError", code, document: "a.yaml" });
  for (const text of says) expect((error as Error).message).toContain(text);
  expect(existsSync(out)).toBe(false);
});

test.each(warned)("$name is a warning, and with strict refused with $code", async (row) => {
  const { documents, out } = await sample(row.document);
  const notices: Notice[] = [];
  const onNotice = (notice: Notice) => void notices.push(notice);
  const { code, says } = row;
  await expect(generate({ documents, out, strict: true, onNotice })).rejects.toMatchObject({
    code,
  });
  expect(existsSync(out)).toBe(false);
  await generate({ documents, out, onNotice });
  const warnings = notices.filter(({ level }) => level === "warning");
  expect(warnings).toMatchObject([{ code, document: "a.yaml" }]);
  expect(warnings[0]?.message).toMatch(/^a\.yaml:\d+:\d+#\//);
  for (const text of says) expect(warnings[0]?.message).toContain(text);
});

test("a file that is missing is refused with document_unreadable", async () => {
  const { documents, out } = await sample(openapi(ONE_OPERATION));
  const missing = generate({ documents: { A: `${documents.A}.missing` }, out });
  await expect(missing).rejects.toMatchObject({ code: "document_unreadable" });
});

test.each([
  {
    name: "files that lead back to each other",
    files: { "part.yaml": "$ref: other.yaml\n", "other.yaml": "$ref: part.yaml\n" },
    code: "reference_circular",
    message: "other.yaml:1:1: part.yaml leads back to itself",
  },
  {
    name: "a folder",
    files: { "part.yaml/x.yaml": "" },
    code: "reference_missing",
    message: "a.yaml:3:14#/paths/~1a: part.yaml cannot be read: EISDIR",
  },
])("a reference to $name is refused", async ({ files, code, message }) => {
  const { documents, out } = await sample(`${START}paths: { /a: { $ref: part.yaml } }\n`);
  for (const [name, text] of Object.entries(files)) {
    const path = join(dirname(documents.A), name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  await expect(generate({ documents, out })).rejects.toMatchObject({ code, message });
});

describe("a run with several mistakes", () => {
  const missing = (name: string) => answer({ $ref: `#/components/schemas/${name}` });
  const paths = {
    "/a": { get: { operationId: "a", responses: missing("One") } },
    "/b": { get: { operationId: "a", responses: missing("Two") } },
    d: {},
  };

  test("reports all of them, of both documents, each once and with its line", async () => {
    const { documents, out } = await sample(openapi(paths), openapi({ "/e": { gte: {} } }));
    const error = await generate({ documents, out }).catch((cause) => cause);
    expect(error.errors.map(({ code }: { code: string }) => code).sort()).toEqual([
      "document_invalid",
      "document_invalid",
      "operation_id_duplicate",
      "reference_missing",
      "reference_missing",
    ]);
    for (const { message } of error.errors) {
      expect(message).toMatch(/^[ab]\.yaml:\d+:\d+#\//);
      expect(error.message.split("\n")).toContain(message);
    }
  });

  test("in the syntax of a file reports those", async () => {
    const error = await refusalOf("openapi: 3.1.0\na: !x 1\nb: !y 2\n");
    expect(error.errors).toHaveLength(2);
    expect(error.code).toBe("document_not_yaml");
  });
});

test("the lines of a JSON document are those of its text", async () => {
  const document = openapi({ "/a": { get: { operationId: "a", parameters: [{ name: "p" }] } } });
  for (const indent of [undefined, 2, "\t"]) {
    const text = JSON.stringify(document, undefined, indent);
    const before = text.slice(0, text.indexOf("{", text.indexOf('"parameters"'))).split("\n");
    const { message } = await refusalOf(text);
    expect(message).toContain(`a.yaml:${before.length}:${(before.at(-1) ?? "").length + 1}#`);
  }
});
