/**
 * Compares the two variants of each operation: what a call sends and what it gets, part by part.
 */
import { type Document, follow, type Variant } from "./document/document.js";
import { readDocument, shippedDocument } from "./document/read-document.js";
import {
  entriesOf,
  GenerateError,
  isObject,
  listOf,
  requireOptions,
} from "./document/source-file.js";
import { listOperations, type Operation } from "./operations/list-operations.js";

/** What one operation has in one variant and not, or other, in the other. */
export interface OperationDifference {
  readonly operationId: string;
  /**
   * A variant that does not describe a part has no value. One without the operation has only that
   * part.
   */
  readonly differences: readonly {
    /**
     * Such as `operation`, `path parameter tenantId`, `request client_id` or
     * `response 200 [].name`.
     */
    readonly part: string;
    readonly A?: string | undefined;
    readonly B?: string | undefined;
  }[];
}

/**
 * Compares the operations of both documents that have the same `operationId`: method and path,
 * bearer, parameters, media types, and fields of the request and of the response to each status.
 * Default: the documents of this package.
 *
 * @param operationId compares only this operation
 * @throws {GenerateError} `option_invalid` when neither document has the operation, and as
 * `generate` does
 * @example
 * const [login] = await diffVariants({ A: "variant-a.yaml", B: "variant-b.yaml" }, "requestToken");
 */
export async function diffVariants(
  documents: { readonly [V in Variant]?: string | undefined } = {},
  operationId?: string,
  options: { readonly signal?: AbortSignal | undefined; readonly refs?: string | undefined } = {},
): Promise<readonly OperationDifference[]> {
  const reading = requireOptions("diffVariants", options, { signal: true, refs: true });
  requireOptions("diffVariants", documents, { A: true, B: true });
  const operations = async (variant: Variant) => {
    const path = documents[variant] ?? shippedDocument(variant);
    const document = await readDocument(variant, path, reading);
    const list = listOperations(document);
    document.findings.refuse();
    return new Map(list.map((one) => [one.id, partsOf(document, one)]));
  };
  const [a, b] = await Promise.all([operations("A"), operations("B")]);
  const ids = [...new Set([...a.keys(), ...b.keys()])];
  if (operationId !== undefined && !ids.includes(operationId)) {
    const message = `neither document has the operation. They have ${ids.join(", ") || "none"}`;
    throw new GenerateError("option_invalid", message);
  }
  return ids
    .filter((id) => operationId === undefined || id === operationId)
    .map((id) => {
      const [inA, inB] = [a.get(id), b.get(id)];
      const both = inA !== undefined && inB !== undefined;
      const parts = both ? [...new Set([...inA.keys(), ...inB.keys()])] : ["operation"];
      const differences = parts.map((part) => ({ part, A: inA?.get(part), B: inB?.get(part) }));
      return { operationId: id, differences: differences.filter(({ A, B }) => A !== B) };
    });
}

function partsOf(document: Document, operation: Operation): ReadonlyMap<string, string> {
  const { method, path, anonymous, scope, parameters, body, responses } = operation;
  const parts = new Map([["operation", `${method} ${path}`]]);
  parts.set("bearer", anonymous ? "none" : (scope ?? "any scope"));
  for (const { name, in: place, required } of parameters) {
    parts.set(`${place} parameter ${name}`, required ? "required" : "optional");
  }
  const contents = responses.map(({ key, content }) => [`response ${key}`, content] as const);
  for (const [part, content] of [["request", body] as const, ...contents]) {
    parts.set(part, content?.mediaType ?? "no body");
    for (const [name, { types, need }] of fieldsOf(document, content?.media.schema)) {
      parts.set(`${part} ${name}`, `${types.join(" | ")}, ${need}`);
    }
  }
  return parts;
}

interface Field {
  readonly types: readonly string[];
  readonly need: "required" | "optional" | "required in some alternatives";
}

/**
 * How deep a field is looked for, because the fields of schemas that refer to each other multiply.
 */
const MOST_LEVELS = 8;

type Fields = ReadonlyMap<string, Field>;

/**
 * The fields of all parts and alternatives of a schema by name, such as `user.name` and `[].id`.
 */
function fieldsOf(document: Document, source: unknown, outer: readonly unknown[] = []): Fields {
  const fields = new Map<string, Field>();
  const { value: schema } = follow(document, source);
  if (!isObject(schema) || outer.includes(schema) || outer.length === MOST_LEVELS) return fields;
  const below = (part: unknown) => fieldsOf(document, part, [...outer, schema]);
  const add = (alternatives: readonly Fields[], prefix = "") => {
    for (const [name, { types }] of alternatives.flatMap((one) => [...one])) {
      const key = [prefix, name].filter(Boolean).join(".").replace(".[", "[");
      const needs = alternatives.map((one) => one.get(name)?.need ?? "optional");
      const [first = "optional"] = needs;
      const need = needs.every((one) => one === first) ? first : "required in some alternatives";
      fields.set(key, { types: [...new Set([...(fields.get(key)?.types ?? []), ...types])], need });
    }
  };
  for (const part of listOf(schema.allOf)) add([below(part)]);
  for (const alternatives of [schema.oneOf, schema.anyOf]) add(listOf(alternatives).map(below));
  const required = listOf(schema.required);
  for (const [name, member] of entriesOf(schema.properties)) {
    const types = typesOf(follow(document, member).value);
    fields.set(name, { types, need: required.includes(name) ? "required" : "optional" });
    add([below(member)], name);
  }
  add([below(schema.items)], "[]");
  return fields;
}

function typesOf(schema: unknown): string[] {
  if (!isObject(schema)) return ["any"];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value));
  return [schema.type ?? "any"].flat().map(String);
}
