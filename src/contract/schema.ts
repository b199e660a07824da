/** JSON Schemas of observed values. They hold names and types, never a value. */
import { createSchema, mergeSchemas } from "genson-js";

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Infers the schema of a JSON value.
 *
 * @example
 * inferSchema([{ id: "door" }]); // { type: "array", items: { type: "object", properties: { id: { type: "string" } }, ... } }
 */
export function inferSchema(value: unknown): JsonSchema {
  return createSchema(value) as JsonSchema;
}

/** Merges the schemas of several answers: a member that one of them lacks is not required. */
export function mergeObserved(schemas: readonly JsonSchema[]): JsonSchema {
  return mergeSchemas([...schemas] as never) as JsonSchema;
}

/** A value of the same types, without what the original held. Only an error code is kept (RFC 6749 section 5.2). */
export function exampleOf(value: unknown): unknown {
  if (typeof value === "string") return "string";
  if (typeof value === "number") return 0;
  if (typeof value === "boolean") return true;
  if (Array.isArray(value)) return value.slice(0, 1).map(exampleOf);
  if (typeof value !== "object" || value === null) return value;
  const isCode = (name: string, member: unknown) =>
    name === "error" && /^[\w.:-]{1,60}$/.test(String(member));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isCode(name, member) ? member : exampleOf(member)]),
  );
}
