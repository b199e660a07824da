// Schemas of samples: each sample is valid, nothing in them is a value, and hostile samples end.
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  exampleFor,
  inferSchema,
  type JsonSchema,
  mergeObserved,
} from "../../src/contract/learning/schema.js";

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const isValid = (schema: JsonSchema, value: unknown) => ajv.validate(schema, value);
const examplesOf = (schema: JsonSchema) =>
  ([0, 1, 2] as const).map((index) => exampleFor(schema, index));
const string = { type: "string" };
const door = (id: string) => ({ id, battery: 3 });
const mapOf = (additionalProperties: object) => ({ type: "object", additionalProperties });
const objectOf = (properties: object, required = Object.keys(properties).sort()) => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
});
const deep = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
/** The same few names, again and again, and longer and longer ones. */
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => [
    `name${"abcdefghij"[index % 10]}x${"y".repeat(Math.floor(index / 10))}`.slice(0, 40),
    index % 2 === 0 ? 1 : "a",
  ]);

const integer = { type: "integer" };
const nullOrNumber = { type: ["null", "number"] };
const textOrInteger = { type: ["integer", "string"] };
const arrayOf = (items: object) => ({ type: "array", items });
const batteries = mapOf(objectOf({ battery: integer }));
const doors = mapOf(objectOf({ battery: integer, id: string }));
const beside = (properties: object) => ({
  ...objectOf(properties),
  additionalProperties: { type: "boolean" },
});
const either = { anyOf: [textOrInteger, objectOf({ id: string })] };
const named = objectOf({ id: string, name: string }, ["id"]);
const withoutName = [[{ id: "a", name: "b" }], [{ id: "c" }]];
const byName = { front: door("front"), back: door("back") };
const oneEach = [..."abcdef"].map((name) => ({ [name]: door("x") }));
const mixed = { id: "a", size: 1, "Front door": true };
const odd = JSON.parse('{ "__proto__": true, "id": "a", "valueOf": false }');
const days = [{ "2026-01-02": 1 }, { today: 2.5 }];

/** Samples of one operation, and the schema of all of them. */
const samples: readonly (readonly [name: string, values: readonly unknown[], schema: object])[] = [
  ["a member that one answer lacks is not required", withoutName, arrayOf(named)],
  ["integers, numbers and null are number or null", [[1], [1.5], [null]], arrayOf(nullOrNumber)],
  ["an empty list adds nothing to a list with items", [[], ["a"]], arrayOf(string)],
  ["only empty lists leave the items open", [[], []], { type: "array" }],
  ["items of several types are alternatives", [["a", 1, { id: "b" }]], arrayOf(either)],
  ["names are sorted", [{ b: 1, a: 1 }], objectOf({ a: integer, b: integer })],
  ...[
    ["e-mail addresses", "ada@example.com", "eve@example.com"],
    ["dates", "2026-01-02", "2026-01-03"],
    ["names with four digits", "x4815y", "x6234z"],
    ["numbers at the end", "device-1", "device-2"],
    ["numbered names", "room1", "room2"],
    ["texts", "Front door", "Back door"],
  ].map(([kind, ...names]) => {
    const value = Object.fromEntries(names.map((name) => [name, { battery: 3 }]));
    return [`an object keyed by ${kind} is a map`, [value], batteries] as const;
  }),
  ["an object whose members repeat their names is a map", [byName], doors],
  ["many members of one shape in several answers are a map", oneEach, doors],
  ["a map in one answer and fields in another are a map", days, mapOf({ type: "number" })],
  ["a name that may be a value is not a field", [mixed], beside({ id: string, size: integer })],
  ["members named __proto__ and valueOf are not shown", [odd], beside({ id: string })],
  ["thousands of members are a map", [Object.fromEntries(many(5_000))], mapOf(textOrInteger)],
  [
    // Longer than the time limit of a test, if the time grows with the square of their number.
    "fifty thousand objects in a list are described like one",
    [Array.from({ length: 50_000 }, () => ({ id: "a" }))],
    arrayOf(objectOf({ id: string })),
  ],
];

describe("the schema of samples", () => {
  test.each(samples)("%s", (_, values, schema) => {
    const merged = mergeObserved(values.map((value) => inferSchema(value)));
    expect(merged).toEqual(schema);
    for (const value of values) expect(isValid(merged, value)).toBe(true);
  });

  test("a known id is not shown as the name of a member", () => {
    const schema = inferSchema({ acme: [door("a")] }, new Set(["acme"]));
    expect(schema).toEqual(mapOf(arrayOf(objectOf({ battery: integer, id: string }))));
  });

  test("a sample that is nested 100,000 levels deep has a small schema", () => {
    const value = deep(100_000);
    const schema = inferSchema(value);
    expect(JSON.stringify(schema).length).toBeLessThan(500);
    expect(mergeObserved([schema, schema])).toEqual(schema);
  });

  test("a sample whose schema would be very large may be anything, also beside other samples", () => {
    const tree = (levels: number): unknown =>
      levels === 0 ? 1 : { left: tree(levels - 1), right: tree(levels - 1) };
    expect(inferSchema(tree(12))).toEqual({});
    expect(mergeObserved([inferSchema(tree(3)), inferSchema(tree(12))])).toEqual({});
  });

  test("a schema from a file that is not one of these is ignored", () => {
    const foreign = ["a", { type: "file" }, { anyOf: [] }, { $ref: "#/a" }];
    expect(mergeObserved(foreign as never)).toEqual({});
    expect(mergeObserved([...foreign, { type: "string", const: "a secret" }] as never)).toEqual(
      string,
    );
  });

  test("every sample is valid against the merged schema, whatever the order of the samples", () => {
    const values = fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1, maxLength: 5 });
    const property = fc.property(values, (all) => {
      const schemas = all.map((value) => inferSchema(value));
      const merged = mergeObserved(schemas);
      for (const value of all) expect(isValid(merged, value)).toBe(true);
      expect(mergeObserved([merged, ...schemas])).toEqual(merged);
      expect(mergeObserved(schemas.toReversed())).toEqual(merged);
      expect(mergeObserved(JSON.parse(JSON.stringify(schemas)))).toEqual(merged);
    });
    fc.assert(property, { numRuns: 100 });
  });

  test("examples are valid, and their schema has the same examples", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const schema = inferSchema(value);
        const examples = examplesOf(schema);
        for (const example of examples) expect(isValid(schema, example)).toBe(true);
        const again = mergeObserved(examples.map((example) => inferSchema(example)));
        expect(examplesOf(again)).toEqual(examples);
      }),
      { numRuns: 100 },
    );
  });
});
