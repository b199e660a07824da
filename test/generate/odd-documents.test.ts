// Documents as people write them by hand: merges, empty parts, references to any place, and parts
// of another shape. Each is read as it was meant.
import { describe, expect, test } from "vitest";
import { generated, json, openapi, START } from "./sample-documents.js";

const done = 'responses: { "200": { description: Done. } }';
const get = (id: string, more = "") => `get: { operationId: ${id}, ${more}${done} }`;

test("a YAML document may have merge keys, as most readers of YAML take them", async () => {
  const paths = "paths: { /a: { get: { <<: *base, operationId: a } } }";
  const { text } = await generated(`${START}x-base: &base { ${done} }\n${paths}\n`);
  expect(await text("operations.ts")).toContain("success: {\n      200: undefined;");
});

test("a key with nothing behind it is an empty part", async () => {
  const { notices, text } = await generated(`${START}paths:
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
`);
  expect(notices).toEqual([]);
  expect(await text("variant-a.ts")).toContain('"application/json": unknown;');
});

test("a keyword with a value of the wrong kind is a warning, and the types do without it", async () => {
  const schemas = {
    A: { type: "object", properties: ["a"], required: "a" },
    B: { properties: { enum: { type: "string" }, required: { type: ["integer", 3] } } },
    C: { const: { enum: "a", title: 3 } },
  };
  const { notices, text } = await generated(openapi({}, { schemas }));
  expect(notices.map(({ pointer }) => pointer?.replace("/components/schemas/", ""))).toEqual(
    expect.arrayContaining(["A/properties", "A/required", "B/properties/required/type"]),
  );
  const types = await text("variant-a.ts");
  for (const kept of ["enum?: string;", 'enum: "a";', "title: 3;"]) expect(types).toContain(kept);
});

test("a comment may be a number, a date or a list for YAML", async () => {
  const schema = "{ title: 2020-01-01, type: object, properties: { title: { type: string } } }";
  const { text } = await generated(
    `${START}paths: { /a: { ${get("a", "summary: 404, description: [One, two], ")} } }
components: { schemas: { A: ${schema} } }\n`,
  );
  const types = await text("variant-a.ts");
  for (const part of ["404", "One,two", "2020-01-01", "title?: string;"])
    expect(types).toContain(part);
});

describe("a reference", () => {
  test("of a path item may stand beside operations of its own", async () => {
    const beside = `/a: { $ref: "#/components/pathItems/P", post: { operationId: b, ${done} } }`;
    const { text } = await generated(
      `${START}paths: { ${beside} }\ncomponents: { pathItems: { P: { ${get("a")} } } }\n`,
    );
    const types = await text("variant-a.ts");
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
    const { text } = await generated(openapi({}, { schemas: { A: { properties }, B } }));
    expect(await text("variant-a.ts")).toContain('responses?: components["schemas"]["headers"];');
  });

  test("inside of an extension may lead to a file that is missing, which is a warning", async () => {
    const { notices } = await generated(
      `${START}x-b: { $ref: none.yaml }\npaths: { /a: { ${get("a")} } }\n`,
    );
    expect(notices).toMatchObject([
      { level: "warning", code: "reference_missing", pointer: "/x-b" },
      { level: "warning", code: "reference_external", pointer: "/x-b" },
    ]);
  });
});

test("an example that its schema refuses is a warning, also among `examples` and by reference", async () => {
  const answer = (more: object) => {
    const [media] = Object.values(json({ type: "integer" }));
    return { description: "Answer.", content: { "application/json": { ...media, ...more } } };
  };
  const responses = {
    200: answer({ example: "one" }),
    201: answer({ examples: { a: { value: 1 }, b: { value: "two" } } }),
    202: answer({ examples: { c: { $ref: "#/components/examples/C" } } }),
  };
  const paths = { "/a": { get: { operationId: "a", responses } } };
  const document = openapi(paths, { examples: { C: { value: "three" } } });
  const { notices, text } = await generated(document);
  const at = (pointer: string) => ({ level: "warning", code: "example_invalid", pointer });
  expect(notices).toMatchObject([
    at("/paths/~1a/get/responses/200/content/application~1json/example"),
    at("/paths/~1a/get/responses/201/content/application~1json/examples/b/value"),
    at("/components/examples/C/value"),
  ]);
  expect(await text("emulation.ts")).not.toContain("one");
  const strict = generated(document, { strict: true });
  await expect(strict).rejects.toMatchObject({ code: "example_invalid" });
});
