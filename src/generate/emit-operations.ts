/** Emits operations.ts: the runtime table of operations and the lookup types of `call` and `paths`. */
import { callTypes, initRequired, isSuccess } from "./call-types.js";
import { type Document, VARIANTS, type Variant } from "./document.js";
import {
  METHODS,
  type Operation,
  type OperationLists,
  REGISTERED_STATUSES,
  type Response,
} from "./operations.js";
import { fileHeader, literal, propertyName } from "./source-text.js";

export function emitOperations(documents: readonly Document[], lists: OperationLists): string {
  const body = [
    FIXED_TYPES,
    otherStatuses(lists),
    ...VARIANTS.map((variant) => callTypes(variant, lists[variant], otherStatusName)),
    bothTypes(lists),
    ...VARIANTS.map((variant) => pathTypes(variant, lists[variant])),
    TABLE_TYPES,
    tableType(lists),
    ...VARIANTS.map((variant) => table(variant, lists[variant])),
    "export const operations: OperationTable = { A: operationsA, B: operationsB };\n",
  ].join("\n");
  // An unused import is an error under noUnusedLocals.
  const imports = VARIANTS.filter((variant) => body.includes(`${variant}.operations[`)).map(
    (variant) => `import type * as ${variant} from "./variant-${variant.toLowerCase()}.js";\n`,
  );
  return [
    fileHeader("The operations of both variants: runtime table and lookup types.", documents),
    imports.join(""),
    body,
  ].join("\n");
}

const FIXED_TYPES = `/** Options every call takes besides its parameters. */
export interface CallOptions {
  readonly headers?: RequestInit["headers"] | undefined;
  /** Value of X-Envelope. */
  readonly envelope?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One row of the runtime table. */
export interface OperationEntry {
  readonly method: string;
  /** The path template of the document. */
  readonly path: string;
  /** Documented 2xx statuses. */
  readonly success: readonly number[];
  /** Documented statuses other than 2xx. */
  readonly failure: readonly number[];
  /** Media type of the request body, if there is one. */
  readonly contentType?: string;
  /** Sent without a bearer: \`security: []\` in the document. */
  readonly anonymous?: true;
}
`;

const TABLE_TYPES = `/** The lookup types of both variants in one place. */
export interface OperationTypes {
  A: OperationsA;
  B: OperationsB;
  both: OperationsBoth;
  paths: { A: PathsA; B: PathsB };
}
`;

function bothTypes({ A, B }: OperationLists): string {
  const inB = new Map(B.map((operation) => [operation.id, operation]));
  const lines = A.flatMap((operation) => {
    const other = inB.get(operation.id);
    if (other === undefined) return [];
    const mark = initRequired("A", operation) || initRequired("B", other) ? "" : "?";
    const key = literal(operation.id);
    return [`  ${propertyName(operation.id)}: { args: [init${mark}: InitsA[${key}] & InitsB[${key}]] };\n`];
  });
  return `/** What both variants accept: the operationIds that are in both documents. */\nexport interface OperationsBoth {\n${lines.join("")}}\n`;
}

function pathTypes(variant: Variant, operations: readonly Operation[]): string {
  const lines = METHODS.map((method) => {
    const rows = operations
      .filter((operation) => operation.method === method)
      .map((operation) => `    ${propertyName(operation.path)}: ${literal(operation.id)};\n`);
    return rows.length === 0
      ? `  ${method}: Record<never, never>;\n`
      : `  ${method}: {\n${rows.join("")}  };\n`;
  });
  return `/** Variant ${variant}: method, path, operationId. */\nexport interface Paths${variant} {\n${lines.join("")}}\n`;
}

function tableType(lists: OperationLists): string {
  // Literal types, because interfaces are not assignable to an index signature.
  const variants = VARIANTS.map((variant) => {
    const keys = lists[variant].map(({ id }) => `    readonly ${propertyName(id)}: OperationEntry;\n`);
    return `  readonly ${variant}: {\n${keys.join("")}  };\n`;
  });
  return `/** The runtime table. \`types\` does not exist at run time; it carries the lookup types to \`connect({ api })\`. */\nexport interface OperationTable {\n${variants.join("")}  readonly types?: OperationTypes;\n}\n`;
}

function table(variant: Variant, operations: readonly Operation[]): string {
  const rows = operations.map((operation) => {
    const statuses = operation.responses.flatMap((response) => response.statuses).sort((a, b) => a - b);
    const entry = [
      `method: ${literal(operation.method)}`,
      `path: ${literal(operation.path)}`,
      `success: [${statuses.filter(isSuccess).join(", ")}]`,
      `failure: [${statuses.filter((status) => !isSuccess(status)).join(", ")}]`,
      ...(operation.body ? [`contentType: ${literal(operation.body.mediaType)}`] : []),
      ...(operation.anonymous ? ["anonymous: true"] : []),
    ];
    return `  ${propertyName(operation.id)}: {\n${entry.map((line) => `    ${line},\n`).join("")}  },\n`;
  });
  return `export const operations${variant}: OperationTable[${literal(variant)}] = {\n${rows.join("")}};\n`;
}

/** Emits the type of the statuses that an operation does not document: one alias per distinct set of documented ones. */
function otherStatuses(lists: OperationLists) {
  const declarations = new Map<string, string>();
  for (const { responses } of VARIANTS.flatMap((variant) => lists[variant])) {
    const documented = responses.flatMap((response) => response.statuses);
    if (documented.length === 0) continue;
    const name = otherStatusName(responses);
    declarations.set(name, `export type ${name} = Exclude<HttpStatus, ${documented.join(" | ")}>;\n`);
  }
  const all = REGISTERED_STATUSES.map((status) => `\n  | ${status}`).join("");
  const httpStatus = `/** Every status of the IANA HTTP Status Code Registry. */\nexport type HttpStatus =${all};\n`;
  return [httpStatus, ...declarations.values()].join("\n");
}

/** Editors show this name, so it names the statuses that it excludes: `StatusOtherThan200And4XX`. */
function otherStatusName(responses: readonly Response[]): string {
  const keys = responses.map(({ key }) => key.toUpperCase()).filter((key) => key !== "DEFAULT");
  return keys.length === 0 ? "HttpStatus" : `StatusOtherThan${keys.sort().join("And")}`;
}
