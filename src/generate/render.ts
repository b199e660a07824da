/** Renders every generated file in memory: both `generate` and the drift check begin here. */
import { type Document, VARIANTS } from "./document.js";
import { emitLock } from "./emit-lock.js";
import { emitOperations } from "./emit-operations.js";
import { emitSchemas } from "./emit-schemas.js";
import { emitUnknowns } from "./emit-unknowns.js";
import { emitVariantTypes } from "./emit-variant-types.js";
import { listOperations } from "./list-operations.js";
import { readDocument } from "./read-document.js";

export interface DocumentPaths {
  /** Path of the document of Variant A. */
  readonly A: string;
  /** Path of the document of Variant B. */
  readonly B: string;
}

/** File name to content, the same for the same documents and versions. */
export async function render(paths: DocumentPaths): Promise<ReadonlyMap<string, string>> {
  const [a, b] = await Promise.all(VARIANTS.map((variant) => readDocument(variant, paths[variant])));
  if (a === undefined || b === undefined) throw new TypeError("two documents are needed");
  return renderDocuments({ A: a, B: b });
}

/** Between reading and this, documents may still be changed: everything below depends on their `root` alone. */
async function renderDocuments(documents: { readonly A: Document; readonly B: Document }) {
  const both = [documents.A, documents.B];
  const lists = { A: listOperations(documents.A), B: listOperations(documents.B) };
  // First of all, as it says which packages are missing.
  const [typesA, typesB] = [await emitVariantTypes(documents.A), await emitVariantTypes(documents.B)];
  return new Map([
    ["lock.json", emitLock(both)],
    ["operations.ts", emitOperations(both, lists)],
    ["schemas.ts", emitSchemas(documents, lists)],
    ["unknowns.ts", emitUnknowns(both)],
    ["variant-a.ts", typesA],
    ["variant-b.ts", typesB],
  ]);
}
