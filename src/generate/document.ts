/** Checks an OpenAPI document, and follows its references. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { unescape as percentDecoded } from "node:querystring";
import {
  GenerateError,
  type GenerateErrorCode,
  isObject,
  type JsonObject,
  keysOf,
  pointerTo,
  readSourceFile,
  type SourceFile,
} from "./source-file.js";

export type Variant = "A" | "B";

export const VARIANTS: readonly Variant[] = ["A", "B"];

export const METHODS = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"] as const;

export interface Document extends SourceFile {
  readonly variant: Variant;
  readonly origins: Origins;
  /** What emit/sample.ts finds for schemas that many operations share. */
  readonly alternatives: WeakMap<object, readonly JsonObject[]>;
  readonly samples: WeakMap<object, { readonly value: unknown; readonly size: number }>;
}

/** One action of an overlay, or a value in its `update`. */
export interface Action {
  readonly overlay: SourceFile;
  /** JSON pointer in the overlay. */
  readonly pointer: string;
}

/** What wrote each member of a container; for an array also the index that an item has in the text. */
type Writers = Record<string | number, Action | number | undefined>;

/** Records which values of a document were written by overlays, and where the others are in its text. */
export class Origins {
  /** The overlays that changed the document, in the order of their first change. */
  readonly overlays: Set<SourceFile> = new Set<SourceFile>();
  readonly #writers = new WeakMap<object, Writers>();
  readonly #removed: (readonly [pointer: string, action: Action])[] = [];

  /** Must be called before the value at `key` is set, or is appended where `key` is the length. */
  write(container: object, key: string | number, action: Action): void {
    this.overlays.add(action.overlay);
    this.#writersIn(container)[key] = action;
  }

  /** Must be called before the value at `key` of `container` is removed. */
  remove(container: object, key: string | number, pointer: string, action: Action): void {
    this.overlays.add(action.overlay);
    this.#removed.push([pointer, action]);
    const writers = this.#writersIn(container);
    if (Array.isArray(writers)) writers.splice(Number(key), 1);
    else delete writers[key];
  }

  /** The action that wrote this member itself, not one around it. */
  writerOf(container: object, key: string | number): Action | undefined {
    const writer = this.#writers.get(container)?.[key];
    return typeof writer === "number" ? undefined : writer;
  }

  /**
   * The last action that wrote the place or something around it, and the pointer of the place in the text: in that of
   * the overlay if there is such an action.
   */
  trace(root: unknown, pointer: string): { readonly action: Action | undefined; readonly inText: string } {
    let value = root;
    let action: Action | undefined;
    let inText = "";
    for (const key of keysOf(pointer)) {
      const container: object = Object(value);
      const writer = this.#writers.get(container)?.[key];
      inText = pointerTo(inText, typeof writer === "number" ? writer : key);
      if (typeof writer === "object") {
        action = writer;
        inText = writer.pointer;
      }
      value = Object.hasOwn(container, key) ? (container as JsonObject)[key] : undefined;
    }
    return { action, inText };
  }

  /** The last action that removed the place or something around it. */
  removerOf(pointer: string): Action | undefined {
    return this.#removed.findLast(([removed]) => `${pointer}/`.startsWith(`${removed}/`))?.[1];
  }

  #writersIn(container: object): Writers {
    const known = this.#writers.get(container);
    if (known !== undefined) return known;
    const writers: Writers = Array.isArray(container) ? [...container.keys()] : Object.create(null);
    this.#writers.set(container, writers);
    return writers;
  }
}

/** Names the place in the document, or in the overlay that wrote it. */
export function documentError(
  document: Document,
  code: GenerateErrorCode,
  pointer: string,
  message: string,
  part?: "key",
): GenerateError {
  const { action, inText } = document.origins.trace(document.root, pointer);
  if (action !== undefined) {
    // What `copy` wrote, and what is missing, are not in the overlay.
    const isWritten = atPointer(action.overlay.root, inText) !== undefined;
    const place = isWritten ? { ...action, pointer: inText } : action;
    return actionError(place, code, `${message} (${document.file}#${pointer})`, part);
  }
  return new GenerateError(code, message, {
    document: document.file,
    position: document.positionOf(inText, part),
    pointer,
  });
}

export function actionError(
  { overlay, pointer }: Action,
  code: GenerateErrorCode,
  message: string,
  part?: "key",
): GenerateError {
  return new GenerateError(code, message, {
    document: overlay.file,
    position: overlay.positionOf(pointer, part),
    pointer,
  });
}

/**
 * Reads the document at `path`: YAML or JSON, OpenAPI 3.1, in which every reference resolves.
 * Without a variant it is the one whose paths the document has, else A.
 */
export async function readDocument(variant: Variant | undefined, path: string): Promise<Document> {
  const document = await openDocument(variant, path);
  checkDocument(document);
  return document;
}

/** Reads a document of which `checkDocument` must check the rest, after the overlays. */
export async function openDocument(given: Variant | undefined, path: string): Promise<Document> {
  const source = await readSourceFile(path);
  const variant = given ?? VARIANTS.find((one) => pathOfVariant(one, source.root) !== undefined) ?? "A";
  const document = {
    ...source,
    variant,
    origins: new Origins(),
    alternatives: new WeakMap(),
    samples: new WeakMap(),
  };
  checkVersion(document);
  return document;
}

/** @throws GenerateError for a document of another version or variant, or with a reference that leads nowhere */
export function checkDocument(document: Document): void {
  checkVersion(document);
  refuseOtherVariant(document);
  checkKeysOfPaths(document);
  const checkReferences = referenceChecker(document);
  walkDocument(document.root, (value, place) => {
    // Most code would read such a property as the prototype.
    if (isObject(value.properties) && Object.hasOwn(value.properties, "__proto__")) {
      const message = "a property named __proto__ cannot be expressed";
      throw documentError(document, "schema_unsupported", place(), message);
    }
    checkReferences(value, place);
    checkNamedReferences(document, value, place);
  });
}

/** The references in the mapping of a discriminator, and in examples that have a name. */
function checkNamedReferences(document: Document, value: JsonObject, place: () => string): void {
  const { mapping } = Object(value.discriminator) as JsonObject;
  for (const [name, target] of Object.entries(mapping ?? {}))
    referenceTarget(document, String(target), pointerTo(`${place()}/discriminator/mapping`, name));
  for (const [name, example] of Object.entries(isObject(value.examples) ? value.examples : {})) {
    const { $ref } = Object(example) as JsonObject;
    if (typeof $ref === "string") referenceTarget(document, $ref, pointerTo(`${place()}/examples`, name));
  }
}

function checkVersion(document: Document): void {
  const version = document.root.openapi;
  if (typeof version === "string" && /^3\.1\.\d+$/.test(version)) return;
  const found = version === undefined ? "the key `openapi` is missing" : `found ${JSON.stringify(version)}`;
  const message = `the document must be OpenAPI 3.1: ${found}`;
  throw documentError(document, "document_version_unsupported", "/openapi", message);
}

/** The members of a Path Item Object (OpenAPI 3.1). */
const PATH_ITEM_KEYS: readonly string[] = [
  ...METHODS.map((method) => method.toLowerCase()),
  ...["parameters", "summary", "description", "servers", "$ref"],
];

/** Of a path without its slash or of a misspelt method no operation would be made, and nothing would say so. */
function checkKeysOfPaths(document: Document): void {
  const { paths, components } = document.root;
  const check = (map: unknown, pointer: string, isPath: (key: string) => boolean): void => {
    for (const [path, item] of Object.entries(isObject(map) ? map : {})) {
      const place = pointerTo(pointer, path);
      if (!isPath(path)) {
        const message = `${JSON.stringify(path)} is not a path; write ${JSON.stringify(`/${path}`)}. A key of \`paths\` must start with "/" or "x-"`;
        throw documentError(document, "document_invalid", place, message, "key");
      }
      if (path.startsWith("x-") || !isObject(item)) continue;
      const wrong = Object.keys(item).find((key) => !PATH_ITEM_KEYS.includes(key) && !key.startsWith("x-"));
      if (wrong === undefined) continue;
      const message = `${JSON.stringify(wrong)} is not a method. A key of a path must be one of ${PATH_ITEM_KEYS.join(", ")}, or start with "x-"`;
      throw documentError(document, "document_invalid", pointerTo(place, wrong), message, "key");
    }
  };
  check(paths, "/paths", (key) => /^(?:\/|x-)/.test(key));
  if (isObject(components)) check(components.pathItems, "/components/pathItems", () => true);
}

/** More references than any document has from one schema to the next, and fewer than the stack can hold. */
const MOST_STEPS = 500;

/**
 * Refuses a schema that applies itself to the same value again: it never ends (JSON Schema 2020-12, section 9.4.1). A
 * schema that applies itself to a part of the value, such as a tree, is allowed.
 */
function referenceChecker(document: Document): (value: JsonObject, place: () => string) => void {
  const done = new Set<unknown>();
  const open = new Set<unknown>();
  const visit = (value: unknown, place: () => string): void => {
    if (!isObject(value) || done.has(value)) return;
    if (value.$ref === undefined && !value.allOf && !value.anyOf && !value.oneOf) return;
    if (open.has(value)) {
      const message = "the schema applies itself to the same value, by $ref, allOf, anyOf or oneOf";
      throw documentError(document, "reference_circular", place(), message);
    }
    if (open.size > MOST_STEPS) {
      const message = `more than ${MOST_STEPS} schemas lead from one to the next by $ref, allOf, anyOf or oneOf`;
      throw documentError(document, "document_too_large", place(), message);
    }
    open.add(value);
    if (typeof value.$ref === "string") {
      const target = referenceTarget(document, value.$ref, place());
      visit(atPointer(document.root, target), () => target);
    }
    for (const key of ["allOf", "anyOf", "oneOf"]) {
      const list = value[key];
      if (!Array.isArray(list)) continue;
      for (const [index, part] of list.entries()) visit(part, () => pointerTo(place(), key, index));
    }
    open.delete(value);
    done.add(value);
  };
  return visit;
}

/** Only a document of the variant has this path (sections 4.1 and 4.2), or only paths that start so (section 9). */
const TOKEN_PATH = { A: /^\/api\/v1\/[^/]+\/external-plugin\/oauth\/token$/, B: /^\/v1\/auth\/token$/ };
const START = { A: /^\/api\/v1\//, B: /^\/v1\// };

/** The document of this package, which describes what is known of the variant. */
export function shippedDocument(variant: Variant): string {
  const manifest = createRequire(import.meta.url).resolve("bivariant/package.json");
  return join(dirname(manifest), "openapi", `variant-${variant.toLowerCase()}.yaml`);
}

/** A path that only a document of this variant has. */
export function pathOfVariant(variant: Variant, root: JsonObject): string | undefined {
  const paths = isObject(root.paths) ? Object.keys(root.paths).filter((path) => path.startsWith("/")) : [];
  const isWhole = paths.every((path) => START[variant].test(path));
  return paths.find((path) => isWhole || TOKEN_PATH[variant].test(path));
}

function refuseOtherVariant(document: Document): void {
  const { root, variant } = document;
  const other = variant === "A" ? "B" : "A";
  const found = pathOfVariant(other, root);
  if (found === undefined) return;
  const message = `${found} is a path of Variant ${other}, but this document was passed as that of Variant ${variant}. Are the two documents swapped?`;
  throw documentError(document, "document_swapped", pointerTo("/paths", found), message);
}

export function atPointer(root: unknown, pointer: string): unknown {
  let value = root;
  for (const key of keysOf(pointer)) {
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return value;
}

interface Place {
  readonly value: unknown;
  readonly pointer: string;
}

/** Follows `$ref` to the first value that is not a reference. */
export function follow(document: Document, value: unknown, pointer: string): Place {
  const seen = new Set<string>();
  let place: Place = { value, pointer };
  while (isObject(place.value) && typeof place.value.$ref === "string") {
    const target = referenceTarget(document, place.value.$ref, place.pointer);
    if (seen.has(target)) {
      throw documentError(document, "reference_circular", pointer, `${target} refers back to itself`);
    }
    seen.add(target);
    place = { value: atPointer(document.root, target), pointer: target };
  }
  return place;
}

/** The pointer in a local `$ref`. Each variant is one file, so a reference to another file is refused. */
export function referenceTarget(document: Document, reference: string, pointer: string): string {
  if (!reference.startsWith("#/")) {
    const message = `${reference} refers to another document; only references that start with #/ are supported`;
    throw documentError(document, "reference_external", pointer, message);
  }
  const target = percentDecoded(reference.slice(1));
  // openapi-typescript decodes a reference after it has split it, so it would not find a separator that is encoded.
  if (atPointer(document.root, target) === undefined || /%2f|%7e[01]/i.test(reference)) {
    const message = `${reference} does not exist in this document`;
    const remover = document.origins.removerOf(target);
    if (remover !== undefined) {
      const still = `${document.file}#${pointer} refers to it`;
      throw actionError(remover, "reference_missing", `${message}, because this action removes it: ${still}`);
    }
    throw documentError(document, "reference_missing", pointer, message);
  }
  return target;
}

/** The values of these keys are instances, in which "$ref" and "x-not-shown" would be ordinary keys. */
export const INSTANCE_KEYS: ReadonlySet<string> = new Set([
  "example",
  "examples",
  "default",
  "const",
  "enum",
]);
/** These maps of schemas are not objects of the specification themselves, so they are not visited. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "schemas"]);
/** The keys of these maps are names that the author chose, so even a key "example" is not an instance here. */
export const NAMED_BY_AUTHOR: ReadonlySet<string> = new Set([
  ...SCHEMA_MAPS,
  ...["responses", "parameters", "requestBodies", "headers", "paths", "pathItems", "content"],
  ...["webhooks", "callbacks", "links", "securitySchemes", "encoding"],
]);

/** Visits every object of a document that is part of the description; skips instances such as examples. */
export function walkDocument(root: unknown, visit: (value: JsonObject, place: () => string) => void): void {
  const walk = (value: unknown, place: () => string, parentKey: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) walk(item, () => pointerTo(place(), index), "");
      return;
    }
    const isNamed = NAMED_BY_AUTHOR.has(parentKey);
    if (!SCHEMA_MAPS.has(parentKey)) visit(value as JsonObject, place);
    for (const [key, child] of Object.entries(value)) {
      if (INSTANCE_KEYS.has(key) && !isNamed) continue;
      walk(child, () => pointerTo(place(), key), isNamed ? "" : key);
    }
  };
  walk(root, () => "", "");
}
