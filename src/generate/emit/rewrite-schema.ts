/**
 * Rewrites a JSON Schema (2020-12) into one that `z.fromJSONSchema` reads with the same meaning, or refuses it.
 *
 * zod reads one group of keywords at a time and silently drops the others: keywords next to `$ref`, `enum` or `const`,
 * one of `anyOf` and `oneOf` if both are given, all keywords if `type` is missing, `required` without `properties`.
 * Here each group becomes a member of one `allOf`, and a keyword without an equivalent is an error.
 */
import { type Document, documentError, referenceTarget } from "../document.js";
import { isObject, type JsonObject, pointerTo } from "../source-file.js";

export type Schema = JsonObject | boolean;

interface Context {
  readonly document: Document;
  /** Name under `$defs` of the schema at a pointer of the document. */
  readonly nameOf: (pointer: string) => string;
}

const TYPES = ["object", "array", "string", "number", "boolean", "null"];
const NAMED_TYPES: ReadonlySet<unknown> = new Set([...TYPES, "integer"]);

/** Keywords without a check. zod would apply `default` and freeze `readOnly`; validating must not change the instance. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "readOnly", "writeOnly", "deprecated", "example", "examples"],
  ...["contentEncoding", "contentMediaType", "contentSchema", "discriminator", "externalDocs", "xml"],
  // Definitions are read where a reference leads to them.
  ...["$comment", "$defs"],
]);

/** Keywords that are copied as they are. Each of them checks instances of one type. */
const COPIED = [
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["uniqueItems", "minContains", "maxContains"],
  ...["minProperties", "maxProperties"],
];

const TYPED: ReadonlySet<string> = new Set([
  ...COPIED,
  ...["minItems", "maxItems"],
  ...["properties", "required", "additionalProperties", "patternProperties", "propertyNames"],
  ...["items", "prefixItems", "contains", "minLength", "maxLength", "pattern", "format"],
]);

const COMBINING: readonly string[] = [
  ...["$ref", "enum", "const", "type", "anyOf", "oneOf", "allOf", "not"],
  ...["dependentRequired", "dependentSchemas"],
];

/** The other keywords of JSON Schema 2020-12. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  ...["if", "then", "else"],
  ...["unevaluatedItems", "unevaluatedProperties"],
  ...["$schema", "$vocabulary", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor"],
]);

export function expressSchema(source: unknown, pointer: string, context: Context): Schema {
  if (typeof source === "boolean") return source;
  if (!isObject(source)) throw unsupported(context, pointer, "a schema must be an object or a boolean");
  const keywords = Object.keys(source).filter((key) => !ANNOTATIONS.has(key) && !key.startsWith("x-"));
  const unknown = keywords.find((key) => !TYPED.has(key) && !COMBINING.includes(key));
  if (unknown !== undefined) {
    const message = UNSUPPORTED.has(unknown)
      ? `the keyword ${JSON.stringify(unknown)} cannot be expressed in zod`
      : `${JSON.stringify(unknown)} is not a keyword of JSON Schema 2020-12`;
    throw unsupported(context, pointerTo(pointer, unknown), message);
  }
  checkType(context.document, source, pointer);
  const list = (key: string) => expressList(source[key], pointerTo(pointer, key), context);
  const members: Schema[] = [];
  if (source.not !== undefined) members.push(expressNot(source.not, pointerTo(pointer, "not"), context));
  if (typeof source.$ref === "string") {
    const name = context.nameOf(referenceTarget(context.document, source.$ref, pointer));
    members.push({ $ref: `#/$defs/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` });
  }
  for (const key of ["enum", "const"]) {
    if (source[key] === undefined) continue;
    const values = Array.isArray(source[key]) && key === "enum" ? source[key] : [source[key]];
    if (!values.some((value) => typeof value === "object" && value !== null)) {
      members.push({ [key]: source[key] });
      continue;
    }
    const equals = values.map((value) => expressSchema(equalTo(value), pointerTo(pointer, key), context));
    members.push({ anyOf: equals });
  }
  for (const [key, name, then] of dependencies(source)) {
    const place = pointerTo(pointer, key, name);
    members.push({
      anyOf: [{ properties: { [name]: false } }, then].map((one) => expressSchema(one, place, context)),
    });
  }
  members.push(...expressTyped(source, keywords, pointer, context));
  for (const key of ["anyOf", "oneOf"]) if (source[key] !== undefined) members.push({ [key]: list(key) });
  if (source.allOf !== undefined) for (const member of list("allOf")) members.push(member);
  if (members.length === 0) return {};
  return members.length === 1 && members[0] !== undefined ? members[0] : { allOf: members };
}

/** A schema that allows this value alone: zod compares only what is not an object. */
function equalTo(value: unknown): JsonObject {
  if (Array.isArray(value)) {
    const limits = { type: "array", minItems: value.length, maxItems: value.length };
    return value.length === 0 ? limits : { ...limits, prefixItems: value.map(equalTo), items: false };
  }
  if (!isObject(value)) return { const: value };
  const properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, equalTo(one)]));
  return { type: "object", properties, required: Object.keys(value), additionalProperties: false };
}

/** What an object must match if it has the property. */
function dependencies(source: JsonObject): [key: string, name: string, then: unknown][] {
  const of = (key: string) => Object.entries(isObject(source[key]) ? source[key] : {});
  return [
    ...of("dependentRequired").map(([name, required]): [string, string, unknown] => [
      "dependentRequired",
      name,
      { required },
    ]),
    ...of("dependentSchemas").map(([name, then]): [string, string, unknown] => [
      "dependentSchemas",
      name,
      then,
    ]),
  ];
}

/** A misspelt type would allow nothing, or be ignored. */
export function checkType(document: Document, { type = [] }: JsonObject, pointer: string): void {
  const wrong = [type].flat().find((name) => !NAMED_TYPES.has(name));
  if (wrong === undefined) return;
  const message = `${JSON.stringify(wrong)} is not a type; use one of ${[...NAMED_TYPES].join(", ")}`;
  throw documentError(document, "schema_unsupported", pointerTo(pointer, "type"), message);
}

/** `{ not: {} }` is how documents write "never". No other use of `not` has an equivalent. */
function expressNot(not: unknown, pointer: string, context: Context): Schema {
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return false;
  throw unsupported(context, pointer, 'the keyword "not" cannot be expressed in zod');
}

function expressList(list: unknown, pointer: string, context: Context): Schema[] {
  if (!Array.isArray(list) || list.length === 0) {
    throw unsupported(context, pointer, "must be a non-empty list of schemas");
  }
  return list.map((member, index) => expressSchema(member, pointerTo(pointer, index), context));
}

/** The keywords that depend on the type. Without `type` each checks instances of its own type only, so all types are listed. */
function expressTyped(
  source: JsonObject,
  keywords: readonly string[],
  pointer: string,
  context: Context,
): Schema[] {
  const isTyped = keywords.some((key) => TYPED.has(key));
  if (!isTyped && (source.type === undefined || valuesHaveType(source))) return [];
  const named = [source.type ?? TYPES].flat();
  const types = new Set(named.map((name) => (name === "integer" ? "number" : name)));
  const type = types.size === 1 ? [...types][0] : [...types];
  const schema: Record<string, unknown> = { type };
  for (const key of COPIED) if (source[key] !== undefined) schema[key] = source[key];
  for (const key of ["items", "contains"]) {
    if (source[key] !== undefined) schema[key] = expressSchema(source[key], pointerTo(pointer, key), context);
  }
  Object.assign(schema, expressObject(source, pointer, context));
  // zod reads one pattern, one format and one divisor of a schema.
  const [first, ...others] = expressString(source, pointer, context);
  Object.assign(schema, first);
  // zod's integers end at 2^53, those of JSON Schema do not. If any number is allowed, integers are.
  if (named.includes("integer") && !named.includes("number") && !Number.isInteger(source.multipleOf)) {
    if (source.multipleOf === undefined) schema.multipleOf = 1;
    else others.push({ multipleOf: 1 });
  }
  const { minItems, maxItems } = source;
  const limits = { items: true, minItems, maxItems };
  if (source.prefixItems !== undefined) {
    schema.prefixItems = expressList(source.prefixItems, pointerTo(pointer, "prefixItems"), context);
    // zod would fill a shorter list up before it counts.
    if ((minItems ?? maxItems) !== undefined) others.push(limits);
  } else if ((minItems ?? maxItems) !== undefined) {
    // zod ignores the limits of a list without `items`.
    Object.assign(schema, { ...limits, items: schema.items ?? true });
  }
  return [schema, ...others.map((other) => ({ type, ...other }))];
}

/** Whether `type` allows every type and so adds nothing. */
function valuesHaveType(source: JsonObject): boolean {
  if (source.enum === undefined && source.const === undefined) return false;
  const values = Array.isArray(source.enum) ? source.enum : [source.const];
  const types = [source.type].flat();
  return values.every((value) =>
    types.some((type) => {
      if (type === "null") return value === null;
      return type === "integer" ? Number.isInteger(value) : typeof value === type && value !== null;
    }),
  );
}

function unsupported({ document }: Context, pointer: string, message: string): Error {
  return documentError(document, "schema_unsupported", pointer, message);
}

/**
 * Makes closed objects and `propertyNames` into patterns that allow no value. Otherwise zod would report a key that one
 * member of an `allOf` refuses only if every member refuses it.
 */
function expressObject(source: JsonObject, pointer: string, context: Context): JsonObject {
  const at = (key: string) => pointerTo(pointer, key);
  const express = (key: string): Schema =>
    source[key] === undefined ? true : expressSchema(source[key], at(key), context);
  const expressMap = (key: string): Map<string, Schema> => {
    const entries = isObject(source[key]) ? Object.entries(source[key]) : [];
    return new Map(
      entries.map(([name, value]) => [name, expressSchema(value, pointerTo(at(key), name), context)]),
    );
  };
  const properties = expressMap("properties");
  const patterns = expressMap("patternProperties");
  for (const pattern of patterns.keys()) {
    checkPattern(pattern, pointerTo(at("patternProperties"), pattern), context);
  }
  const additional = express("additionalProperties");
  const open = typeof additional === "boolean" ? additional : Object.keys(additional).length === 0;
  const rest = notMatching([exactly([...properties.keys()]), ...patterns.keys()]);
  const constrain = (pattern: string, schema: Schema) => {
    const known = patterns.get(pattern);
    patterns.set(pattern, known === undefined ? schema : { allOf: [known, schema] });
  };
  for (const [name, value] of properties) {
    // zod takes what an object inherits, such as `constructor`, for a member of the answer, but in patterns only its own.
    if (name in Object.prototype) properties.delete(name) && constrain(exactly([name]), value);
  }
  const names = namePatterns(express("propertyNames"));
  if (names === undefined) throw unsupported(context, at("propertyNames"), "cannot be expressed in zod");
  for (const pattern of names) constrain(notMatching([pattern]), false);
  // zod drops a schema for the other properties when there are patterns.
  const byPattern = !open && (additional === false || patterns.size > 0);
  if (byPattern) constrain(rest, additional);
  const required = Array.isArray(source.required)
    ? source.required.filter((key) => typeof key === "string")
    : [];
  for (const key of required) {
    if (!properties.has(key)) properties.set(key, open || byPattern ? {} : additional);
  }
  return {
    ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required }),
    ...(patterns.size > 0 && { patternProperties: Object.fromEntries(patterns) }),
    ...(!open && !byPattern && { additionalProperties: additional }),
  };
}

/** The patterns that a property name must match, every one; undefined if patterns cannot express the schema. */
function namePatterns(schema: Schema): string[] | undefined {
  if (schema === true) return [];
  if (schema === false) return [exactly([])];
  const { type, pattern, minLength, enum: names, const: name, allOf, ...more } = schema;
  if (Object.keys(more).length > 0) return undefined;
  const found: string[] = [];
  if (type !== undefined && ![type].flat().includes("string")) found.push(exactly([]));
  if (typeof pattern === "string") found.push(pattern);
  if (minLength !== undefined) found.push("[\\s\\S]");
  if (Array.isArray(names)) found.push(exactly(names.filter((value) => typeof value === "string")));
  if (name !== undefined) found.push(exactly([String(name)]));
  for (const member of Array.isArray(allOf) ? (allOf as Schema[]) : []) {
    const patterns = namePatterns(member);
    if (patterns === undefined) return undefined;
    for (const one of patterns) found.push(one);
  }
  return found;
}

function exactly(names: readonly string[]): string {
  // An empty negative lookahead never matches, so no name is allowed.
  if (names.length === 0) return "(?!)";
  return `^(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})$`;
}

function notMatching(patterns: readonly string[]): string {
  return `^${patterns.map((pattern) => `(?![\\s\\S]*(?:${pattern}))`).join("")}`;
}

const CHARACTER = "(?:[\\uD800-\\uDBFF][\\uDC00-\\uDFFF]|(?![\\uD800-\\uDBFF][\\uDC00-\\uDFFF])[\\s\\S])";
/** Beyond it a length is not limited: to count the characters of a longer string, a pattern needs more stack than there is. */
const MOST_COUNTED = 1_000_000;
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
/** RFC 3339 full-date. Every year may have a 29th of February: a pattern for leap years would be long. */
const DATE =
  "\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|[12]\\d))";

/** The characters, and what is percent-encoded, in linear time: each character has one place in the pattern. */
const encoded = (characters: string) => `[${characters}]*(?:%[0-9A-Fa-f]{2}[${characters}]*)*`;
/** RFC 3986, appendix A. */
const SUBDELIMITED = "A-Za-z0-9._~!$&'()*+,;=\\-";
const AUTHORITY = `(?:${encoded(`${SUBDELIMITED}:`)}@)?(?:\\[[0-9A-Fa-f:.]+\\]|${encoded(SUBDELIMITED)})(?::\\d*)?`;
const QUERY = encoded(`${SUBDELIMITED}:@/?`);
const URI = `^[A-Za-z][A-Za-z0-9+.-]*:(?://${AUTHORITY}(?![^/?#])|(?!//))${encoded(`${SUBDELIMITED}:@/`)}(?:\\?${QUERY})?(?:#${QUERY})?$`;

/**
 * Formats that zod checks differently: a time without seconds, versions of UUIDs, hosts without a dot. Its check of a URI
 * also removes spaces and line ends from the value, and an intersection throws when its two sides have different values.
 */
const FORMAT_PATTERNS: Readonly<Record<string, string>> = {
  "date-time": `^${DATE}[Tt\\s](?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:[Zz]|[+-]\\d\\d(?::?\\d\\d)?)$`,
  uuid: "^(?:urn:uuid:)?[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$",
  email: `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})+$`,
  uri: URI,
};

/** Formats that zod checks with the same meaning. Every other format is an annotation, as in JSON Schema itself. */
const FORMATS: ReadonlySet<string> = new Set(["date", "ipv4", "ipv6"]);

/** One entry per pattern or format. zod counts UTF-16 units and JSON Schema characters, so a length becomes a pattern. */
function expressString(source: JsonObject, pointer: string, context: Context): JsonObject[] {
  const found: JsonObject[] = [];
  const { minLength: least, maxLength: most, pattern, format } = source;
  if (typeof pattern === "string") {
    checkPattern(pattern, pointerTo(pointer, "pattern"), context);
    found.push({ pattern });
  }
  if (least === 1 && most === undefined) found.push({ minLength: 1 });
  else {
    const enough = typeof least === "number" ? `(?=${CHARACTER}{${least}})` : "";
    const notMore = typeof most === "number" && most < MOST_COUNTED ? `(?!${CHARACTER}{${most + 1}})` : "";
    if (enough + notMore !== "") found.push({ pattern: `^${enough}${notMore}` });
  }
  if (typeof format !== "string") return found;
  if (FORMAT_PATTERNS[format] !== undefined) found.push({ pattern: FORMAT_PATTERNS[format] });
  else if (FORMATS.has(format)) found.push({ format });
  return found;
}

/** JSON Schema has Unicode patterns and zod does not. A pattern that means something else without Unicode is refused. */
function checkPattern(pattern: string, pointer: string, context: Context): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the lower bound of the basic plane
  const unicodeOnly = /\\[pP]\{|\\u\{|[^\u0000-\uFFFF]/u.test(pattern);
  try {
    new RegExp(pattern);
    new RegExp(pattern, "u");
    if (!unicodeOnly) return;
  } catch {
    // An invalid pattern is refused below.
  }
  throw unsupported(context, pointer, "the pattern cannot be expressed in zod");
}
