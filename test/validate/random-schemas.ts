// Random JSON Schemas in the form of a document, answers that nearly match them, and what Ajv and
// our validator say.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { transformSync } from "esbuild";
import fc from "fast-check";
import { expect } from "vitest";
import { readDocument } from "../../src/generate/document/read-document.js";
import { emitSchemas } from "../../src/generate/emit/schemas.js";
import { withOperations } from "../../src/generate/operations/list-operations.js";
import { isUnexpectedResponseError } from "../../src/index.js";
import * as jsonSchema from "../../src/json-schema/index.js";
import { type ValidationSchemas, validator } from "../../src/validate.js";

export type Schema = boolean | { readonly [keyword: string]: unknown };

const NAMES = ["a", "b", "c.d", "x-1", "", "hasOwnProperty", "isPrototypeOf", "\u{1F600}"];
const TEXTS = [
  ...["", "a", "b", "ab", "abc", "abcd", "x-1", " a", "a ", "a\n", "\t", "1"],
  ...["\u{1F600}", "\u{1F600}\u{1F600}", "\uD83D"],
  ...["https://a.example/x", "https://a.example/x\nurn:b", " https://a.example"],
  ...["https://a.example\t/b?c#d", "https://a.example/\u00FC", "http://a b", "a:b%2"],
  ...["urn:b", "/relative", "http://", "http://[::1]:8/%20?a=[1]"],
  ...["2020-02-29", "2020-02-30", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00"],
  ...["a@b.example", "a@b", "1.2.3.4", "::1", "1::2::3", "7f6f2a1e-6c0f-4f2b-9d0b-0e3c4d1a2b3c"],
];
const NUMBERS = [0, -0, 1, 2, 3, 1.5, -1, 10, 0.3, 2 ** 53 + 2, 1e20, 1e-7];
const PATTERNS = ["^a", "b", "^x-", "^[a-z]*$", "^(?:ab|c)+$", "\\d", ""];
const FORMATS = ["date", "date-time", "uuid", "email", "ipv4", "ipv6", "uri", "of our own"];
const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const COMPONENTS = {
  Text: { type: "string", minLength: 2 },
  Never: false,
  Any: true,
  Tree: {
    type: "object",
    properties: { a: { $ref: "#/components/schemas/Tree" } },
    required: ["b"],
  },
  Closed: { type: "object", properties: { a: { type: "string" } }, additionalProperties: false },
};

const one = <T>(values: readonly T[]) => fc.constantFrom(...values);
const scalar = fc.oneof(one<unknown>(TEXTS), one(NUMBERS), one([true, false, null]));
const few = { maxLength: 3 };
const count = fc.nat({ max: 3 });

/** The keywords that random schemas have, and the values of each. */
function keywords(schema: fc.Arbitrary<Schema>): Record<string, fc.Arbitrary<unknown>> {
  const list = fc.array(schema, { minLength: 1, maxLength: 3 });
  const map = (names: readonly string[]) => fc.dictionary(one(names), schema, { maxKeys: 3 });
  const type = fc.oneof(one(TYPES), fc.uniqueArray(one(TYPES), { minLength: 1, maxLength: 3 }));
  // Ajv accepts an empty list beside `prefixItems` although it contains nothing that `false`
  // allows.
  const contains = schema.filter((one) => one !== false);
  return {
    type,
    enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
    const: scalar,
    minLength: count,
    maxLength: count,
    pattern: one(PATTERNS),
    format: one(FORMATS),
    minimum: one(NUMBERS),
    maximum: one(NUMBERS),
    exclusiveMinimum: one(NUMBERS),
    exclusiveMaximum: one(NUMBERS),
    multipleOf: one([1, 2, 0.5]),
    items: schema,
    prefixItems: list,
    contains,
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    minContains: count,
    maxContains: count,
    properties: map(NAMES),
    patternProperties: map(PATTERNS),
    additionalProperties: schema,
    required: fc.uniqueArray(one(NAMES.filter((name) => name !== "" && !(name in {}))), few),
    propertyNames: schema,
    minProperties: count,
    maxProperties: count,
    allOf: list,
    anyOf: list,
    oneOf: list,
    dependentSchemas: map(NAMES),
    ...Object.fromEntries(
      ["not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems"].map((name) => [
        name,
        schema,
      ]),
    ),
    dependentRequired: fc.dictionary(one(NAMES), fc.uniqueArray(one(NAMES), few), { maxKeys: 2 }),
    $ref: one(Object.keys(COMPONENTS)).map((name) => `#/components/schemas/${name}`),
  };
}

/** Some keywords of one type together, others anywhere. */
const GROUPS = [
  ["properties", "required", "additionalProperties", "patternProperties", "minProperties"],
  ["properties", "propertyNames", "minProperties"],
  ["properties", "additionalProperties", "maxProperties", "allOf"],
  ["items", "prefixItems", "minItems", "maxItems"],
  ["items", "contains", "minContains", "maxContains", "uniqueItems"],
  ["minLength", "maxLength", "pattern", "format"],
  ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ["allOf", "anyOf", "oneOf", "$ref"],
  ["enum", "const", "$ref"],
  ["not", "if", "then", "else"],
  ["if", "then", "else", "properties", "required"],
  ["properties", "unevaluatedProperties", "allOf", "anyOf", "$ref"],
  ["prefixItems", "unevaluatedItems", "contains", "allOf", "oneOf"],
  ["dependentSchemas", "dependentRequired", "unevaluatedProperties", "not"],
];

/**
 * Ajv counts the members that a failed `if` has evaluated, against JSON Schema (Core, 10.2.2.1 and
 * 11).
 */
const isJudgedByAjv = (schema: Schema) =>
  !/"if":.*"unevaluated|"unevaluated.*"if":/.test(JSON.stringify(schema));

const schemas: fc.Arbitrary<Schema> = fc
  .letrec<{ schema: Schema }>((tie) => {
    const all = keywords(tie("schema"));
    const group = one(GROUPS).chain((names) =>
      fc.record(
        Object.fromEntries(
          [...names, "type"].map((name) => [name, all[name] as fc.Arbitrary<unknown>]),
        ),
        { requiredKeys: [] },
      ),
    );
    const mixed = fc
      .record(all, { requiredKeys: [] })
      .chain((whole) =>
        fc
          .subarray(Object.keys(whole), { maxLength: Math.min(5, Object.keys(whole).length) })
          .map((names) =>
            Object.fromEntries(names.map((name) => [name, whole[name as keyof typeof whole]])),
          ),
      );
    return {
      schema: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        { weight: 1, arbitrary: fc.boolean() },
        { weight: 6, arbitrary: group as fc.Arbitrary<Schema> },
        { weight: 2, arbitrary: mixed as fc.Arbitrary<Schema> },
      ),
    };
  })
  .schema.filter(isJudgedByAjv);

const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    { weight: 4, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 4 }) },
    { weight: 3, arbitrary: members(tie("value")) },
  ),
}));

/** As `JSON.parse` makes it, with `__proto__` as a member of its own. */
function members(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const name = fc.oneof(
    { weight: 12, arbitrary: one(NAMES) },
    { weight: 1, arbitrary: fc.constant("__proto__") },
  );
  return fc
    .array(fc.tuple(name, value), { maxLength: 4 })
    .map((entries) =>
      JSON.parse(
        `{${[...new Map(entries)].map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`)}}`,
      ),
    );
}

const answers: fc.Arbitrary<unknown> = anything;

export interface Checked {
  /**
   * Undefined where the code that Ajv makes fails, as for `if: false` beside lists in other
   * branches.
   */
  readonly witness: (answer: unknown) => boolean | undefined;
  /** What `strict` throws. */
  readonly check: (answer: unknown) => unknown;
}

const ajv = () =>
  addFormats.default(new Ajv2020({ strict: false, logger: false, ownProperties: true }));

export async function checkers(schema: Schema): Promise<Checked> {
  const content = { "application/json": { schema: { $ref: "#/components/schemas/It" } } };
  const responses = { 200: { description: "Answer.", content } };
  const document = {
    openapi: "3.1.0",
    info: { title: "Random", version: "1" },
    paths: { "/it": { get: { operationId: "it", responses } } },
    components: { schemas: { ...COMPONENTS, It: schema } },
  };
  const module = await emitted(document);
  const validate = validator("strict", module.schemas);
  const witness = ajv().addSchema(document, "it").compile({ $ref: "it#/components/schemas/It" });
  return {
    witness: (data) => {
      try {
        return witness(data) as boolean;
      } catch (fault) {
        if (fault instanceof ReferenceError) return undefined;
        throw fault;
      }
    },
    check: (data) => {
      try {
        return validate({ variant: "A", operationId: "it", status: 200, data } as never, () => {});
      } catch (error) {
        return error;
      }
    },
  };
}

async function emitted(document: object): Promise<{ readonly schemas: ValidationSchemas }> {
  const folder = mkdtempSync(join(tmpdir(), "random-"));
  try {
    const path = join(folder, "a.json");
    writeFileSync(path, JSON.stringify(document));
    const A = await readDocument("A", path);
    const B = await readDocument("B", path);
    const text = emitSchemas([A, B].map(withOperations));
    const { code } = transformSync(text, { loader: "ts", format: "cjs" });
    const module = { exports: {} as { readonly schemas: ValidationSchemas } };
    new Function("require", "module", code)(() => jsonSchema, module);
    return module.exports;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * For each schema and each answer: the validator throws its own error, exactly where Ajv refuses
 * the answer.
 */
export const agreesWithAjv: fc.IAsyncProperty<[Schema, unknown[]]> = fc.asyncProperty(
  schemas,
  fc.array(answers, { minLength: 20, maxLength: 20 }),
  async (schema, list) => {
    const { witness, check } = await checkers(schema);
    for (const answer of list) {
      const thrown = check(answer);
      if (thrown !== undefined)
        expect(isUnexpectedResponseError(thrown) && thrown.code).toBe("response_shape");
      const valid = thrown === undefined;
      expect({ answer, valid }).toEqual({ answer, valid: witness(answer) ?? valid });
    }
  },
);
