/** The keywords of objects, rewritten so that zod enforces every one of them. */
import { documentError } from "./document.js";
import type { Expression, Schema } from "./expression.js";
import { isObject, type JsonObject, pointerTo } from "./json-pointer.js";

interface Recursion extends Expression {
  readonly express: (source: unknown, pointer: string, to: Expression) => Schema;
}

export function expressObject(source: JsonObject, pointer: string, to: Recursion): JsonObject {
  const properties = expressMap(source.properties, pointerTo(pointer, "properties"), to);
  const patterns = expressMap(source.patternProperties, pointerTo(pointer, "patternProperties"), to);
  const additional =
    source.additionalProperties === undefined
      ? true
      : to.express(source.additionalProperties, pointerTo(pointer, "additionalProperties"), to);
  const open = typeof additional === "boolean" || Object.keys(additional).length === 0;
  if (!open && patterns.size > 0) {
    throw documentError(
      to.document,
      "schema_unsupported",
      pointerTo(pointer, "additionalProperties"),
      "a schema beside patternProperties cannot be expressed in zod",
    );
  }
  const names: Schema[] = [];
  if (source.propertyNames !== undefined) {
    names.push(to.express(source.propertyNames, pointerTo(pointer, "propertyNames"), to));
  }
  // zod's closed objects open up inside an allOf: the names are closed instead, which holds everywhere.
  if (additional === false) names.push(knownNames([...properties.keys()], [...patterns.keys()]));
  const required = Array.isArray(source.required)
    ? source.required.filter((key) => typeof key === "string")
    : [];
  for (const key of required) {
    if (!properties.has(key)) properties.set(key, open ? {} : additional);
  }
  return {
    ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required }),
    ...(patterns.size > 0 && { patternProperties: Object.fromEntries(patterns) }),
    ...(!open && { additionalProperties: additional }),
    ...(names.length > 0 && { propertyNames: names.length === 1 ? names[0] : { allOf: names } }),
    ...(source.minProperties !== undefined && { minProperties: source.minProperties }),
    ...(source.maxProperties !== undefined && { maxProperties: source.maxProperties }),
  };
}

function expressMap(source: unknown, pointer: string, to: Recursion): Map<string, Schema> {
  if (!isObject(source)) return new Map();
  return new Map(
    Object.entries(source).map(([key, value]) => [key, to.express(value, pointerTo(pointer, key), to)]),
  );
}

function knownNames(names: readonly string[], patterns: readonly string[]): Schema {
  const choices: Schema[] = patterns.map((pattern) => ({ type: "string", pattern }));
  if (names.length > 0) choices.push({ enum: names });
  return choices.length === 0 ? false : { type: "string", anyOf: choices };
}
