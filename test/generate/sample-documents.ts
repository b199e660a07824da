/** Two small documents on disk, for tests that change one of them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";

export interface Sample {
  readonly documents: { readonly A: string; readonly B: string };
  readonly out: string;
}

/** A document with the given paths and components. */
export function openapi(paths: object, components: object = {}): object {
  return { openapi: "3.1.0", info: { title: "Sample", version: "1" }, paths, components };
}

export const ONE_OPERATION = {
  "/things": { get: { operationId: "listThings", responses: { 200: { description: "Things." } } } },
};

/** Writes both documents into a folder that goes away with the test. */
export async function sample(a: object | string, b?: object | string): Promise<Sample> {
  const folder = await mkdtemp(join(tmpdir(), "generate-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return writeSample(folder, a, b);
}

/** Writes both documents into `folder`: a string as it is, else as YAML. */
export async function writeSample(
  folder: string,
  a: object | string,
  b: object | string = openapi(ONE_OPERATION),
): Promise<Sample> {
  const documents = { A: join(folder, "a.yaml"), B: join(folder, "b.yaml") };
  await writeFile(documents.A, typeof a === "string" ? a : stringify(a));
  await writeFile(documents.B, typeof b === "string" ? b : stringify(b));
  return { documents, out: join(folder, "generated") };
}
