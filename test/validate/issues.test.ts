// What a reader of an issue learns: the place, what is expected there, and of a union the branch
// that is meant.
import { describe, expect, test } from "vitest";
import { jsonChecker, jsonSchemas } from "../../src/json-schema/index.js";

const text = { type: "string" };
const whole = { type: "integer" };
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const ref = (name: string) => ({ $ref: `#/$defs/${name}` });
const conditional = (...schemas: unknown[]) =>
  Object.fromEntries(["if", "then", "else"].map((name, index) => [name, schemas[index]]));
const definitions = {
  Cat: object({ kind: text, claws: whole }, { required: ["kind", "claws"] }),
  Dog: object({ kind: text, barks: { type: "boolean" } }, { required: ["kind", "barks"] }),
  Circle: object({ shape: { const: "circle" }, radius: { type: "number", minimum: 0 } }),
  Square: object({ shape: { enum: ["square"] }, side: { type: "number" } }),
  Named: object({ name: text }, { required: ["name"] }),
  Numbered: object({ number: whole }, { required: ["number"] }),
};
const pets = [ref("Cat"), ref("Dog")];
const byKind = (mapping?: object) => {
  return { oneOf: pets, discriminator: { propertyName: "kind", mapping } };
};
const mapped = byKind({ cat: "#/$defs/Cat", dog: "#/$defs/Dog" });

function issuesOf(schema: unknown, value: unknown): string[] {
  const check = jsonChecker({ ...definitions, It: schema })("It");
  return check(value).map(({ place, message }) => `${place}: ${message}`);
}

describe("an issue", () => {
  const row = (schema: unknown, value: unknown, says: string) => ({ schema, value, says });
  test.each([
    row(text, 7, "$: expected string"),
    row({ type: ["string", "null"] }, 7, "$: expected string or null"),
    row({ enum: ["a", null, { b: 1 }] }, 7, '$: expected "a", null or {"b":1}'),
    row({ minLength: 2 }, "a", "$: expected at least 2 characters"),
    row({ pattern: "^a" }, "b", "$: expected the format ^a"),
    row({ exclusiveMinimum: 1 }, 1, "$: expected more than 1"),
    row({ multipleOf: 0.01 }, 0.015, "$: expected a multiple of 0.01"),
    row({ items: whole }, [1, "a"], "$[1]: expected integer"),
    row({ uniqueItems: true }, [{ a: 1 }, { a: 1 }], "$: expected entries that all differ"),
    row({ contains: whole }, ["a"], "$: expected at least 1 entries of a documented shape"),
    row(object({ "x-a b": text }), { "x-a b": 1 }, '$["x-a b"]: expected string'),
    row(ref("Named"), {}, "$.name: expected string (missing)"),
    row({ required: ["a"] }, {}, "$.a: expected a value (missing)"),
    row({ additionalProperties: text }, { secret: 1 }, "$[*]: expected string"),
    row({ additionalProperties: false }, { secret: 1 }, "$: expected no other properties"),
    row({ unevaluatedProperties: false }, { secret: 1 }, "$[*]: expected no value"),
    row({ propertyNames: { maxLength: 2 } }, { secret: 1 }, "$: expected other property names"),
    row({ not: text }, "a", "$: expected a value that the document does not rule out"),
    row(conditional(text, { minLength: 2 }, true), "a", "$: expected at least 2 characters"),
  ])("of $schema says $says", ({ schema, value, says }) => {
    expect(issuesOf(schema, value)).toEqual([says]);
  });

  test("that two members of an allOf have is one issue", () => {
    expect(issuesOf({ allOf: [ref("Cat"), ref("Dog")] }, 7)).toEqual(["$: expected object"]);
  });

  test("of zod has the names of the data in its path, as an issue of zod's own schemas has", () => {
    const schema = jsonSchemas({ It: { additionalProperties: text } })("It")();
    const issue = { code: "custom", path: ["secret"], message: "expected string" };
    expect(schema.safeParse({ secret: 1 }).error?.issues).toMatchObject([issue]);
  });
});

describe("what no branch of a union allows", () => {
  const [catOrNull, named] = [
    [ref("Cat"), { type: "null" }],
    [ref("Named"), ref("Numbered")],
  ];
  const several = "$: expected only one of the documented shapes, but it has several: ";
  const owner = object({ pet: mapped, type: { const: "owner" } });
  const shops = [owner, object({ type: { const: "shop" } })];
  test.each<{ name: string; schema: unknown; value: unknown; says: string }>([
    {
      name: "is wrong in the branch that the discriminator maps to",
      schema: mapped,
      value: { kind: "cat", claws: "many" },
      says: "$.claws: expected integer (as Cat)",
    },
    {
      name: "is wrong in the branch whose name is the discriminator's value",
      schema: byKind(),
      value: { kind: "Dog" },
      says: "$.barks: expected boolean (missing) (as Dog)",
    },
    {
      name: "has another value in the discriminator",
      schema: mapped,
      value: { kind: "secret" },
      says: '$.kind: expected "cat" or "dog"',
    },
    {
      name: "is wrong in the one branch of its type",
      schema: { anyOf: catOrNull },
      value: { kind: "cat" },
      says: "$.claws: expected integer (missing)",
    },
    {
      name: "is of none of the types",
      schema: { anyOf: [...catOrNull, text] },
      value: 7,
      says: "$: expected object, null or string",
    },
    {
      name: "is wrong in the one branch with its constant",
      schema: { oneOf: [ref("Circle"), ref("Square")] },
      value: { shape: "circle", radius: -1 },
      says: "$.radius: expected at least 0 (as Circle)",
    },
    {
      name: "is wrong in the one branch whose required members it has",
      schema: { oneOf: named },
      value: { number: "secret" },
      says: "$.number: expected integer (as Numbered)",
    },
    {
      name: "may be meant for several branches",
      schema: { anyOf: named },
      value: {},
      says: "$: expected one of the documented shapes: Named, Numbered",
    },
    {
      name: "is of several branches, where only one may be",
      schema: { oneOf: [...named, text] },
      value: { name: "a", number: 1 },
      says: `${several}Named, Numbered`,
    },
    {
      name: "is wrong in a branch of a branch",
      schema: { oneOf: shops },
      value: { type: "owner", pet: { kind: "cat", claws: null } },
      says: "$.pet.claws: expected integer (as Cat) (as shape 1)",
    },
  ])("$name", ({ schema, value, says }) => {
    const issues = issuesOf(schema, value);
    expect(issues).toEqual([says]);
    expect(issues.join()).not.toContain("secret");
  });
});

describe("the cost does not explode", () => {
  const levels = 300;
  const chain = (value: unknown) =>
    Array.from({ length: levels }).reduce((next: unknown) => ({ next }), value);
  const next = object({ next: ref("It") });

  test.each([
    { anyOf: [next, { ...next, minProperties: 0 }, whole] },
    { allOf: [next, { ...next, maxProperties: 1 }] },
    { anyOf: [next, next, whole], unevaluatedProperties: false },
    conditional(next, next, next),
  ])("with a schema that contains itself several times: %o", (schema) => {
    // Each level would double the work: no test would see the end of 2^300 steps.
    const check = jsonChecker({ It: { ...schema, type: ["object", "integer"] } })("It");
    expect(check(chain({}))).toEqual([]);
    expect(check(chain("wrong"))).toHaveLength(1);
  });

  test("with more than a thousand wrong rows, of which the first thousand are found", () => {
    const rows = Array.from({ length: 100_000 }, () => ({}));
    expect(jsonChecker({ ...definitions, It: { items: ref("Named") } })("It")(rows)).toHaveLength(
      1000,
    );
  });

  test("with an object that contains itself", () => {
    const loop: Record<string, unknown> = {};
    loop.next = loop;
    const message = "cannot be checked, because it is nested too deeply or too long";
    expect(jsonChecker({ It: next })("It")(loop)).toEqual([{ path: [], place: "$", message }]);
  });
});
