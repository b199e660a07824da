/**
 * What an emulator needs of the operations of a document: answers and requests. Emits emulation.ts,
 * or reads documents for `emulate`.
 */
import type { BundleOptions } from "../document/bundle.js";
import { type Document, follow, VARIANTS, type Variant } from "../document/document.js";
import { readDocument } from "../document/read-document.js";
import { isObject, type JsonObject, objectOf } from "../document/source-file.js";
import { type ListedDocument, withOperations } from "../operations/list-operations.js";
import {
  type Content,
  isEventStream,
  isJson,
  isJsonSequence,
  isMultipart,
} from "../operations/messages.js";
import { mergedSchema } from "../schemas/alternatives.js";
import { isAllowed, NOT_FOUND, sampleOf } from "../schemas/sample.js";
import { isSuccess } from "./call-types.js";
import { type OperationRow, operationTable } from "./operation-table.js";
import { type DocumentedRequests, documentedRequests } from "./requests.js";
import { schemaTable } from "./schemas.js";
import { fileHeader, jsonText, prettyLiteral } from "./source-text.js";

interface Answer {
  readonly status: number;
  /** Absent for an answer without a body. */
  readonly contentType?: string;
  /**
   * An example of the document, else a value that its schema allows; absent if neither is shown.
   */
  readonly body?: unknown;
  /** The other documented media types that can be made, for calls that accept only those. */
  readonly others?: readonly Omit<Answer, "status" | "others">[];
}

/** What an emulator answers and reads in one variant. */
interface Emulated {
  readonly variant: Variant;
  /** The first documented success of each operation that has one, by operationId. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** Why an answer has no sample, by operationId. */
  readonly notSampled: Readonly<Record<string, string>>;
  readonly requests: DocumentedRequests;
}

/** Makes the samples of a document, which takes seconds for a large one. */
export function emulated(document: ListedDocument): Emulated {
  const answers: [id: string, Answer][] = [];
  const notSampled: [id: string, reason: string][] = [];
  for (const { id, responses } of document.operations) {
    const success = responses.find(({ statuses }) => statuses.some(isSuccess));
    const [status] = success?.statuses ?? [];
    if (success === undefined || status === undefined) continue;
    const made = success.all.filter(({ mediaType }) => !isMultipart(mediaType));
    const content = made.find((one) => one === success.content) ?? made[0];
    const body = content && bodyOf(document, content);
    if (success.content !== undefined && content === undefined)
      notSampled.push([id, `no ${success.content.mediaType} answer is made`]);
    if (body === NOT_FOUND) {
      const { $ref: at = content?.schema } = Object(content?.media.schema);
      notSampled.push([id, `no value is found that the schema ${at} allows; give an example`]);
    }
    const others = made
      .filter((other) => other !== content)
      .map((other) => ({ contentType: other.mediaType, body: bodyOf(document, other) }))
      .filter((other) => other.body !== undefined && other.body !== NOT_FOUND);
    const isShown = body !== undefined && body !== NOT_FOUND;
    const answer = {
      status,
      ...(content && { contentType: content.mediaType }),
      ...(isShown && { body }),
    };
    answers.push([id, { ...answer, ...(others.length > 0 && { others }) }]);
  }
  return {
    variant: document.variant,
    answers: Object.fromEntries(answers),
    notSampled: Object.fromEntries(notSampled),
    requests: documentedRequests(document),
  };
}

/**
 * The first example that the schema allows, else a sample; undefined if the document does not show
 * the body.
 */
function bodyOf(document: Document, { mediaType, media }: Content): unknown {
  const examples = Object.values(objectOf(media.examples)).map(
    (example) => objectOf(follow(document, example).value).value,
  );
  const given = [media.example, ...examples].filter((value) => value !== undefined);
  if (isJson(mediaType) || mediaType.includes("*")) {
    const allowed = given.find((value) => isAllowed(document, media.schema ?? true, value));
    return allowed === undefined ? sampleOf(document, media.schema) : allowed;
  }
  // The example of a text is the text itself, whatever its schema describes.
  const text = given.find((value) => typeof value === "string");
  const value = text ?? given[0] ?? sampleOf(document, media.schema);
  if (value === undefined || value === NOT_FOUND || value === text) return value;
  return asText(document, mediaType, media.schema, value);
}

function asText(document: Document, mediaType: string, schema: unknown, value: unknown): string {
  if (isEventStream(mediaType)) return eventsOf(value);
  if (isJsonSequence(mediaType)) {
    const start = /json-seq/i.test(mediaType) ? "\u001e" : "";
    return (Array.isArray(value) ? value : [value])
      .map((one) => `${start}${JSON.stringify(one)}\n`)
      .join("");
  }
  if (/[/+]xml\b/i.test(mediaType))
    return `<?xml version="1.0"?>\n${xmlOf(document, schema, "root", value)}`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * A list has an event in each item. An object with `data` is an event itself (OpenAPI 3.2,
 * "Server-Sent Events").
 */
function eventsOf(value: unknown): string {
  const events = (Array.isArray(value) ? value : [value]).map((one) => {
    const fields: JsonObject = isObject(one) && one.data !== undefined ? one : { data: one };
    const lines = ["event", "id", "retry", "data"].flatMap((name) => {
      const field = fields[name];
      if (field === undefined || field === null) return [];
      const text = typeof field === "object" ? JSON.stringify(field) : String(field);
      return text.split("\n").map((line) => `${name}: ${line}\n`);
    });
    return `${lines.join("")}\n`;
  });
  return events.join("");
}

/** The XML Object of OpenAPI 3.1.1: names, attributes, wrapped lists, prefixes. */
function xmlOf(document: Document, source: unknown, given: string, value: unknown): string {
  const merged = mergedSchema(document, source);
  const { $ref } = Object(source);
  const reference =
    given === "root" && typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
  const xml = objectOf(merged.xml);
  const bare = String(xml.name ?? reference ?? given);
  const prefix = typeof xml.prefix === "string" ? `${xml.prefix}:` : "";
  const name = prefix + bare.replace(/[^\w.-]/g, "_");
  const space =
    typeof xml.namespace === "string"
      ? ` xmlns${prefix && `:${xml.prefix}`}="${escaped(xml.namespace)}"`
      : "";
  if (Array.isArray(value)) {
    const items = value
      .map((item) => xmlOf(document, merged.items, xml.wrapped ? given : name, item))
      .join("");
    return xml.wrapped === true || given === "root" ? `<${name}${space}>${items}</${name}>` : items;
  }
  if (!isObject(value)) return `<${name}${space}>${escaped(value ?? "")}</${name}>`;
  const members = Object.entries(value).map(([key, member]) => {
    const schema = objectOf(merged.properties)[key];
    const own = objectOf(mergedSchema(document, schema).xml);
    if (own.attribute !== true) return { element: xmlOf(document, schema, key, member) };
    return { attribute: ` ${own.name ?? key}="${escaped(member)}"` };
  });
  const attributes = members.map(({ attribute = "" }) => attribute).join("");
  return (
    `<${name}${space}${attributes}>${members.map(({ element = "" }) => element).join("")}</` +
    `${name}>`
  );
}

function escaped(value: unknown): string {
  const codes: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
  };
  return String(value).replace(/[&<>"]/g, (character) => codes[character] ?? "");
}

/**
 * What emulation.ts does not show, for operations.ts; nothing if there is a sample for everything.
 */
export function emitNotSampled(both: readonly Emulated[]): string {
  if (both.every(({ notSampled }) => Object.keys(notSampled).length === 0)) return "";
  const table = Object.fromEntries(both.map(({ variant, notSampled }) => [variant, notSampled]));
  const type = 'Readonly<Record<"A" | "B", Readonly<Record<string, string>>>>';
  const comment = "/** Why the emulator has no sample for an answer, by operationId. */";
  return `\n${comment}\nexport const notSampled: ${type} = ${prettyLiteral(table)};\n`;
}

export function emitEmulation(documents: readonly Document[], both: readonly Emulated[]): string {
  const answers = both.map(({ variant, answers }) => `  ${variant}: ${jsonText(answers)},\n`);
  const requests = both.map(
    ({ variant, requests: { operations, schemas } }) =>
      `  ${variant}: {\n    operations: ${jsonText(operations)},\n    schemas: ` +
      `${jsonText(schemas)},\n  },\n`,
  );
  return [
    fileHeader(
      "What an emulator answers and reads, from the examples and the schemas of both documents.",
      documents,
    ),
    `export const emulation: Readonly<Record<"A" | "B", Readonly<Record<string, unknown>>>> = ` +
      `{\n${answers.join("")}};\n`,
    "/** Parameters and bodies by operationId, and the schemas to which they refer. */",
    `export const requests: Readonly<Record<"A" | "B", object>> = {\n${requests.join("")}};\n`,
  ].join("\n");
}

/** What the module operations.ts holds at run time. */
export interface DocumentedApi {
  readonly operations: Record<Variant, Readonly<Record<string, OperationRow>>>;
  readonly emulation: () => Promise<object>;
  readonly notSampled: Record<Variant, Readonly<Record<string, string>>>;
}

/**
 * Reads documents as the `api` of an emulator. It needs none of the packages that generating needs.
 *
 * @throws {GenerateError}
 */
export async function readApi(
  paths: { readonly [V in Variant]?: string | undefined },
  options: BundleOptions = {},
): Promise<DocumentedApi> {
  const operations: DocumentedApi["operations"] = { A: {}, B: {} };
  const emulation = { A: {}, B: {} };
  const requests: { [V in Variant]?: DocumentedRequests } = {};
  const notSampled = { A: {}, B: {} };
  for (const variant of VARIANTS) {
    const path = paths[variant];
    if (path === undefined) continue;
    const document = withOperations(await readDocument(variant, path, options));
    document.findings.refuse();
    // It throws for a schema that cannot be checked.
    schemaTable(document);
    operations[variant] = operationTable(document);
    const all = emulated(document);
    emulation[variant] = all.answers;
    requests[variant] = all.requests;
    notSampled[variant] = all.notSampled;
  }
  return { operations, notSampled, emulation: async () => ({ emulation, requests }) };
}
