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
const byKind = (mapping?: object) => ({
  oneOf: pets,
  discriminator: { propertyName: "kind", mapping },
});
const mapped = byKind({ cat: "#/$defs/Cat", dog: "#/$defs/Dog" });

function issuesOf(schema: unknown, value: unknown): string[] {
  const check = jsonChecker({ ...definitions, It: schema })("It");
  return check(value).map(({ place, message }) => `${place}: ${message}`);
}

describe("an issue", () => {
  test.each([
    { schema: text, value: 7, says: "$: expected string" },
    { schema: { type: ["string", "null"] }, value: 7, says: "$: expected string or null" },
    { schema: { enum: ["a", null, { b: 1 }] }, value: 7, says: '$: expected "a", null or {"b":1}' },
    { schema: { minLength: 2 }, value: "a", says: "$: expected at least 2 characters" },
    { schema: { pattern: "^a" }, value: "b", says: "$: expected the format ^a" },
    { schema: { exclusiveMinimum: 1 }, value: 1, says: "$: expected more than 1" },
    { schema: { multipleOf: 0.01 }, value: 0.015, says: "$: expected a multiple of 0.01" },
    { schema: { items: whole }, value: [1, "a"], says: "$[1]: expected integer" },
    {
      schema: { uniqueItems: true },
      value: [{ a: 1 }, { a: 1 }],
      says: "$: expected entries that all differ",
    },
    {
      schema: { contains: whole },
      value: ["a"],
      says: "$: expected at least 1 entries of a documented shape",
    },
    {
      schema: object({ "x-a b": text }),
      value: { "x-a b": 1 },
      says: '$["x-a b"]: expected string',
    },
    { schema: ref("Named"), value: {}, says: "$.name: expected string (missing)" },
    { schema: { required: ["a"] }, value: {}, says: "$.a: expected a value (missing)" },
    { schema: { additionalProperties: text }, value: { secret: 1 }, says: "$[*]: expected string" },
    {
      schema: object({}, { additionalProperties: false }),
      value: { secret: 1 },
      says: "$: expected no other properties",
    },
    {
      schema: { unevaluatedProperties: false },
      value: { secret: 1 },
      says: "$[*]: expected no value",
    },
    {
      schema: { propertyNames: { maxLength: 2 } },
      value: { secret: 1 },
      says: "$: expected other property names",
    },
    {
      schema: { not: text },
      value: "a",
      says: "$: expected a value that the document does not rule out",
    },
    {
      schema: conditional(text, { minLength: 2 }, true),
      value: "a",
      says: "$: expected at least 2 characters",
    },
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
  test.each([
    {
      name: "is wrong in the branch that the discriminator maps to",
      ...{ schema: mapped, value: { kind: "cat", claws: "many" } },
      says: ["$.claws: expected integer (as Cat)"],
    },
    {
      name: "is wrong in the branch whose name is the discriminator's value",
      ...{ schema: byKind(), value: { kind: "Dog" } },
      says: ["$.barks: expected boolean (missing) (as Dog)"],
    },
    {
      name: "has another value in the discriminator",
      ...{ schema: mapped, value: { kind: "secret" } },
      says: ['$.kind: expected "cat" or "dog"'],
    },
    {
      name: "is wrong in the one branch of its type",
      ...{ schema: { anyOf: [ref("Cat"), { type: "null" }] }, value: { kind: "cat" } },
      says: ["$.claws: expected integer (missing)"],
    },
    {
      name: "is of none of the types",
      ...{ schema: { anyOf: [ref("Cat"), { type: "null" }, text] }, value: 7 },
      says: ["$: expected object, null or string"],
    },
    {
      name: "is wrong in the one branch with its constant",
      ...{
        schema: { oneOf: [ref("Circle"), ref("Square")] },
        value: { shape: "circle", radius: -1 },
      },
      says: ["$.radius: expected at least 0 (as Circle)"],
    },
    {
      name: "is wrong in the one branch whose required members it has",
      ...{ schema: { oneOf: [ref("Named"), ref("Numbered")] }, value: { number: "secret" } },
      says: ["$.number: expected integer (as Numbered)"],
    },
    {
      name: "may be meant for several branches",
      ...{ schema: { anyOf: [ref("Named"), ref("Numbered")] }, value: {} },
      says: ["$: expected one of the documented shapes: Named, Numbered"],
    },
    {
      name: "is of several branches, where only one may be",
      ...{
        schema: { oneOf: [ref("Named"), ref("Numbered"), text] },
        value: { name: "a", number: 1 },
      },
      says: ["$: expected only one of the documented shapes, but it has several: Named, Numbered"],
    },
    {
      name: "is wrong in a branch of a branch",
      schema: {
        oneOf: [
          object({ pet: mapped, type: { const: "owner" } }),
          object({ type: { const: "shop" } }),
        ],
      },
      value: { type: "owner", pet: { kind: "cat", claws: null } },
      says: ["$.pet.claws: expected integer (as Cat) (as shape 1)"],
    },
  ])("$name", ({ schema, value, says }) => {
    const issues = issuesOf(schema, value);
    expect(issues).toEqual(says);
    expect(issues.join()).not.toContain("secret");
  });
});

describe("the cost does not explode", () => {
  const levels = 300;
  const chain = (value: unknown) =>
    Array.from({ length: levels }).reduce((next: unknown) => ({ next }), value);
  const next = object({ next: ref("It") });

  test.each([
    {
      name: "alternatives that contain themselves",
      schema: { anyOf: [next, { ...next, minProperties: 0 }, whole] },
    },
    {
      name: "schemas that apply together and contain themselves",
      schema: { allOf: [next, { ...next, maxProperties: 1 }] },
    },
    {
      name: "alternatives with what they have not evaluated",
      schema: { anyOf: [next, next, whole], unevaluatedProperties: false },
    },
    { name: "a condition that contains itself", schema: conditional(next, next, next) },
  ])("with $name", ({ schema }) => {
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
