/** Validates every example of a document against its schema, with Ajv for JSON Schema 2020-12. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type Document, follow } from "../../src/generate/document.js";
import { isObject, type JsonObject, pointerTo } from "../../src/generate/json-pointer.js";
import { walkDocument } from "../../src/generate/walk-document.js";

// What Ajv's strict mode would take for a misspelt keyword inside a schema.
const ANNOTATIONS = ["example", "discriminator", "externalDocs", "xml", "x-not-shown", "x-limits"];

/** One line for each example that breaks its schema, and for each schema that is none. */
export function checkExamples(document: Document): string[] {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  // The document's own top level is read as a schema too, as the base that local references resolve against.
  ajv.addVocabulary([...new Set([...ANNOTATIONS, ...Object.keys(document.root)])]);
  ajv.addSchema(document.root, document.file);
  const problems: string[] = [];

  const check = (schemaPointer: string, example: unknown, pointer: string): void => {
    try {
      const validate = ajv.compile({ $ref: `${document.file}#${encodePointer(schemaPointer)}` });
      if (validate(example)) return;
      const reasons = (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`.trim());
      problems.push(`${document.file}#${pointer}: ${reasons.join("; ")}`);
    } catch (error) {
      problems.push(
        `${document.file}#${schemaPointer}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };

  walkDocument(document.root, (value, pointer) => {
    for (const found of examplesOf(document, value, pointer))
      check(found.schema, found.example, found.pointer);
  });
  return problems;
}

interface Example {
  readonly schema: string;
  readonly example: unknown;
  readonly pointer: string;
}

/** Beside `schema` (media type, parameter, header) examples are a map of Example Objects, inside a schema a list. */
function examplesOf(document: Document, value: JsonObject, pointer: string): Example[] {
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

function encodePointer(pointer: string): string {
  return pointer.split("/").map(encodeURIComponent).join("/");
}
