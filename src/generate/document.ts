/** An OpenAPI document as the generator reads it, and following the references inside it. */
import { GenerateError, type GenerateErrorCode } from "./generate-error.js";
import { atPointer, isObject, type JsonObject } from "./json-pointer.js";

export type Variant = "A" | "B";

export const VARIANTS: readonly Variant[] = ["A", "B"];

export interface Document {
  readonly variant: Variant;
  /** File name without folders, so that what is generated does not depend on where it is generated. */
  readonly file: string;
  /** Hash of the text after a byte order mark and CRLF line ends are normalised away. */
  readonly sha256: string;
  readonly root: JsonObject;
}

/** A value together with the place it really stands at, after references were followed. */
export interface Place {
  readonly value: unknown;
  readonly pointer: string;
}

export function documentError(
  document: Document,
  code: GenerateErrorCode,
  pointer: string,
  message: string,
): GenerateError {
  return new GenerateError(code, message, { document: document.file, pointer });
}

/** Follows `$ref` until something else stands there. */
export function follow(document: Document, value: unknown, pointer: string): Place {
  const seen = new Set<string>();
  let place: Place = { value, pointer };
  while (isObject(place.value) && typeof place.value.$ref === "string") {
    const target = referenceTarget(document, place.value.$ref, place.pointer);
    if (seen.has(target))
      throw documentError(document, "reference_circular", pointer, `${target} leads back to itself`);
    seen.add(target);
    place = { value: atPointer(document.root, target), pointer: target };
  }
  return place;
}

/** The pointer inside a local `$ref`. One file per variant: what points outside it is refused. */
export function referenceTarget(document: Document, reference: string, pointer: string): string {
  if (!reference.startsWith("#/")) {
    throw documentError(
      document,
      "reference_external",
      pointer,
      `${reference} points outside the document; only #/… is followed`,
    );
  }
  const target = decodeFragment(reference.slice(1));
  if (atPointer(document.root, target) === undefined) {
    throw documentError(document, "reference_missing", pointer, `nothing stands at ${reference}`);
  }
  return target;
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
