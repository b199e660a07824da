/** Writes the generated files. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DocumentPaths, render } from "./render.js";

export interface GenerateOptions {
  readonly documents: DocumentPaths;
  /** Folder for the generated files; it is made where it is missing. */
  readonly out: string;
}

/**
 * Generates types, operation table, schemas, unknowns and lock from two OpenAPI 3.1 documents. Deterministic: the same
 * documents and versions give the same bytes. Nothing is written when a document is refused.
 *
 * @returns The names of the files written, sorted.
 * @throws {GenerateError} with `code`, and `document` and `pointer` where one place is to blame.
 * @example
 * await generate({ documents: { A: "openapi/variant-a.yaml", B: "openapi/variant-b.yaml" }, out: "generated" });
 */
export async function generate(options: GenerateOptions): Promise<readonly string[]> {
  const files = await render(options.documents);
  await mkdir(options.out, { recursive: true });
  await Promise.all([...files].map(([name, content]) => writeFile(join(options.out, name), content)));
  return [...files.keys()].sort();
}
