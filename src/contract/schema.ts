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
