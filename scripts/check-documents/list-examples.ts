/** The examples of one object of a document, each with the schema it must conform to. */
import { type Document, follow } from "../../src/generate/document.js";
import { isObject, type JsonObject, pointerTo } from "../../src/generate/json-pointer.js";

export interface Example {
  /** JSON pointer of the schema. */
  readonly schema: string;
  readonly example: unknown;
  /** JSON pointer of the example. */
  readonly pointer: string;
}

/** Beside `schema` (media type, parameter, header) examples are a map of Example Objects, inside a schema a list. */
export function listExamples(document: Document, value: JsonObject, pointer: string): Example[] {
  const schema = value.schema === undefined ? pointer : pointerTo(pointer, "schema");
  const found: Example[] = [];
  if (value.example !== undefined) {
    found.push({ schema, example: value.example, pointer: pointerTo(pointer, "example") });
  }
  if (Array.isArray(value.examples)) {
    for (const [index, example] of value.examples.entries()) {
      found.push({ schema, example, pointer: pointerTo(pointer, "examples", index) });
    }
  } else if (isObject(value.examples) && value.schema !== undefined) {
    for (const [name, entry] of Object.entries(value.examples)) {
      const place = follow(document, entry, pointerTo(pointer, "examples", name));
      if (!isObject(place.value) || place.value.value === undefined) continue;
      found.push({ schema, example: place.value.value, pointer: pointerTo(place.pointer, "value") });
    }
  }
  return found;
}
