/** Emits schemas.ts: every schema of both documents as a zod schema that is built when it is first asked for. */
import { type Document, follow, VARIANTS, type Variant } from "./document.js";
import { expressSchema } from "./express-schema.js";
import type { Schema } from "./expression.js";
import { atPointer, isObject, pointerTo } from "./json-pointer.js";
import type { Content, Operation, OperationLists } from "./list-operations.js";
import { fileHeader, literal, prettyLiteral, propertyName } from "./source-text.js";

/** @throws {GenerateError} schema_unsupported */
export function emitSchemas(documents: Readonly<Record<Variant, Document>>, lists: OperationLists): string {
  const tables = VARIANTS.map((variant) => ({ variant, ...schemaTable(documents[variant], lists[variant]) }));
  const rows = (cell: (name: string, variant: Variant) => string, mark: string) =>
    tables.map(({ variant, operations, components }) =>
      [
        `  ${mark}${variant}: {\n    ${mark}operations: {\n`,
        ...operations.map((operation) => operationRow(operation, (name) => cell(name, variant), mark)),
        `    }${mark ? ";" : ","}\n    ${mark}components: {\n`,
        ...components.map(
          (name) => `      ${mark}${propertyName(name)}: ${cell(name, variant)}${mark ? ";" : ","}\n`,
        ),
        `    }${mark ? ";" : ","}\n  }${mark ? ";" : ","}\n`,
      ].join(""),
    );
  return [
    fileHeader("The schemas of both variants for zod; nothing is built before it is asked for.", [
      documents.A,
      documents.B,
    ]),
    'import { z } from "zod";\n',
    "/** Builds the schema at the first call and gives the same one ever after. Unknown keys survive parsing. */",
    "export type LazySchema = () => z.ZodType;\n",
    `/** By operationId and status (\`default\` for every other), and by component name. */\nexport interface Schemas {\n${rows(() => "LazySchema", "readonly ").join("")}}\n`,
    ...tables
      .filter(({ definitions }) => definitions.size > 0)
      .map(
        ({ variant, definitions }) =>
          `const definitions${variant}: Record<string, unknown> = ${prettyLiteral(Object.fromEntries(definitions))};\n`,
      ),
    ...(tables.some(({ definitions }) => definitions.size > 0) ? [LAZY] : []),
    `export const schemas: Schemas = {\n${rows((name, variant) => `lazy(definitions${variant}, ${literal(name)})`, "").join("")}};\n`,
  ].join("\n");
}

// A registry of its own: zod would otherwise note every schema in the global one.
const LAZY = `function lazy(definitions: Record<string, unknown>, name: string): LazySchema {
  let schema: z.ZodType | undefined;
  return () => {
    schema ??= z.fromJSONSchema(
      { $ref: \`#/$defs/\${name.replaceAll("~", "~0").replaceAll("/", "~1")}\`, $defs: definitions } as Parameters<typeof z.fromJSONSchema>[0],
      { registry: z.registry() },
    );
    return schema;
  };
}
`;

interface OperationSchemas {
  readonly id: string;
  readonly request?: string | undefined;
  readonly responses: readonly (readonly [key: string, name: string])[];
}

interface SchemaTable {
  readonly operations: readonly OperationSchemas[];
  readonly components: readonly string[];
  readonly definitions: ReadonlyMap<string, Schema>;
}

/** Names and rewrites every schema that a component, a body or a reference leads to. */
function schemaTable(document: Document, list: readonly Operation[]): SchemaTable {
  const definitions = new Map<string, Schema>();
  const pending: (readonly [name: string, pointer: string])[] = [];
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
    const bare = isObject(source) && Object.keys(source).length === 1;
    return nameOf(bare ? follow(document, source, content.schema).pointer : content.schema);
  };
  const components = Object.keys(
    (atPointer(document.root, "/components/schemas") as object | undefined) ?? {},
  );
  for (const name of components) nameOf(pointerTo("/components/schemas", name));
  const operations = list.map((operation) => ({
    id: operation.id,
    request: named(operation.body),
    responses: operation.responses.flatMap((response) => {
      const name = named(response.content);
      if (name === undefined) return [];
      return (response.key === "default" ? ["default"] : response.statuses.map(String)).map(
        (key) => [key, name] as const,
      );
    }),
  }));
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const [name, pointer] = next;
    definitions.set(name, expressSchema(atPointer(document.root, pointer), pointer, { document, nameOf }));
  }
  return { operations, components, definitions };
}

function operationRow(operation: OperationSchemas, cell: (name: string) => string, mark: string): string {
  const end = mark ? ";" : ",";
  const responses = operation.responses.map(
    ([key, name]) => `          ${mark}${propertyName(key)}: ${cell(name)}${end}\n`,
  );
  return [
    `      ${mark}${propertyName(operation.id)}: {\n`,
    ...(operation.request === undefined
      ? []
      : [`        ${mark}request: ${cell(operation.request)}${end}\n`]),
    `        ${mark}responses: {\n${responses.join("")}        }${end}\n`,
    `      }${end}\n`,
  ].join("");
}
