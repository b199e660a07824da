/** An OpenAPI document: places in it, and its references. */
import { unescape as percentDecoded } from "node:querystring";
import type { Findings } from "./findings.js";
import { actionError, type Origins } from "./origins.js";
import {
  GenerateError,
  type GenerateErrorCode,
  isObject,
  keysOf,
  objectOf,
  pointerTo,
  type SourceFile,
} from "./source-file.js";

export type Variant = "A" | "B";

export const VARIANTS: readonly Variant[] = ["A", "B"];

export type ByVariant<T> = Readonly<Record<Variant, T>>;

export const METHODS = [
  "GET",
  "PUT",
  "POST",
  "DELETE",
  "OPTIONS",
  "HEAD",
  "PATCH",
  "TRACE",
] as const;
export type Method = (typeof METHODS)[number];

export interface Document extends SourceFile {
  readonly variant: Variant;
  readonly origins: Origins;
  readonly findings: Findings;
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
    pointer: inText,
  });
}

type ErrorAt = Parameters<typeof documentError>;

export function refuseAt(...place: ErrorAt): void {
  place[0].findings.error(documentError(...place));
}

export function warnAt(...place: ErrorAt): void {
  place[0].findings.warn(documentError(...place));
}

/** An object of a document, for what changes it. */
export type Writable = Record<string, unknown>;

/** The operations of a path item, each with its method and the key that it has there. */
export function operationsOf(
  item: unknown,
): { method: Method; key: string; operation: Writable }[] {
  return METHODS.flatMap((method) => {
    const key = method.toLowerCase();
    const operation = objectOf(item)[key];
    return isObject(operation) ? [{ method, key, operation: operation as Writable }] : [];
  });
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
export function follow(document: Document, value: unknown, pointer = ""): Place {
  const seen = new Set<string>();
  let place: Place = { value, pointer };
  while (isObject(place.value) && typeof place.value.$ref === "string") {
    const target = referenceTarget(document, place.value.$ref, place.pointer);
    if (seen.has(target)) {
      throw documentError(
        document,
        "reference_circular",
        pointer,
        `${target} refers back to itself`,
      );
    }
    seen.add(target);
    place = { value: atPointer(document.root, target), pointer: target };
  }
  return place;
}

/** What a local `$ref` leads to, which may be a reference too. */
export function referred(document: Document, reference: string): unknown {
  return atPointer(document.root, referenceTarget(document, reference, ""));
}

/**
 * The pointer in a local `$ref`. Those to other files have been bundled, except for those that an
 * overlay wrote.
 */
export function referenceTarget(document: Document, reference: string, pointer: string): string {
  if (!reference.startsWith("#/")) {
    const message =
      `${reference} cannot be followed. ` +
      "A reference must start with #/, or in a document also with the path of a file";
    throw documentError(document, "reference_external", pointer, message);
  }
  const target = percentDecoded(reference.slice(1));
  // openapi-typescript decodes a reference after it has split it, so it would not find a separator
  // that is encoded.
  if (atPointer(document.root, target) === undefined || /%2f|%7e[01]/i.test(reference)) {
    const message = `${reference} does not exist in this document`;
    const remover = document.origins.removerOf(target);
    if (remover !== undefined) {
      const still = `${document.file}#${pointer} refers to it`;
      throw actionError(
        remover,
        "reference_missing",
        `${message}, because this action removes it: ${still}`,
      );
    }
    throw documentError(document, "reference_missing", pointer, message);
  }
  return target;
}

/**
 * The values of these keys are instances, in which "$ref" and "x-not-shown" would be ordinary keys.
 */
export const INSTANCE_KEYS: ReadonlySet<string> = new Set([
  "example",
  "examples",
  "default",
  "const",
  "enum",
]);
/**
 * These maps of schemas are not objects of the specification themselves, so they are not visited.
 */
const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "schemas",
]);
/**
 * The keys of these maps are names that the author chose, so even a key "example" is not an
 * instance here.
 */
export const NAMED_BY_AUTHOR: ReadonlySet<string> = new Set([
  ...SCHEMA_MAPS,
  ...["responses", "parameters", "requestBodies", "headers", "paths", "pathItems", "content"],
  ...["webhooks", "callbacks", "links", "securitySchemes", "encoding"],
]);

/**
 * Reports an error in references. An extension may refer to anything, since it is of no use here.
 */
export function reportReference({ findings }: Document, cause: unknown): void {
  const isUnresolved =
    cause instanceof GenerateError &&
    ["reference_missing", "reference_external"].includes(cause.code);
  const keys = isUnresolved ? keysOf(cause.pointer ?? "") : [];
  // Names may begin so too, except for paths and statuses.
  const isName = (before = "") =>
    NAMED_BY_AUTHOR.has(before) && !["paths", "responses"].includes(before);
  if (isUnresolved && keys.some((key, index) => key.startsWith("x-") && !isName(keys[index - 1])))
    findings.warn(cause);
  else findings.error(cause);
}

/**
 * Visits every object of a document that is part of the description; skips instances such as
 * examples.
 */
export function walkDocument(
  root: unknown,
  visit: (value: Writable, place: () => string) => void,
): void {
  const walk = (value: unknown, place: () => string, parentKey: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) walk(item, () => pointerTo(place(), index), "");
      return;
    }
    const isNamed = NAMED_BY_AUTHOR.has(parentKey);
    if (!SCHEMA_MAPS.has(parentKey)) visit(value as Writable, place);
    for (const [key, child] of Object.entries(value)) {
      if (INSTANCE_KEYS.has(key) && !isNamed) continue;
      walk(child, () => pointerTo(place(), key), isNamed ? "" : key);
    }
  };
  walk(root, () => "", "");
}
