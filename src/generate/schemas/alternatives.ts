/**
 * What a schema says together with its `$ref`, `allOf`, `oneOf`, `anyOf` and `if`: each way to
 * allow a value as one plain schema.
 */
import { isDeepStrictEqual } from "node:util";
import { type Document, referred } from "../document/document.js";
import { isObject, type JsonObject, listOf, objectOf } from "../document/source-file.js";

const MOST_ALTERNATIVES = 64;

const union = (a: unknown, b: unknown) => [...new Set([...listOf(a), ...listOf(b)])];
const most = (a: unknown, b: unknown) => Math.max(Number(a), Number(b));
const least = (a: unknown, b: unknown) => Math.min(Number(a), Number(b));
const bothOf = (a: unknown, b: unknown) => (isDeepStrictEqual(a, b) ? a : { allOf: [a, b] });
const valuesInBoth = (a: unknown, b: unknown) =>
  listOf(a).filter((one) => listOf(b).some((other) => isDeepStrictEqual(one, other)));

function typesInBoth(a: unknown, b: unknown): unknown[] {
  const [left, right] = [[a].flat(), [b].flat()];
  const narrow = (from: unknown[], to: unknown[]) =>
    from.filter((name) => to.includes(name) || (name === "integer" && to.includes("number")));
  return union(narrow(left, right), narrow(right, left));
}

function membersOfBoth(a: unknown, b: unknown): JsonObject {
  const left = new Map(Object.entries(Object(a)));
  const merged = Object.entries(Object(b)).map(([name, schema]) => [
    name,
    left.has(name) ? bothOf(left.get(name), schema) : schema,
  ]);
  return { ...Object(a), ...Object.fromEntries(merged) };
}

/** What two schemas say together. Of any other keyword the value of the later one counts. */
const TOGETHER: Readonly<Record<string, (a: unknown, b: unknown) => unknown>> = {
  type: typesInBoth,
  enum: valuesInBoth,
  required: union,
  properties: membersOfBoth,
  patternProperties: membersOfBoth,
  items: bothOf,
  contains: bothOf,
  additionalProperties: bothOf,
  propertyNames: bothOf,
  minimum: most,
  exclusiveMinimum: most,
  minLength: most,
  minItems: most,
  minProperties: most,
  maximum: least,
  exclusiveMaximum: least,
  maxLength: least,
  maxItems: least,
  maxProperties: least,
  pattern: (a, b) => [a, b].flat(),
  multipleOf: (a, b) => (Number.isInteger(Number(a) / Number(b)) ? a : Number(a) * Number(b)),
  examples: (a, b) => [...listOf(a), ...listOf(b)],
};

/** Undefined if no value can be of both schemas. */
function together(a: JsonObject, b: JsonObject): JsonObject | undefined {
  const merged: Record<string, unknown> = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const combine = a[key] === undefined ? undefined : TOGETHER[key];
    merged[key] = combine === undefined ? value : combine(a[key], value);
  }
  const isEmpty = [merged.type, merged.enum].some(
    (list) => Array.isArray(list) && list.length === 0,
  );
  return isEmpty ? undefined : merged;
}

const found = new WeakMap<object, readonly JsonObject[]>();

/** The ways to allow a value, each as a schema without `$ref`, `allOf`, `oneOf` and `anyOf`. */
export function alternatives(document: Document, source: unknown): readonly JsonObject[] {
  if (source === false) return [];
  if (!isObject(source)) return [{}];
  const known = found.get(source);
  if (known !== undefined) return known;
  const { $ref, allOf, oneOf, anyOf, if: condition, then, else: otherwise, ...others } = source;
  const { const: only, example, examples, default: preset, ...rest } = others;
  const given = [example, ...listOf(examples), preset].filter((value) => value !== undefined);
  const plain: JsonObject = {
    ...rest,
    ...(given.length > 0 && { examples: given }),
    ...(only !== undefined && { enum: [only] }),
  };
  const target = typeof $ref === "string" ? [referred(document, $ref)] : [];
  const chosen =
    condition === undefined ? [] : [[{ allOf: [condition, then ?? true] }, otherwise ?? true]];
  const parts = [...target, ...listOf(allOf)].map((part) => alternatives(document, part));
  const choices = [oneOf, anyOf, ...chosen].filter((list) => Array.isArray(list));
  for (const list of choices.map(listOf)) {
    const tagged = list.flatMap((part) => discriminated(document, others.discriminator, part));
    parts.push([...tagged, ...list.flatMap((part) => alternatives(document, part))]);
  }
  // The example of one of several parts is not an example of the whole.
  const isPart = parts.length > 1 || others.properties !== undefined;
  let ways: readonly JsonObject[] = [{}];
  for (const part of parts) {
    const pairs = ways.flatMap((one) =>
      part.map((other) => together(one, isPart ? withoutExamples(other) : other)),
    );
    ways = pairs.filter((one) => one !== undefined).slice(0, MOST_ALTERNATIVES);
  }
  const tag = inheritedTag(document, source);
  // The values of the member may not be the names that its discriminator expects, and then any of
  // them will do.
  const own = tag === undefined ? [plain] : [{ ...plain, ...together(plain, tag) }, plain];
  const all = own
    .flatMap((one) => ways.map((way) => together(way, one)))
    .filter((one) => one !== undefined);
  found.set(source, all);
  return all;
}

/**
 * The member by which a discriminator tells a schema from others: its name in the mapping, else its
 * own.
 */
function tagOf(discriminator: unknown, reference: unknown): JsonObject | undefined {
  if (!isObject(discriminator) || typeof reference !== "string") return undefined;
  const { propertyName, mapping } = discriminator;
  if (typeof propertyName !== "string") return undefined;
  const name = reference.split("/").at(-1);
  const mapped = Object.entries(Object(mapping)).find(([, to]) => to === reference || to === name);
  const value = mapped?.[0] ?? name;
  return { properties: { [propertyName]: { enum: [value] } }, required: [propertyName] };
}

/** The alternatives of one part of a `oneOf` with the member that its discriminator expects. */
function discriminated(document: Document, discriminator: unknown, part: unknown): JsonObject[] {
  const tag = tagOf(discriminator, objectOf(part).$ref);
  if (tag === undefined) return [];
  const all = alternatives(document, part).map((one) => together(withoutExamples(one), tag));
  return all.filter((one) => one !== undefined);
}

/** Of a component whose `allOf` refers to a schema with a discriminator. */
function inheritedTag(document: Document, source: JsonObject): JsonObject | undefined {
  for (const part of listOf(source.allOf)) {
    if (!isObject(part) || typeof part.$ref !== "string") continue;
    const base = referred(document, part.$ref);
    if (!isObject(base) || !isObject(base.discriminator) || base.oneOf !== undefined) continue;
    const schemas = Object.entries(Object(Object(document.root.components).schemas));
    const name = schemas.find(([, schema]) => schema === source)?.[0];
    if (name !== undefined) return tagOf(base.discriminator, `#/components/schemas/${name}`);
  }
  return undefined;
}

function withoutExamples(schema: JsonObject): JsonObject {
  if (schema.properties === undefined) return schema;
  const { examples, ...rest } = schema;
  return rest;
}

/**
 * The reference, the `allOf` and the first alternative of `oneOf` and `anyOf` of a schema, in one.
 */
export function mergedSchema(document: Document, source: unknown): JsonObject {
  const all = alternatives(document, source);
  return all.find(({ type }) => type !== "null") ?? all[0] ?? {};
}
