/** What an emulator answers for the operations of a document. Emits emulation.ts, or reads documents for `emulate`. */
import { type Document, follow, readDocument, VARIANTS, type Variant } from "../document.js";
import type { Content } from "../messages.js";
import { listOperations, type Operation, type OperationLists } from "../operations.js";
import { isObject } from "../source-file.js";
import { type OperationRow, operationTable } from "./operation-table.js";
import { sampleOf } from "./sample.js";
import { checkSchemas } from "./schemas.js";
import { fileHeader, jsonText } from "./source-text.js";

interface Answer {
  readonly status: number;
  /** Absent for an answer without a body. */
  readonly contentType?: string;
  /** An example of the document, else a value that its schema allows; absent if neither is shown. */
  readonly body?: unknown;
}

/** The first documented success of each operation that has one, by operationId. */
function answersOf(document: Document, operations: readonly Operation[]): Readonly<Record<string, Answer>> {
  const answers: [id: string, Answer][] = [];
  for (const { id, responses } of operations) {
    const success = responses.find(({ statuses: [status = 0] }) => status >= 200 && status < 300);
    const [status] = success?.statuses ?? [];
    if (success === undefined || status === undefined) continue;
    const { content } = success;
    const body = content && bodyOf(document, content);
    answers.push([
      id,
      { status, ...(content && { contentType: content.mediaType }), ...(body !== undefined && { body }) },
    ]);
  }
  return Object.fromEntries(answers);
}

function bodyOf(document: Document, { media }: Content): unknown {
  if (media.example !== undefined) return media.example;
  const [example] = Object.values(isObject(media.examples) ? media.examples : {});
  const { value } = follow(document, example, "");
  return isObject(value) && value.value !== undefined ? value.value : sampleOf(document, media.schema);
}

export function emitEmulation(documents: Readonly<Record<Variant, Document>>, lists: OperationLists): string {
  const { A, B } = documents;
  const answers = VARIANTS.map(
    (variant) => `  ${variant}: ${jsonText(answersOf(documents[variant], lists[variant]))},\n`,
  );
  return [
    fileHeader("The answers of an emulator, from the examples and the schemas of both documents.", [A, B]),
    `export const emulation: Readonly<Record<"A" | "B", Readonly<Record<string, unknown>>>> = {\n${answers.join("")}};\n`,
  ].join("\n");
}

/** What the module operations.ts holds at run time. */
export interface DocumentedApi {
  readonly operations: Record<Variant, Readonly<Record<string, OperationRow>>>;
  readonly emulation: () => Promise<object>;
}

/**
 * Reads documents as the `api` of an emulator. It needs none of the packages that generating needs.
 *
 * @throws {GenerateError}
 */
export async function readApi(
  paths: { readonly [V in Variant]?: string | undefined },
): Promise<DocumentedApi> {
  const operations: DocumentedApi["operations"] = { A: {}, B: {} };
  const emulation = { A: {}, B: {} };
  for (const variant of VARIANTS) {
    const path = paths[variant];
    if (path === undefined) continue;
    const document = await readDocument(variant, path);
    const list = listOperations(document);
    checkSchemas(document, list);
    operations[variant] = operationTable(variant, list);
    emulation[variant] = answersOf(document, list);
  }
  return { operations, emulation: async () => ({ emulation }) };
}
