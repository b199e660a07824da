/**
 * Emits schemas.ts: every schema of both documents as a zod schema that is built at its first use.
 */
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { jsonChecker } from "../../json-schema/index.js";
import {
  atPointer,
  type Document,
  follow,
  referenceTarget,
  type Variant,
  warnAt,
} from "../document/document.js";
import { entriesOf, isObject, objectOf, pointerTo } from "../document/source-file.js";
import type { ListedDocument } from "../operations/list-operations.js";
import { type Content, isJson } from "../operations/messages.js";
import { checkedSchema, type Schema } from "../schemas/checked-schema.js";
import { fileHeader, jsonText, literal, propertyName, UNCHECKED } from "./source-text.js";

/** @param out the folder of the generated files */
export function emitSchemas(documents: readonly ListedDocument[], out?: string): string {
  const tables = documents.map(schemaTable);
  const withDefinitions = tables.filter(({ definitions }) => definitions.size > 0);
  const typeRows = tables.map((table) => tableRows(table, () => "LazySchema", "readonly ", ";"));
  const valueRows = tables.map((table) =>
    tableRows(table, (name) => `schema${table.variant}(${literal(name)})`, "", ","),
  );
  return [
    UNCHECKED +
      fileHeader(
        "The schemas of both variants for zod. Each is built at its first use.",
        documents,
      ),
    `import { ${withDefinitions.length > 0 ? "jsonSchemas, " : ""}type LazySchema } from ` +
      `${literal(checkerModule(out))};\n`,
    "export type { LazySchema };\n",
    "/** By operationId and status (`default` for every other status), and by component name. */",
    `export interface Schemas {\n${typeRows.join("")}}\n`,
    ...withDefinitions.map(
      ({ variant, definitions }) =>
        `const schema${variant} = /* @__PURE__ */ ` +
        `jsonSchemas(${jsonText(Object.fromEntries(definitions))});\n`,
    ),
    `export const schemas: Schemas = {\n${valueRows.join("")}};\n`,
  ].join("\n");
}

/**
 * Code in this package's own repository imports the source, since the package is not built there.
 */
function checkerModule(out: string | undefined): string {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const source = join(root, "src", "json-schema", "index");
  if (out === undefined || packageOf(resolve(out)) !== resolve(root) || !existsSync(`${source}.ts`))
    return "bivariant/json-schema";
  return `${relative(resolve(out), source).split(sep).join("/")}.js`;
}

/** The nearest folder at or above `folder` that has a package.json. */
function packageOf(folder: string): string | undefined {
  const above = dirname(folder);
  if (existsSync(join(folder, "package.json"))) return folder;
  return above === folder ? undefined : packageOf(above);
}

interface SchemaTable {
  readonly variant: Variant;
  readonly operations: readonly {
    readonly id: string;
    readonly request: string | undefined;
    readonly responses: readonly (readonly [key: string, name: string])[];
  }[];
  readonly components: readonly string[];
  readonly definitions: ReadonlyMap<string, Schema>;
}

/**
 * Names and reads every schema that a component, a body or a reference leads to. The name is that
 * of the component, or a JSON pointer. Reports what the validator cannot check.
 */
export function schemaTable(document: ListedDocument): SchemaTable {
  const definitions = new Map<string, Schema>();
  const pending: (readonly [name: string, pointer: string])[] = [];
  const examples: (readonly [name: string, example: Example])[] = [];
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
    const reference =
      isObject(source) && Object.keys(source).length === 1 ? source.$ref : undefined;
    const target =
      typeof reference === "string"
        ? referenceTarget(document, reference, content.schema)
        : undefined;
    const name = nameOf(target ?? content.schema);
    for (const example of isJson(content.mediaType) ? examplesOf(document, content) : [])
      examples.push([name, example]);
    return name;
  };
  const components = Object.keys(objectOf(atPointer(document.root, "/components/schemas")));
  for (const name of components) nameOf(pointerTo("/components/schemas", name));
  const operations = document.operations.map(({ id, body, responses }) => ({
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
    definitions.set(
      name,
      checkedSchema(atPointer(document.root, pointer), pointer, { document, nameOf }),
    );
  }
  const checker = jsonChecker(Object.fromEntries(definitions));
  for (const [name, { value, pointer }] of examples) {
    const [issue] = checker(name)(value);
    if (issue === undefined) continue;
    const message = `the example contradicts its schema: ${issue.place}: ${issue.message}`;
    warnAt(document, "example_invalid", pointer, message);
  }
  return { variant: document.variant, operations, components, definitions };
}

interface Example {
  readonly value: unknown;
  readonly pointer: string;
}

function examplesOf(document: Document, { media, schema = "" }: Content): readonly Example[] {
  const at = (...keys: string[]) => pointerTo(schema.replace(/\/schema$/, ""), ...keys);
  const named = entriesOf(media.examples).map(([name, example]) => {
    const place = follow(document, example, at("examples", name));
    return { value: Object(place.value).value, pointer: pointerTo(place.pointer, "value") };
  });
  return [{ value: media.example, pointer: at("example") }, ...named].filter(
    ({ value }) => value !== undefined,
  );
}

/** The rows of one variant, as types (`readonly a: LazySchema;`) or as values (`a: lazy(…),`). */
function tableRows(
  table: SchemaTable,
  cell: (name: string) => string,
  mark: string,
  end: string,
): string {
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
