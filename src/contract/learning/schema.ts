/**
 * JSON Schemas of observed values (2020-12). They hold names and types, never a value. Names can be
 * values too: the members of an object that is keyed by ids, dates or e-mail addresses become
 * `additionalProperties`.
 */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Deeper values are described as an object or an array, without what is in it. */
const mostLevels = 12;
/** A value whose schema is larger has the schema `{}`, which allows anything. */
const mostCharacters = 50_000;
/**
 * An object with more members is a map. So is one with these many members of one shape or of one
 * simple type.
 */
const mostMembers = 200;
const alikeShapes = 6;
const alikeValues = 40;

/**
 * What the values of one place have in common. An object that is a map has no fields, and `others`,
 * as an object has whose other names may be values.
 */
interface Shape {
  readonly types: ReadonlySet<unknown>;
  /** Of an array, unless it is empty. */
  readonly items?: Shape | undefined;
  readonly fields: Readonly<Record<string, Shape>>;
  readonly required: readonly string[];
  /** Of the members whose names are not shown. */
  readonly others?: Shape | undefined;
}

const typeNames: readonly unknown[] = [
  "null",
  "boolean",
  "number",
  "integer",
  "string",
  "array",
  "object",
];

/**
 * Infers the schema of a JSON value. `ids` are known ids, which as names of members are values.
 *
 * @example
 * // { type: "array", items: { type: "object", properties: { id: { type: "string" } }, ... } }
 * inferSchema([{ id: "door" }]);
 */
export function inferSchema(value: unknown, ids: ReadonlySet<string> = new Set()): JsonSchema {
  const schema = schemaOf(shapeOf(value, ids, mostLevels));
  return JSON.stringify(schema).length > mostCharacters ? {} : schema;
}

/** Merges the schemas of several answers: a member that one of them lacks is not required. */
export function mergeObserved(schemas: readonly JsonSchema[]): JsonSchema {
  const isOpen = schemas.some((schema) => Object.keys(Object(schema)).length === 0);
  const merged = isOpen ? undefined : merge(schemas.map((schema) => readShape(schema, 0)));
  return merged === undefined ? {} : schemaOf(merged);
}

/** Whether the name may be shown: a field's name, and not a date, an address, or an id. */
function isFieldName(name: string, ids: ReadonlySet<string> = new Set()): boolean {
  // Validators read a name of Object.prototype, such as valueOf, from every object.
  const isWord = /^[$@_\p{L}][\p{L}\p{N}_.:$-]{0,39}$/u.test(name) && !(name in Object.prototype);
  const digits = name.match(/\p{N}/gu)?.length ?? 0;
  return isWord && !ids.has(name) && digits < 4 && !/[-.:]\p{N}+$/u.test(name);
}

function shapeOf(value: unknown, ids: ReadonlySet<string>, levels: number): Shape {
  const types = new Set([Number.isInteger(value) ? "integer" : kindOf(value)]);
  const inside = (member: unknown) => shapeOf(member, ids, levels - 1);
  if (typeof value !== "object" || value === null || levels === 0) return { types, ...noFields };
  if (Array.isArray(value)) return { types, items: merge(value.map(inside)), ...noFields };
  const members = Object.entries(value);
  const stems = sharedStems(Object.keys(value));
  // Neither of `{ ada: { userId: "ada" } }` nor of `{ room1: {}, room2: {} }`.
  const isField = ([name, member]: [string, unknown]) => {
    if (!isFieldName(name, ids)) return false;
    if (typeof member !== "object" || member === null) return true;
    return !Object.values(member).includes(name) && !stems.has(stemOf(name));
  };
  const kinds = new Set(
    members.map(([, member]) => kindOf(member)).filter((kind) => kind !== "null"),
  );
  const isMap = kinds.size === 1 && !members.every(isField);
  const fields = isMap ? [] : members.filter(isField);
  const others = isMap ? members : members.filter((member) => !isField(member));
  const named = Object.fromEntries(fields.map(([name, member]) => [name, inside(member)]));
  return withMap({
    types,
    fields: named,
    required: Object.keys(named),
    others: merge(others.map(([, member]) => inside(member))),
  });
}

const noFields = { fields: {}, required: [] };

/** Returns undefined if there is no shape to merge. */
function merge(all: readonly (Shape | undefined)[]): Shape | undefined {
  const shapes = all.filter((shape) => shape !== undefined);
  if (shapes.length === 0) return undefined;
  const types = new Set(shapes.flatMap((shape) => [...shape.types]));
  if (types.has("number")) types.delete("integer");
  const objects = shapes.filter((shape) => shape.types.has("object"));
  const byName = new Map<string, Shape[]>();
  for (const { fields } of objects)
    for (const [name, field] of Object.entries(fields)) {
      const own = byName.get(name);
      if (own === undefined) byName.set(name, [field]);
      else own.push(field);
    }
  const fields = Object.fromEntries([...byName].map(([name, own]) => [name, merge(own) as Shape]));
  const required = Object.keys(fields).filter((name) =>
    objects.every((shape) => shape.required.includes(name)),
  );
  const isMap = objects.some(
    (shape) => shape.others !== undefined && Object.keys(shape.fields).length === 0,
  );
  const merged = {
    types,
    items: merge(shapes.map(({ items }) => items)),
    fields,
    required,
    others: merge(objects.map(({ others }) => others)),
  };
  return withMap(merged, isMap);
}

/** Makes a map of an object whose members have so much in common that their names are ids. */
function withMap(shape: Shape, isMap = false): Shape {
  const members = Object.values(shape.fields);
  if (!isMap && !areAlike(members)) return shape;
  return { ...shape, ...noFields, others: merge([shape.others, ...members]) };
}

function areAlike(members: readonly Shape[]): boolean {
  const [first, ...others] = members;
  if (first === undefined || members.length > mostMembers) return first !== undefined;
  const [type] = first.types;
  if (!members.every(({ types }) => types.size === 1 && types.has(type))) return false;
  if (type !== "object") return members.length >= (type === "array" ? alikeShapes : alikeValues);
  const isShared = (name: string) => others.every(({ fields }) => Object.hasOwn(fields, name));
  return members.length >= alikeShapes && Object.keys(first.fields).some(isShared);
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

function schemaOf({ types, items, fields, required, others }: Shape): JsonSchema {
  const names = Object.keys(fields).sort();
  const isObject = names.length > 0 || others !== undefined;
  const plain = typeNames.filter(
    (name) => types.has(name) && !(name === "array" && items) && !(name === "object" && isObject),
  );
  const parts: JsonSchema[] = [];
  if (plain.length > 0) parts.push({ type: plain.length > 1 ? plain : plain[0] });
  if (items !== undefined) parts.push({ type: "array", items: schemaOf(items) });
  if (isObject)
    parts.push({
      type: "object",
      ...(names.length > 0 && {
        properties: Object.fromEntries(
          names.map((name) => [name, schemaOf(fields[name] as Shape)]),
        ),
      }),
      ...(required.length > 0 && { required: [...required].sort() }),
      ...(others && { additionalProperties: schemaOf(others) }),
    });
  const [only = {}] = parts;
  return parts.length > 1 ? { anyOf: parts } : only;
}

/**
 * Reads a schema of `inferSchema`, which may come from a file. Returns undefined for what it does
 * not write.
 */
function readShape(schema: unknown, level: number): Shape | undefined {
  if (level > 3 * mostLevels) return undefined;
  const { type, items, properties, required, additionalProperties, anyOf }: JsonSchema =
    Object(schema);
  const inside = (part: unknown) => readShape(part, level + 1);
  if (Array.isArray(anyOf)) return merge(anyOf.map(inside));
  const types = new Set([type].flat().filter((name) => typeNames.includes(name)));
  if (types.size === 0) return undefined;
  const shape = { types, items: types.has("array") ? inside(items) : undefined };
  if (!types.has("object")) return { ...shape, ...noFields };
  const fields: Record<string, Shape> = {};
  for (const [name, part] of Object.entries(Object(properties) as object)) {
    const field = isFieldName(name) ? inside(part) : undefined;
    if (field !== undefined) fields[name] = field;
  }
  const needed = Array.isArray(required)
    ? required.filter((name) => Object.hasOwn(fields, name))
    : [];
  return { ...shape, fields, required: needed, others: inside(additionalProperties) };
}

/**
 * Texts that a standard fixes, so that they tell nothing about the deployment (RFC 6749 sections
 * 5.1 and 5.2).
 */
const fixedTexts: Readonly<Record<string, RegExp>> = {
  error: /^[a-z]+(?:_[a-z]+){1,4}$/,
  token_type: /^bearer$/i,
  expires_in: /^\d{1,9}$/,
};

/**
 * An invented value of the same shape. Only an error code, the type of a token and its lifetime
 * stay.
 */
export function exampleOf(value: unknown): unknown {
  if (value === undefined) return undefined;
  const example = exampleFor(inferSchema(value));
  if (typeof value !== "object" || value === null || Array.isArray(value)) return example;
  const fixed = Object.entries(value).filter(
    ([name, member]) =>
      Object.hasOwn(fixedTexts, name) &&
      typeof member !== "object" &&
      fixedTexts[name]?.test(`${member}`),
  );
  return { ...Object(example), ...Object.fromEntries(fixed) };
}

/**
 * Returns an invented value for a schema. There are three: 0 shows everything, 1 has null where it
 * is allowed, 2 has only what is required. The schema of the three has the same three examples.
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
    return additionalProperties === undefined
      ? {}
      : { "example-0001": inside(additionalProperties) };
  const names: readonly string[] = Array.isArray(required) ? required : [];
  const shown = Object.entries(Object(properties)).filter(
    ([name]) => index < 2 || names.includes(name),
  );
  return Object.fromEntries(shown.map(([name, part]) => [name, inside(part)]));
}

const exampleValues: Readonly<Record<string, unknown>> = {
  null: null,
  boolean: true,
  integer: 0,
  number: 0.5,
  string: "string",
};
