// The answers of an emulator: each is what the document allows, by Ajv and by the validator.
import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { readApi } from "../../src/generate/emit/emulation.js";
import { generate } from "../../src/generate/index.js";
import { jsonChecker } from "../../src/json-schema/index.js";
import { openapi, sample } from "./sample-documents.js";

type Answers = Record<string, { status: number; contentType?: string; body?: unknown }>;

const text = { type: "string" };
const whole = { type: "integer" };
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const components = {
  Node: object({ id: text, next: ref("Node") }, { required: ["id"] }),
  Nullable: object(
    { next: { oneOf: [ref("Nullable"), { type: "null" }] } },
    { required: ["next"] },
  ),
  Tree: object({ children: { type: "array", items: ref("Tree") } }, { required: ["children"] }),
  Ping: object({ pong: ref("Pong") }, { required: ["pong"] }),
  Pong: { anyOf: [object({ ping: ref("Ping") }, { required: ["ping"] }), { type: "string" }] },
  Colour: { type: "string", enum: ["red", "green", "blue"] },
  Endless: object({ next: ref("Endless") }, { required: ["next"] }),
  Cat: object({ pet: text, lives: whole }, { required: ["pet"] }),
  Dog: object({ pet: text, breed: text }, { required: ["pet"] }),
  Pet: {
    anyOf: [ref("Cat"), ref("Dog")],
    discriminator: {
      propertyName: "pet",
      mapping: { cat: "#/components/schemas/Cat", dog: "Dog" },
    },
  },
  Shape: object({ kind: text }, { required: ["kind"], discriminator: { propertyName: "kind" } }),
  Circle: { allOf: [ref("Shape"), object({ radius: whole })] },
  Item: object(
    { kind: { type: "string", enum: ["movie", "show"] } },
    { required: ["kind"], discriminator: { propertyName: "kind" } },
  ),
  Detail: { allOf: [ref("Item"), object({ length: whole })] },
};

async function answersTo(content: object, status: string | number = 200) {
  const get = { operationId: "get", responses: { [status]: { description: "Answer.", content } } };
  const { documents, out } = await sample(
    openapi({}),
    openapi({ "/v1/things": { get: { ...get, security: [] } } }, { schemas: components }),
  );
  const api = await readApi({ B: documents.B });
  const { emulation } = (await api.emulation()) as { emulation: { B: Answers } };
  return { answer: emulation.B.get, api, documents, out };
}

const answerTo = async (schema: object) =>
  (await answersTo({ "application/json": { schema } })).answer?.body;

// Some patterns are legal only without the flag.
const ajv = new Ajv2020({ strict: false, unicodeRegExp: false });
addFormats.default(ajv);
ajv.addSchema(openapi({}, { schemas: components }), "document");
const allows = (schema: object, value: unknown) =>
  ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')))(value);

/** What the validator finds. */
const issuesOf = (schema: object, value: unknown) => {
  const definitions = JSON.stringify({ ...components, It: schema }).replaceAll(
    "#/components/schemas/",
    "#/$defs/",
  );
  return jsonChecker(JSON.parse(definitions))("It")(value);
};

const list = (items: object, more: object) => ({ type: "array", items, ...more });
const formats = "date-time date time duration uuid email hostname uri uri-reference".split(" ");
const others = "url ipv4 ipv6 json-pointer byte int32 regex binary password".split(" ");
const ids = (...names: string[]) => ({ required: names });
const unique = { minItems: 4, uniqueItems: true };
const pattern = (text: string, more: object = {}) => ({ type: "string", pattern: text, ...more });

test.each([
  ...[list(text, { minItems: 3, uniqueItems: true }), list(whole, { minItems: 30 })],
  list(object({ id: whole, kind: ref("Colour") }), { minItems: 5, uniqueItems: true }),
  list({ type: "boolean" }, { minItems: 2, uniqueItems: true }),
  { type: "array", prefixItems: [text, whole], items: false, minItems: 2 },
  list(whole, { contains: { const: 7 }, minContains: 2, minItems: 3 }),
  ...[pattern("^[A-Z]{3}-\\d{4}$"), pattern("^a+$", { minLength: 30 }), pattern("[a-f\\d]{24}")],
  ...[pattern("^(?=.*\\d)[a-z\\d]{8,}$"), { ...text, minLength: 3000 }],
  ...[...formats, ...others].map((format) => ({ ...text, format })),
  ...formats.map((format) => list({ ...text, format }, unique)),
  object({ a: pattern("^[^\\\\\\_]*$", { minLength: 1 }) }, ids("a")),
  pattern("^arn:a\\-b:.+$", { minLength: 46 }),
  pattern("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.]){2,}[a-z]+$", { maxLength: 512 }),
  pattern("^\\$[-+*/%]?\\s[!-/]$"),
  { oneOf: [object({ a: text, kind: text }), object({ a: whole }), object({ c: text })] },
  { oneOf: [whole, { type: "number" }] },
  { oneOf: [text, { ...text, format: "date" }] },
  { ...object({ id: whole }, ids("id")), oneOf: [object({ a: text }), object({ b: text })] },
  { allOf: [ref("Colour"), { enum: ["blue", "black"] }] },
  { allOf: [object({ a: ref("Colour") }), object({ a: { enum: ["green"] } }, ids("a"))] },
  {
    allOf: [
      { type: "number", minimum: 3 },
      { ...whole, maximum: 4 },
    ],
    multipleOf: 2,
  },
  { ...whole, multipleOf: 7, minimum: 15, exclusiveMaximum: 22 },
  { type: "number", multipleOf: 0.25, minimum: 0.3, maximum: 0.6 },
  { type: "number", exclusiveMinimum: 1, exclusiveMaximum: 1.001 },
  { ...whole, maximum: -5 },
  object({}, { minProperties: 3, additionalProperties: whole }),
  object({}, { minProperties: 2, propertyNames: { pattern: "^x-" } }),
  object({ a: text, b: text }, { maxProperties: 1 }),
  ...["Node", "Nullable", "Tree", "Ping", "Pong", "Pet", "Circle", "Detail"].map(ref),
  object({ a: { type: ["string", "null"], example: null } }, ids("a")),
  { type: "string", format: "date", example: "soon", default: "later" },
])("a sample is allowed by its schema: %j", async (schema) => {
  const body = await answerTo(schema);
  const found = { body, allowed: allows(schema, body), issues: issuesOf(schema, body) };
  expect(found).toEqual({ body, allowed: true, issues: [] });
});

test.each([{ format: "byte" }, { contentEncoding: "base64" }])(
  "a sample of bytes as text (%j) is base64",
  async (schema) => {
    const body = String(await answerTo({ ...text, ...schema }));
    expect(Buffer.from(body, "base64").toString("base64")).toBe(body);
  },
);

test("recursion ends at the first legal place: an absent optional, null, an empty list, another alternative", async () => {
  expect(await answerTo(ref("Node"))).toEqual({ id: "text" });
  expect(await answerTo(ref("Nullable"))).toEqual({ next: null });
  expect(await answerTo(ref("Tree"))).toEqual({ children: [] });
  expect(await answerTo(ref("Ping"))).toEqual({ pong: "text" });
});

test("a sample has the name by which a discriminator tells its schema from others", async () => {
  expect(await answerTo(ref("Pet"))).toEqual({ pet: "cat", lives: 0 });
  expect(
    await answerTo({
      allOf: [ref("Pet"), object({ breed: { const: "Pug" } }, { required: ["breed"] })],
    }),
  ).toEqual({ pet: "cat", lives: 0, breed: "Pug" });
  expect(await answerTo(ref("Circle"))).toEqual({ kind: "Circle", radius: 0 });
  expect(await answerTo(ref("Shape"))).toEqual({ kind: "text" });
});

test("an example that its schema refuses is not served, and the next one is", async () => {
  const examples = { wrong: { value: 7 }, right: { value: "blue" } };
  const { answer } = await answersTo({ "application/json": { schema: ref("Colour"), examples } });
  expect(answer?.body).toBe("blue");
});

test("an operation whose answer has no sample is named, and so it is in the generated table", async () => {
  const { api, documents, out } = await answersTo({
    "application/json": { schema: ref("Endless") },
  });
  const reason =
    "no value is found that the schema #/components/schemas/Endless allows; give an example";
  const endless = { variant: "B", operationId: "get", method: "GET", path: "/v1/things", reason };
  expect(createEmulator({ api }).notSampled).toEqual([endless]);
  await generate({ documents, out });
  expect(await readFile(`${out}/operations.ts`, "utf8")).toContain(reason);
  const { api: shown } = await answersTo({ "application/json": { schema: ref("Node") } });
  expect(createEmulator({ api: shown }).notSampled).toEqual([]);
  const { api: parts } = await answersTo({ "multipart/mixed": { schema: ref("Node") } });
  expect(createEmulator({ api: parts }).notSampled).toMatchObject([
    { reason: "no multipart/mixed answer is made" },
  ]);
});

const device = object(
  {
    id: { ...whole, xml: { attribute: true } },
    tags: list(text, { xml: { wrapped: true } }),
    note: { const: "<&" },
  },
  { xml: { name: "device" } },
);
const xml =
  '<?xml version="1.0"?>\n<device ' +
  'id="0"><tags><tags>text</tags></tags><note>&lt;&amp;</note></device>';
test.each([
  { type: "text/plain", schema: text, body: "text" },
  { type: "application/xml", schema: device, body: xml },
  {
    type: "text/event-stream",
    schema: object({ event: text, data: text }),
    body: "event: text\ndata: text\n\n",
  },
  { type: "text/event-stream", schema: object({ id: whole }), body: 'data: {"id":0}\n\n' },
  { type: "text/event-stream", schema: text, body: "data: text\n\n" },
  { type: "application/xml", schema: text, body: '<?xml version="1.0"?>\n<root>text</root>' },
  { type: "application/x-ndjson", schema: list(whole, { minItems: 2 }), body: "0\n0\n" },
  { type: "application/json-seq", schema: whole, body: "\u001e0\n" },
  { type: "application/octet-stream", schema: { ...text, format: "binary" }, body: "text" },
  { type: "application/problem+json", schema: object({ title: text }), body: '{"title":"text"}' },
])("an answer has the documented media type, $type: $body", async ({ type, schema, body }) => {
  const { api } = await answersTo({ [type]: { schema } }, 203);
  const answer = await createEmulator({ api, variants: ["B"] }).fetch("/v1/things");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([203, type]);
  expect(await answer.text()).toBe(body);
});
