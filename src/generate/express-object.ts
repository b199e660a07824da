/** The keywords of objects, rewritten so that zod enforces every one of them. */
import { checkPattern } from "./check-pattern.js";
import { documentError } from "./document.js";
import type { Expression, Schema } from "./expression.js";
import { isObject, type JsonObject, pointerTo } from "./json-pointer.js";

interface Recursion extends Expression {
  readonly express: (source: unknown, pointer: string, to: Expression) => Schema;
}

/**
 * Closed objects and `propertyNames` become patterns that allow no value: inside an `allOf`, zod reports a key that one
 * member refuses only where every member refuses it.
 */
export function expressObject(source: JsonObject, pointer: string, to: Recursion): JsonObject {
  const at = (key: string) => pointerTo(pointer, key);
  const properties = expressMap(source.properties, at("properties"), to);
  const patterns = expressMap(source.patternProperties, at("patternProperties"), to);
  for (const pattern of patterns.keys())
    checkPattern(pattern, pointerTo(at("patternProperties"), pattern), to);
  const additional = express(source.additionalProperties, at("additionalProperties"), to);
  const open = typeof additional === "boolean" ? additional : Object.keys(additional).length === 0;
  const rest = notMatching([exactly([...properties.keys()]), ...patterns.keys()]);
  const names = namePatterns(express(source.propertyNames, at("propertyNames"), to));
  if (names === undefined) {
    throw documentError(to.document, "schema_unsupported", at("propertyNames"), "cannot be expressed in zod");
  }
  for (const pattern of names) patterns.set(notMatching([pattern]), false);
  // zod drops a schema for the other properties once there are patterns.
  const byPattern = !open && (additional === false || patterns.size > 0);
  if (byPattern) patterns.set(rest, additional);
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
    ...(source.minProperties !== undefined && { minProperties: source.minProperties }),
    ...(source.maxProperties !== undefined && { maxProperties: source.maxProperties }),
  };
}

function express(source: unknown, pointer: string, to: Recursion): Schema {
  return source === undefined ? true : to.express(source, pointer, to);
}

function expressMap(source: unknown, pointer: string, to: Recursion): Map<string, Schema> {
  if (!isObject(source)) return new Map();
  return new Map(
    Object.entries(source).map(([key, value]) => [key, to.express(value, pointerTo(pointer, key), to)]),
  );
}

/** The patterns a name must match, all of them; undefined where the schema says more than patterns can. */
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
    found.push(...patterns);
  }
  return found;
}

function exactly(names: readonly string[]): string {
  // Nothing matches an empty lookahead's negation: no name at all.
  if (names.length === 0) return "(?!)";
  return `^(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})$`;
}

function notMatching(patterns: readonly string[]): string {
  return `^${patterns.map((pattern) => `(?![\\s\\S]*(?:${pattern}))`).join("")}`;
}
