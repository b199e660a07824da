/**
 * Emits operations.ts: the runtime table of operations and the lookup types of `call` and `paths`.
 */
import { METHODS } from "../document/document.js";
import type { ProvenanceNotes } from "../document/provenance.js";
import type { ListedDocument } from "../operations/list-operations.js";
import { CALL_TYPES, callTypes, initRequired, otherStatuses } from "./call-types.js";
import { operationTable } from "./operation-table.js";
import { fileHeader, literal, prettyLiteral, propertyName, UNCHECKED } from "./source-text.js";

export function emitOperations(
  documents: readonly [A: ListedDocument, B: ListedDocument],
  notes: ProvenanceNotes,
): string {
  const body = [
    CALL_TYPES,
    FIXED_TYPES,
    otherStatuses(documents),
    ...documents.map((document) => callTypes(document, notes)),
    bothTypes(...documents),
    ...documents.map(pathTypes),
    TABLE_TYPES,
    tableType(documents),
    ...documents.map(table),
    "export const operations: OperationTable = { A: operationsA, B: operationsB };\n",
  ].join("\n");
  // An unused import is an error under noUnusedLocals.
  const isUsed = ({ variant }: ListedDocument) =>
    ["", "requests.", "answers."].some((own) => body.includes(`${variant}.${own}operations[`));
  const imports = documents
    .filter(isUsed)
    .map(
      ({ variant }) =>
        `import type * as ${variant} from "./variant-${variant.toLowerCase()}.js";\n`,
    );
  return [
    UNCHECKED +
      fileHeader("The operations of both variants: runtime table and lookup types.", documents),
    imports.join(""),
    body,
  ].join("\n");
}

const FIXED_TYPES = `/** One row of the runtime table. */
export interface OperationEntry {
  readonly method: string;
  /** The path template of the document. */
  readonly path: string;
  /** Documented 2xx statuses; empty where none is, and then each 2xx is a success. */
  readonly success: readonly number[];
  /** Documented statuses other than 2xx. */
  readonly failure: readonly number[];
  /**
   * Parameters that a caller must pass outside of the path, cookies, and those whose form is not
   * the usual one.
   */
  readonly parameters?: readonly ParameterEntry[];
  /**
   * Media type of the request body, if there is one, unless the header content-type of a call names
   * another.
   */
  readonly contentType?: string;
  /**
   * All documented media types of the body with the encoding of their members, where there are
   * several or any. The key may be a range: a call must name the media type for one such as
   * image/*.
   */
  readonly contents?: Readonly<Record<string, Readonly<Record<string, PropertyEncoding>>>>;
  /** The document requires a request body. */
  readonly bodyRequired?: true;
  /**
   * Documented media types of an answer by status, range (4XX) or \`default\`. Left out where they
   * add nothing: of a success that is empty or application/json, of any other that is empty, JSON,
   * text or of any type.
   */
  readonly answers?: Readonly<Record<string, readonly string[]>>;
  /** Sent without a bearer: \`security: []\` in the document. */
  readonly anonymous?: true;
  /** The scope that the route requires: the first one in \`security\`. */
  readonly scope?: string;
  /** The path or query parameter, or the member of the body, that names a device. */
  readonly deviceParameter?: string | { readonly in: "body"; readonly name: string };
  /** Accepts no plugin token: \`x-plugin-enabled: false\` in the document. */
  readonly takesPluginTokens?: false;
}

/**
 * A parameter of a row. What is not named is the default of its place (OpenAPI 3.1.1, Parameter
 * Object).
 */
export interface ParameterEntry {
  readonly in: "path" | "query" | "header" | "cookie";
  readonly name: string;
  readonly required?: true;
  readonly style?: string;
  readonly explode?: boolean;
  readonly allowReserved?: true;
  /** Media type of \`content\`. */
  readonly content?: string;
}

/** A member of a form. With \`style\` it is written like a query parameter, else by media type. */
export interface PropertyEncoding {
  readonly contentType?: string;
  readonly style?: string;
  readonly explode?: boolean;
  readonly allowReserved?: true;
}

/** What only an emulator needs, so that it stays out of the bundle of a client. */
export const emulation: () => Promise<object> = () => import("./emulation.js");
`;

const TABLE_TYPES = `/** The lookup types of both variants in one place. */
export interface OperationTypes {
  A: OperationsA;
  B: OperationsB;
  both: OperationsBoth;
  paths: { A: PathsA; B: PathsB };
}
`;

function bothTypes(A: ListedDocument, B: ListedDocument): string {
  const inB = new Map(B.operations.map((operation) => [operation.id, operation]));
  const lines = A.operations.flatMap((operation) => {
    const other = inB.get(operation.id);
    if (other === undefined) return [];
    const mark = initRequired("A", operation) || initRequired("B", other) ? "" : "?";
    const key = literal(operation.id);
    return [
      `  ${propertyName(operation.id)}: { args: [init${mark}: ` +
        `InitsA[${key}] & InitsB[${key}]] };\n`,
    ];
  });
  return (
    "/** What both variants accept: the operationIds that are in both documents. " +
    `*/\nexport interface OperationsBoth {\n${lines.join("")}}\n`
  );
}

function pathTypes({ variant, operations }: ListedDocument): string {
  const lines = METHODS.map((method) => {
    const rows = operations
      .filter((operation) => operation.method === method)
      .map((operation) => `    ${propertyName(operation.path)}: ${literal(operation.id)};\n`);
    return rows.length === 0
      ? `  ${method}: Record<never, never>;\n`
      : `  ${method}: {\n${rows.join("")}  };\n`;
  });
  return (
    `/** Variant ${variant}: method, path, operationId. ` +
    `*/\nexport interface Paths${variant} {\n${lines.join("")}}\n`
  );
}

function tableType(documents: readonly ListedDocument[]): string {
  // Literal types, because interfaces are not assignable to an index signature.
  const variants = documents.map(({ variant, operations }) => {
    const keys = operations.map(({ id }) => `    readonly ${propertyName(id)}: OperationEntry;\n`);
    return `  readonly ${variant}: {\n${keys.join("")}  };\n`;
  });
  return (
    `/** The runtime table. \`types\` does not exist at run time; ` +
    `it carries the lookup types to \`connect({ api })\`. ` +
    `*/\nexport interface OperationTable {\n${variants.join("")}  readonly types?: ` +
    `OperationTypes;\n}\n`
  );
}

function table(document: ListedDocument): string {
  const rows = prettyLiteral(operationTable(document));
  const { variant } = document;
  return `export const operations${variant}: OperationTable[${literal(variant)}] = ${rows};\n`;
}
