/** Visits every object of a document that is description and not data. */
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
  walk(root, "", undefined, visit);
}

function walk(
  value: unknown,
  pointer: string,
  parentKey: string | undefined,
  visit: (value: JsonObject, pointer: string) => void,
): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      walk(item, pointerTo(pointer, index), undefined, visit);
    });
    return;
  }
  if (!isObject(value)) return;
  const named = parentKey !== undefined && NAMED_BY_AUTHOR.has(parentKey);
  if (parentKey === undefined || !SCHEMA_MAPS.has(parentKey)) visit(value, pointer);
  for (const [key, child] of Object.entries(value)) {
    if (INSTANCE_KEYS.has(key) && !named) continue;
    walk(child, pointerTo(pointer, key), named ? undefined : key, visit);
  }
}
