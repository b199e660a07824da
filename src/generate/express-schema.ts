/**
 * Rewrites a JSON Schema (2020-12) into one that `z.fromJSONSchema` reads with the same meaning, or refuses it.
 *
 * zod reads one group of keywords at a time and drops the others without a word: what stands beside `$ref`, `enum` or
 * `const`, one of `anyOf` and `oneOf` where both stand, everything where `type` is missing, `required` without
 * `properties`. Here each group becomes a member of one `allOf`, and what has no equivalent fails.
 */
import { documentError, referenceTarget } from "./document.js";
import { expressObject } from "./express-object.js";
import { expressString } from "./express-string.js";
import type { Expression, Schema } from "./expression.js";
import { isObject, type JsonObject, pointerTo } from "./json-pointer.js";

const TYPES = ["object", "array", "string", "number", "boolean", "null"];

const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "description",
  // zod would apply a default and freeze what is read-only; validating must leave the instance as it is.
  "default",
  "readOnly",
  "writeOnly",
  "deprecated",
  "example",
  "examples",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "discriminator",
  "externalDocs",
  "xml",
  "$comment",
  // Reached by pointer where something refers to it.
  "$defs",
]);

// Keywords that hold for instances of one type, by that type.
const TYPED: ReadonlySet<string> = new Set([
  ...["properties", "required", "additionalProperties", "patternProperties", "propertyNames"],
  ...["minProperties", "maxProperties"],
  ...[
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
  ],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);

const COMBINING: ReadonlySet<string> = new Set([
  "$ref",
  "enum",
  "const",
  "type",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
]);

/** @throws {GenerateError} schema_unsupported, with the JSON pointer of the keyword. */
export function expressSchema(source: unknown, pointer: string, to: Expression): Schema {
  if (typeof source === "boolean") return source;
  if (!isObject(source)) throw documentError(to.document, "schema_unsupported", pointer, "is no schema");
  const keywords = Object.keys(source).filter((key) => !ANNOTATIONS.has(key) && !key.startsWith("x-"));
  for (const key of keywords) {
    if (TYPED.has(key) || COMBINING.has(key)) continue;
    throw unsupported(
      to,
      pointerTo(pointer, key),
      `the keyword ${JSON.stringify(key)} cannot be expressed in zod`,
    );
  }
  const members: Schema[] = [];
  if (source.not !== undefined) members.push(expressNot(source.not, pointerTo(pointer, "not"), to));
  if (typeof source.$ref === "string") {
    const name = to.nameOf(referenceTarget(to.document, source.$ref, pointer));
    members.push({ $ref: `#/$defs/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` });
  }
  for (const key of ["enum", "const"]) {
    if (source[key] !== undefined) members.push(expressValues(source, key, pointer, to));
  }
  members.push(...expressTyped(source, keywords, pointer, to));
  for (const key of ["anyOf", "oneOf"]) {
    if (source[key] !== undefined)
      members.push({ [key]: expressList(source[key], pointerTo(pointer, key), to) });
  }
  if (source.allOf !== undefined) members.push(...expressList(source.allOf, pointerTo(pointer, "allOf"), to));
  if (members.length === 0) return {};
  return members.length === 1 && members[0] !== undefined ? members[0] : { allOf: members };
}

/** `{ not: {} }` is how documents write "never"; nothing else of `not` has an equivalent. */
function expressNot(not: unknown, pointer: string, to: Expression): Schema {
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return false;
  throw unsupported(to, pointer, 'the keyword "not" cannot be expressed in zod');
}

function expressValues(source: JsonObject, key: string, pointer: string, to: Expression): Schema {
  const values = key === "enum" && Array.isArray(source.enum) ? source.enum : [source[key]];
  if (values.some((value) => typeof value === "object" && value !== null)) {
    throw unsupported(to, pointerTo(pointer, key), "objects and arrays as values cannot be expressed in zod");
  }
  return { [key]: source[key] };
}

function expressList(list: unknown, pointer: string, to: Expression): Schema[] {
  if (!Array.isArray(list) || list.length === 0) throw unsupported(to, pointer, "must be a list of schemas");
  return list.map((member, index) => expressSchema(member, pointerTo(pointer, index), to));
}

/** The keywords that depend on the type. Without `type` they bind only instances of theirs: all types are named. */
function expressTyped(
  source: JsonObject,
  keywords: readonly string[],
  pointer: string,
  to: Expression,
): Schema[] {
  const typed = keywords.filter((key) => TYPED.has(key));
  if (source.type === undefined && typed.length === 0) return [];
  if (typed.length === 0 && valuesHaveType(source)) return [];
  const type = source.type ?? TYPES;
  const schema: Record<string, unknown> = { type };
  for (const key of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
    if (source[key] !== undefined) schema[key] = source[key];
  }
  for (const key of ["minItems", "maxItems", "uniqueItems", "minContains", "maxContains"]) {
    if (source[key] !== undefined) schema[key] = source[key];
  }
  for (const key of ["items", "contains"]) {
    if (source[key] !== undefined) schema[key] = expressSchema(source[key], pointerTo(pointer, key), to);
  }
  if (source.prefixItems !== undefined) {
    schema.prefixItems = expressList(source.prefixItems, pointerTo(pointer, "prefixItems"), to);
  }
  Object.assign(schema, expressObject(source, pointer, { ...to, express: expressSchema }));
  const [pattern, ...morePatterns] = expressString(source, pointer, to);
  Object.assign(schema, pattern);
  return [schema, ...morePatterns.map((more) => ({ type, ...more }))];
}

/** Whether `type` says no more than the listed values already do. */
function valuesHaveType(source: JsonObject): boolean {
  const values = Array.isArray(source.enum)
    ? source.enum
    : source.const !== undefined
      ? [source.const]
      : undefined;
  const types = [source.type].flat();
  return values?.every((value) => types.some((type) => hasType(value, type))) ?? false;
}

function hasType(value: unknown, type: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type && value !== null;
}

function unsupported(to: Expression, pointer: string, message: string): Error {
  return documentError(to.document, "schema_unsupported", pointer, message);
}
