/** Reads one OpenAPI document and refuses what the generator could only misread. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseDocument } from "yaml";
import { type Document, documentError, follow, type Variant } from "./document.js";
import { GenerateError } from "./generate-error.js";
import { isObject } from "./json-pointer.js";
import { walkDocument } from "./walk-document.js";

/**
 * The document at `path`: YAML or JSON, OpenAPI 3.1, every reference in it resolvable.
 *
 * @throws {GenerateError} document_unreadable, document_not_yaml, document_version_unsupported, reference_*.
 */
export async function readDocument(variant: Variant, path: string): Promise<Document> {
  const file = basename(path);
  const text = normaliseText(await readText(path));
  const document: Document = { variant, file, sha256: sha256(text), root: parseRoot(text, file) };
  checkVersion(document);
  walkDocument(document.root, (value, pointer) => {
    if (isObject(value.properties)) refuseProto(document, value.properties, pointer);
    if (typeof value.$ref === "string") follow(document, value, pointer);
  });
  return document;
}

// A checkout on Windows must give the same hash.
function normaliseText(text: string): string {
  return text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new GenerateError("document_unreadable", "cannot be read", { document: path, cause });
  }
}

function parseRoot(text: string, file: string): Document["root"] {
  let root: unknown;
  try {
    const yaml = parseDocument(text);
    // An unknown tag is only a warning to the parser, and its value then is not what it says.
    const [problem] = [...yaml.errors, ...yaml.warnings];
    if (problem !== undefined) throw problem;
    root = yaml.toJS();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new GenerateError("document_not_yaml", `is not YAML: ${reason}`, { document: file, cause });
  }
  if (!isObject(root)) {
    throw new GenerateError("document_not_yaml", "holds no mapping at its top", { document: file });
  }
  return root;
}

/** A property of that name is the prototype's to most code that would read it. */
function refuseProto(document: Document, value: object, pointer: string): void {
  if (Object.hasOwn(value, "__proto__"))
    throw documentError(document, "schema_unsupported", pointer, "a key named __proto__ cannot be expressed");
}

function checkVersion(document: Document): void {
  const version = document.root.openapi;
  if (typeof version === "string" && /^3\.1\.\d+$/.test(version)) return;
  throw documentError(
    document,
    "document_version_unsupported",
    "/openapi",
    `OpenAPI 3.1 is needed, this is ${version === undefined ? "no OpenAPI document" : JSON.stringify(version)}`,
  );
}
