/** Emits schemas.ts: every schema of both documents as a zod schema that is built at its first use. */
import { z } from "zod";
import {
  atPointer,
  type Document,
  documentError,
  referenceTarget,
  VARIANTS,
  type Variant,
} from "../document.js";
import type { Content } from "../messages.js";
import type { Operation, OperationLists } from "../operations.js";
import { isObject, pointerTo } from "../source-file.js";
import { expressSchema, type Schema } from "./rewrite-schema.js";
import { fileHeader, jsonText, literal, propertyName, UNCHECKED } from "./source-text.js";

/** A separate registry keeps the schemas out of zod's global one. zod copies every definition that it is given. */
const LAZY = `function lazy(definitions: Record<string, unknown>, name: string): LazySchema {
  let schema: z.ZodType | undefined;
  return () => {
    const $ref = \`#/$defs/\${name.replaceAll("~", "~0").replaceAll("/", "~1")}\`;
    schema ??= z.fromJSONSchema(
      { $ref, $defs: reachable(definitions, $ref) } as Parameters<typeof z.fromJSONSchema>[0],
      { registry: z.registry() },
    );
    return schema;
  };
}

/** The definitions to which a reference leads, directly or by others. */
function reachable(definitions: Record<string, unknown>, reference: string): Record<string, unknown> {
  const references = new Set<string>([reference]);
  const found = new Map<string, unknown>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key === "$ref" && typeof member === "string") references.add(member);
      else collect(member);
    }
  };
  for (const one of references) {
    const name = one.slice("#/$defs/".length).replaceAll("~1", "/").replaceAll("~0", "~");
    found.set(name, definitions[name]);
    collect(definitions[name]);
  }
  return Object.fromEntries(found);
}
`;

export function emitSchemas(documents: Readonly<Record<Variant, Document>>, lists: OperationLists): string {
  const both = [documents.A, documents.B];
  const tables = VARIANTS.map((variant) => schemaTable(documents[variant], lists[variant]));
  const withDefinitions = tables.filter(({ definitions }) => definitions.size > 0);
  const typeRows = tables.map((table) => tableRows(table, () => "LazySchema", "readonly ", ";"));
  const valueRows = tables.map((table) =>
    tableRows(table, (name) => `lazy(definitions${table.variant}, ${literal(name)})`, "", ","),
  );
  return [
    UNCHECKED + fileHeader("The schemas of both variants for zod. Each is built at its first use.", both),
    'import { z } from "zod";\n',
    "/** Builds the schema at the first call and returns the same one afterwards. Unknown keys survive parsing. */",
    "export type LazySchema = () => z.ZodType;\n",
    "/** By operationId and status (`default` for every other status), and by component name. */",
    `export interface Schemas {\n${typeRows.join("")}}\n`,
    ...withDefinitions.map(
      ({ variant, definitions }) =>
        `const definitions${variant}: Record<string, unknown> = ${jsonText(Object.fromEntries(definitions))};\n`,
    ),
    ...(withDefinitions.length > 0 ? [LAZY] : []),
    `export const schemas: Schemas = {\n${valueRows.join("")}};\n`,
  ].join("\n");
}

/** @throws GenerateError for a schema that cannot be expressed in zod, or an example that contradicts its schema. */
export function checkSchemas(document: Document, list: readonly Operation[]): void {
  schemaTable(document, list);
}

type SchemaTable = ReturnType<typeof schemaTable>;

/** Names and rewrites every schema that a component, a body or a reference leads to. */
function schemaTable(document: Document, list: readonly Operation[]) {
  const definitions = new Map<string, Schema>();
  const pending: (readonly [name: string, pointer: string])[] = [];
  const examples: (readonly [name: string, content: Content])[] = [];
  const nameOf = (pointer: string): string => {
    const name = /^\/components\/schemas\/([A-Za-z0-9._-]+)$/.exec(pointer)?.[1] ?? pointer;
    if (!definitions.has(name)) {
      definitions.set(name, true);
      pending.push([name, pointer]);
    }
    return name;
  };
  const named = (content: Content | undefined): string | undefined => {
    if (content?.schema === undefined) return undefined;
    const source = atPointer(document.root, content.schema);
    // A schema that is only a reference needs no name of its own.
    const reference = isObject(source) && Object.keys(source).length === 1 ? source.$ref : undefined;
    const target =
      typeof reference === "string" ? referenceTarget(document, reference, content.schema) : undefined;
    const name = nameOf(target ?? content.schema);
    const { example } = content.media;
    if (example !== undefined && /json\b/.test(content.mediaType)) examples.push([name, content]);
    return name;
  };
  const schemas = atPointer(document.root, "/components/schemas");
  const components = isObject(schemas) ? Object.keys(schemas) : [];
  for (const name of components) nameOf(pointerTo("/components/schemas", name));
  const operations = list.map(({ id, body, responses }) => ({
    id,
    request: named(body),
    responses: responses.flatMap((response) => {
      const name = named(response.content);
      if (name === undefined) return [];
      const keys = response.key === "default" ? ["default"] : response.statuses.map(String);
      return keys.map((key) => [key, name] as const);
    }),
  }));
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const [name, pointer] = next;
    const schema = expressSchema(atPointer(document.root, pointer), pointer, { document, nameOf });
    // zod does not find a definition that is `false`.
    definitions.set(name, schema === false ? { not: {} } : schema);
  }
  for (const [name, { media, schema = "" }] of examples) {
    const source = { $ref: `#/$defs${pointerTo("", name)}`, $defs: Object.fromEntries(definitions) };
    let issue: z.core.$ZodIssue | undefined;
    try {
      const zodSchema = z.fromJSONSchema(source as Parameters<typeof z.fromJSONSchema>[0], {
        registry: z.registry(),
      });
      issue = zodSchema.safeParse(media.example).error?.issues[0];
    } catch (cause) {
      // The stack overflows over thousands of schemas that lead from one to the next.
      const message = `zod cannot check the example: ${(cause as Error).message}`;
      throw documentError(document, "schema_unsupported", schema, message);
    }
    if (issue === undefined) continue;
    const message = `the example contradicts its schema: $${z.core.toDotPath(["", ...issue.path])}: ${issue.message}`;
    throw documentError(document, "example_invalid", schema.replace(/schema$/, "example"), message);
  }
  return { variant: document.variant, operations, components, definitions };
}

/** The rows of one variant, as types (`readonly a: LazySchema;`) or as values (`a: lazy(…),`). */
function tableRows(table: SchemaTable, cell: (name: string) => string, mark: string, end: string): string {
  const row = (indent: string, key: string, value: string) =>
    `${indent}${mark}${propertyName(key)}: ${value}${end}\n`;
  const group = (indent: string, key: string, rows: readonly string[]) =>
    row(indent, key, `{\n${rows.join("")}${indent}}`);
  const operations = table.operations.map(({ id, request, responses }) =>
    group("      ", id, [
      ...(request === undefined ? [] : [row("        ", "request", cell(request))]),
      group(
        "        ",
        "responses",
        responses.map(([key, name]) => row("          ", key, cell(name))),
      ),
    ]),
  );
  const components = table.components.map((name) => row("      ", name, cell(name)));
  return group("  ", table.variant, [
    group("    ", "operations", operations),
    group("    ", "components", components),
  ]);
}
