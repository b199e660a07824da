/** Visits every object of a document that is description and not data. */
import { GenerateError } from "./generate-error.js";
import { isObject, type JsonObject, pointerTo } from "./json-pointer.js";

// Below these keys stand instances, in which "$ref" or "x-not-shown" would be an ordinary key ...
const INSTANCE_KEYS: ReadonlySet<string> = new Set(["example", "examples", "default", "const", "enum"]);
// ... unless the key is itself a name that the author chose, which it is inside these.
const NAMED_BY_AUTHOR: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "schemas",
  "responses",
  "parameters",
  "requestBodies",
  "headers",
  "paths",
  "pathItems",
  "content",
]);

// A map of schemas is no object of the specification: its keys say nothing but names.
const SCHEMA_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "schemas"]);

export function walkDocument(root: unknown, visit: (value: JsonObject, pointer: string) => void): void {
  walk(root, "", undefined, visit, new Set());
}

function walk(
  value: unknown,
  pointer: string,
  parentKey: string | undefined,
  visit: (value: JsonObject, pointer: string) => void,
  ancestors: Set<unknown>,
): void {
  if (typeof value !== "object" || value === null) return;
  // A YAML alias may name what it stands in.
  if (ancestors.has(value))
    throw new GenerateError("reference_circular", "an alias names what it stands in", { pointer });
  ancestors.add(value);
  walkChildren(value, pointer, parentKey, visit, ancestors);
  ancestors.delete(value);
}

function walkChildren(
  value: unknown,
  pointer: string,
  parentKey: string | undefined,
  visit: (value: JsonObject, pointer: string) => void,
  ancestors: Set<unknown>,
): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      walk(item, pointerTo(pointer, index), undefined, visit, ancestors);
    });
    return;
  }
  if (!isObject(value)) return;
  const named = parentKey !== undefined && NAMED_BY_AUTHOR.has(parentKey);
  if (parentKey === undefined || !SCHEMA_MAPS.has(parentKey)) visit(value, pointer);
  for (const [key, child] of Object.entries(value)) {
    if (INSTANCE_KEYS.has(key) && !named) continue;
    walk(child, pointerTo(pointer, key), named ? undefined : key, visit, ancestors);
  }
}
