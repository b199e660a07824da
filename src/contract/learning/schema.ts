/**
 * JSON Schemas of observed values (2020-12). They hold names and types, never a value. Names can be values too: the
 * members of an object that is keyed by ids, dates or e-mail addresses become `additionalProperties`.
 */
import { createSchema, mergeSchemas, type Schema } from "genson-js";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Deeper values are described as an object or an array, without what is in it. */
const mostLevels = 12;
/** A value whose schema is larger has the schema `{}`, which allows anything. */
const mostCharacters = 50_000;
/** An object with more members is a map. So is one with these many members of one shape or of one simple type. */
const mostMembers = 200;
const alikeShapes = 6;
const alikeValues = 40;

/**
 * Stand for the members of a map, and for members beside fields whose names may be values, while genson-js merges: it
 * knows no `additionalProperties`. Each holds a list. No field has such a name.
 */
const mapName = "*";
const othersName = "?";

/**
 * Infers the schema of a JSON value. `ids` are known ids, which as names of members are values.
 *
 * @example
 * inferSchema([{ id: "door" }]); // { type: "array", items: { type: "object", properties: { id: { type: "string" } }, ... } }
 */
export function inferSchema(value: unknown, ids: ReadonlySet<string> = new Set()): JsonSchema {
  const schema = fromGenson(createSchema(withoutNames(value, ids, mostLevels)) as Inferred);
  return JSON.stringify(schema).length > mostCharacters ? {} : schema;
}

/** Merges the schemas of several answers: a member that one of them lacks is not required. */
export function mergeObserved(schemas: readonly JsonSchema[]): JsonSchema {
  const known = schemas.flatMap((schema) => toGenson(schema, 0) ?? []);
  const isOpen = schemas.some((schema) => Object.keys(Object(schema)).length === 0);
  return isOpen || known.length === 0 ? {} : fromGenson(merge(known));
}

/** Whether the name may be shown: a field's name, and not a date, an address, or an id. */
export function isFieldName(name: string, ids: ReadonlySet<string> = new Set()): boolean {
  // Validators and genson-js read a name of Object.prototype, such as valueOf, from every object.
  const isWord = /^[$@_\p{L}][\p{L}\p{N}_.:$-]{0,39}$/u.test(name) && !(name in Object.prototype);
  const digits = name.match(/\p{N}/gu)?.length ?? 0;
  return isWord && !ids.has(name) && digits < 4 && !/[-.:]\p{N}+$/u.test(name);
}

/** Replaces names that may be values, with `mapName` or `othersName`, and bounds the depth. */
function withoutNames(value: unknown, ids: ReadonlySet<string>, levels: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  const inside = (member: unknown) => withoutNames(member, ids, levels - 1);
  if (Array.isArray(value)) return levels > 0 ? value.map(inside) : [];
  if (levels === 0) return {};
  const members = Object.entries(value);
  const stems = sharedStems(Object.keys(value));
  // Neither of `{ ada: { userId: "ada" } }` nor of `{ room1: {}, room2: {} }`.
  const isField = ([name, member]: [string, unknown]) => {
    if (!isFieldName(name, ids)) return false;
    if (typeof member !== "object" || member === null) return true;
    return !Object.values(member).includes(name) && !stems.has(stemOf(name));
  };
  const fields = members.filter(isField);
  const others = members.filter((member) => !isField(member));
  const kinds = new Set(members.map(([, member]) => kindOf(member)).filter((kind) => kind !== "null"));
  const isMap = others.length > 0 && (fields.length === 0 || kinds.size === 1);
  if (isMap) return { [mapName]: members.map(([, member]) => inside(member)) };
  const named = fields.map(([name, member]) => [name, inside(member)]);
  if (others.length > 0) named.push([othersName, others.map(([, member]) => inside(member))]);
  return Object.fromEntries(named);
}

/** `room1` and `room2` have one stem. */
function sharedStems(names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const stem of names.map(stemOf)) (seen.has(stem) ? shared : seen).add(stem);
  return shared;
}

const stemOf = (name: string) => name.replace(/^(.*\P{N})?\p{N}+$/su, "$1#");

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** What genson-js makes: names of types, no other keyword. */
interface Inferred {
  readonly type?: string | readonly string[];
  readonly items?: Inferred;
  readonly properties?: Readonly<Record<string, Inferred>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Inferred[];
}

const merge = (schemas: readonly Inferred[]) => mergeSchemas(schemas as Schema[]) as Inferred;

/** Sorts the names, and describes maps as JSON Schema does. */
function fromGenson({ type, items, properties, required = [], anyOf }: Inferred): JsonSchema {
  if (anyOf !== undefined) return { anyOf: anyOf.map(fromGenson) };
  if (items !== undefined) return { type, items: fromGenson(items) };
  if (properties === undefined) return { type };
  const { [mapName]: map, [othersName]: others, ...fields } = properties;
  const schemas = Object.values(fields);
  const unnamed = [map, others].flatMap((list) => list?.items ?? []);
  if (map !== undefined || isMap(schemas)) {
    const all = merge([...unnamed, ...schemas]);
    return { type, additionalProperties: fromGenson(all) };
  }
  const names = Object.keys(fields).sort();
  const sorted = names.map((name) => [name, fromGenson(fields[name] ?? {})]);
  const needed = required.filter((name) => name !== othersName).sort();
  return {
    type,
    properties: Object.fromEntries(sorted),
    ...(needed.length > 0 && { required: needed }),
    ...(unnamed.length > 0 && { additionalProperties: fromGenson(merge(unnamed)) }),
  };
}

/** Whether the members have so much in common that their names are ids. */
function isMap(schemas: readonly Inferred[]): boolean {
  const [first, ...others] = schemas;
  if (first === undefined || schemas.length > mostMembers) return first !== undefined;
  if (!others.every(({ type }) => type !== undefined && type === first.type)) return false;
  if (first.type !== "object") return schemas.length >= (first.type === "array" ? alikeShapes : alikeValues);
  const common = Object.keys(first.properties ?? {});
  const isShared = (name: string) => others.every(({ properties = {} }) => Object.hasOwn(properties, name));
  return schemas.length >= alikeShapes && common.some(isShared);
}

const typeNames: readonly unknown[] = ["null", "boolean", "number", "integer", "string", "array", "object"];

/** Reads a schema of `inferSchema`, which may come from a file. Returns undefined for what it does not write. */
function toGenson(schema: unknown, level: number): Inferred | undefined {
  if (typeof schema !== "object" || schema === null || level > 3 * mostLevels) return undefined;
  const { type, items, properties, required, additionalProperties, anyOf } = schema as JsonSchema;
  const inside = (part: unknown) => toGenson(part, level + 1);
  const parts = Array.isArray(anyOf) ? anyOf.flatMap((part) => inside(part) ?? []) : [];
  if (parts.length > 0) return { anyOf: parts };
  const types = [type].flat().filter((name): name is string => typeNames.includes(name));
  if (types.length !== 1) return types.length === 0 ? undefined : { type: types };
  const [only = ""] = types;
  const item = only === "array" ? inside(items) : undefined;
  if (only !== "object") return { type: only, ...(item !== undefined && { items: item }) };
  const fields = Object.entries(Object(properties) as object).flatMap(([name, part]) => {
    const field = isFieldName(name) ? inside(part) : undefined;
    return field === undefined ? [] : [[name, field] as const];
  });
  const values = inside(additionalProperties);
  const unnamed = fields.length === 0 ? mapName : othersName;
  if (values !== undefined) fields.push([unnamed, { type: "array", items: values }]);
  if (fields.length === 0) return { type: only };
  const names = new Set(fields.map(([name]) => name));
  const needed = Array.isArray(required) ? required.filter((name) => names.has(name)) : [];
  return { type: only, properties: Object.fromEntries(fields), required: needed };
}

/** Texts that a standard fixes, so that they tell nothing about the deployment (RFC 6749 sections 5.1 and 5.2). */
const fixedTexts: Readonly<Record<string, RegExp>> = {
  error: /^[a-z]+(?:_[a-z]+){1,4}$/,
  token_type: /^bearer$/i,
  expires_in: /^\d{1,9}$/,
};

/** An invented value of the same shape. Only an error code, the type of a token and its lifetime stay. */
export function exampleOf(value: unknown): unknown {
  if (value === undefined) return undefined;
  const example = exampleFor(inferSchema(value));
  if (typeof value !== "object" || value === null || Array.isArray(value)) return example;
  const fixed = Object.entries(value).filter(
    ([name, member]) =>
      Object.hasOwn(fixedTexts, name) && typeof member !== "object" && fixedTexts[name]?.test(`${member}`),
  );
  return { ...Object(example), ...Object.fromEntries(fixed) };
}

/**
 * Returns an invented value for a schema. There are three: 0 shows everything, 1 has null where it is allowed, 2 has
 * only what is required. The schema of the three has the same three examples.
 */
export function exampleFor(schema: JsonSchema, index: 0 | 1 | 2 = 0): unknown {
  const { type, items, properties, required, additionalProperties, anyOf } = schema;
  const inside = (part: unknown) => exampleFor(part as JsonSchema, index);
  if (Array.isArray(anyOf) || Array.isArray(type)) {
    const parts = Array.isArray(anyOf) ? anyOf : (type as string[]).map((name) => ({ type: name }));
    const isNull = (part: JsonSchema) => part.type === "null";
    const chosen = index === 1 ? parts.find(isNull) : undefined;
    return inside(chosen ?? parts.find((part) => !isNull(part)) ?? parts[0]);
  }
  if (type === "array") return items === undefined ? [] : [inside(items)];
  if (type !== "object") return exampleValues[String(type)];
  // This is not the name of a field: see `isFieldName`.
  if (properties === undefined)
    return additionalProperties === undefined ? {} : { "example-0001": inside(additionalProperties) };
  const names: readonly string[] = Array.isArray(required) ? required : [];
  const shown = Object.entries(Object(properties)).filter(([name]) => index < 2 || names.includes(name));
  return Object.fromEntries(shown.map(([name, part]) => [name, inside(part)]));
}

const exampleValues: Readonly<Record<string, unknown>> = {
  null: null,
  boolean: true,
  integer: 0,
  number: 0.5,
  string: "string",
};
