/** Validates every example of a document against its schema, with Ajv for JSON Schema 2020-12. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Document } from "../../src/generate/document.js";
import { walkDocument } from "../../src/generate/walk-document.js";
import { listExamples } from "./list-examples.js";

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
    for (const found of listExamples(document, value, pointer))
      check(found.schema, found.example, found.pointer);
  });
  return problems;
}

function encodePointer(pointer: string): string {
  return pointer.split("/").map(encodeURIComponent).join("/");
}
