/** Emits operations.ts: the runtime table of operations and the lookup types of `call` and `paths`. */
import { type Document, METHODS, VARIANTS, type Variant } from "../document.js";
import {
  type Content,
  isJson,
  type Parameter,
  PLACES,
  REGISTERED_STATUSES,
  type Response,
} from "../messages.js";
import type { Operation, OperationLists } from "../operations.js";
import type { ProvenanceNotes } from "../provenance.js";
import { fileHeader, literal, prettyLiteral, propertyName, UNCHECKED } from "./source-text.js";

/** X-Envelope is an option of each call; OpenAPI ignores the other three as parameters (3.1, Parameter Object). */
const IGNORED_HEADERS: readonly string[] = ["x-envelope", "accept", "content-type", "authorization"];

/** Emits only direct lookups, because with a thousand operations conditional types take the compiler seconds. */
function callTypes(variant: Variant, operations: readonly Operation[], notes: ProvenanceNotes): string {
  const inits = operations.map(
    (operation) => `  ${propertyName(operation.id)}: ${initType(variant, operation)};\n`,
  );
  const calls = operations.map((operation) => {
    const key = literal(operation.id);
    const answer = (response: Response) => bodyType(variant, operation, response);
    const otherBody = operation.responses.find((response) => response.key === "default");
    const note = notes.get(operation.source);
    return [
      ...(note === undefined ? [] : [`  /** ${note} */\n`]),
      `  ${propertyName(operation.id)}: {\n`,
      `    args: [init${initRequired(variant, operation) ? "" : "?"}: Inits${variant}[${key}]];\n`,
      `    success: ${statusTable(operation, isSuccess, answer)};\n`,
      `    failure: ${statusTable(operation, (status) => !isSuccess(status), answer)};\n`,
      `    other: ${otherStatusName(operation.responses)};\n`,
      ...(otherBody ? [`    otherBody: ${answer(otherBody)};\n`] : []),
      "  };\n",
    ].join("");
  });
  return [
    `/** Variant ${variant}: the options of each call. */\nexport interface Inits${variant} {\n${inits.join("")}}\n`,
    `/** Variant ${variant}: arguments and answers of each call. */\nexport interface Operations${variant} {\n${calls.join("")}}\n`,
  ].join("\n");
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the document requires a body or a parameter that only the caller knows. */
function initRequired(variant: Variant, { body, parameters }: Operation): boolean {
  return body?.required === true || parameters.some((parameter) => isNeeded(variant, parameter));
}

function isNeeded(variant: Variant, parameter: Parameter): boolean {
  return parameter.required && isParameter(parameter) && !isFilledIn(variant, parameter);
}

/** Whether the client fills the parameter in, so that a caller may leave it out. */
function isFilledIn(variant: Variant, parameter: Parameter): boolean {
  return variant === "A" && parameter.in === "path" && parameter.name === "tenantId";
}

function isParameter(parameter: Parameter): boolean {
  return parameter.in !== "header" || !IGNORED_HEADERS.includes(parameter.name.toLowerCase());
}

function initType(variant: Variant, operation: Operation): string {
  const own = `${variant}.operations[${literal(operation.id)}]`;
  const fields: string[] = [];
  const groups = PLACES.flatMap((place) => parameterGroup(variant, operation, own, place));
  if (groups.length > 0) {
    const needed = operation.parameters.some((parameter) => isNeeded(variant, parameter));
    fields.push(`params${needed ? "" : "?"}: { ${groups.join("; ")} }`);
  }
  if (operation.body) {
    const { mediaType, required } = operation.body;
    const holder = required ? `${own}["requestBody"]` : `NonNullable<${own}["requestBody"]>`;
    fields.push(`body${required ? "" : "?"}: ${holder}["content"][${literal(mediaType)}]`);
  }
  return fields.length === 0 ? "CallOptions" : `{ ${fields.join("; ")} } & CallOptions`;
}

function parameterGroup(
  variant: Variant,
  operation: Operation,
  own: string,
  place: Parameter["in"],
): string[] {
  const all = operation.parameters.filter((parameter) => parameter.in === place);
  const kept = all.filter(isParameter);
  if (kept.length === 0) return [];
  const mark = kept.some((parameter) => isNeeded(variant, parameter)) ? "" : "?";
  const group = `NonNullable<${own}["parameters"][${literal(place)}]>`;
  const whole = kept.length === all.length && !kept.some((parameter) => isFilledIn(variant, parameter));
  if (whole) return [`${place}${mark}: ${group}`];
  const fields = kept.map((parameter) => {
    const optional = isNeeded(variant, parameter) ? "" : "?";
    const lookup = `${group}[${literal(parameter.name)}]`;
    // The lookup of an optional property includes undefined, which would be accepted despite exactOptionalPropertyTypes.
    const type = parameter.required ? lookup : `NonNullable<${lookup}>`;
    return `${propertyName(parameter.name)}${optional}: ${parameter.keyword ?? type}`;
  });
  return [`${place}${mark}: { ${fields.join("; ")} }`];
}

function statusTable(
  operation: Operation,
  include: (status: number) => boolean,
  answer: (response: Response) => string,
): string {
  const rows = operation.responses
    .flatMap((response) => response.statuses.map((status) => ({ status, response })))
    .filter(({ status }) => include(status))
    .sort((a, b) => a.status - b.status);
  if (rows.length === 0) return "Record<never, never>";
  return `{\n${rows.map(({ status, response }) => `      ${status}: ${answer(response)};\n`).join("")}    }`;
}

function bodyType(variant: Variant, operation: Operation, response: Response): string {
  if (response.content === undefined) return "undefined";
  const key = /^\d+$/.test(response.key) ? response.key : literal(response.key);
  return `${variant}.operations[${literal(operation.id)}]["responses"][${key}]["content"][${literal(response.content.mediaType)}]`;
}

export function emitOperations(
  documents: readonly Document[],
  lists: OperationLists,
  notes: Readonly<Record<Variant, ProvenanceNotes>>,
): string {
  const body = [
    FIXED_TYPES,
    otherStatuses(lists),
    ...VARIANTS.map((variant) => callTypes(variant, lists[variant], notes[variant])),
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
    UNCHECKED + fileHeader("The operations of both variants: runtime table and lookup types.", documents),
    imports.join(""),
    body,
  ].join("\n");
}

const FIXED_TYPES = `/** Options every call takes besides its parameters. */
export interface CallOptions {
  readonly headers?: RequestInit["headers"] | undefined;
  /** Value of X-Envelope. */
  readonly envelope?: string | undefined;
  /** How often the call may be sent again. Default: the option of the service. */
  readonly retries?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One row of the runtime table. */
export interface OperationEntry {
  readonly method: string;
  /** The path template of the document. */
  readonly path: string;
  /** Documented 2xx statuses; empty where none is, and then each 2xx is a success. */
  readonly success: readonly number[];
  /** Documented statuses other than 2xx. */
  readonly failure: readonly number[];
  /** Parameters that a caller must pass outside of the path, cookies, and those whose form is not the usual one. */
  readonly parameters?: readonly ParameterEntry[];
  /** Media type of the request body, if there is one, unless the header content-type of a call names another. */
  readonly contentType?: string;
  /**
   * All documented media types of the body with the encoding of their members, where there are several or any. The
   * key may be a range: a call must name the media type for one such as image/*.
   */
  readonly contents?: Readonly<Record<string, Readonly<Record<string, PropertyEncoding>>>>;
  /** The document requires a request body. */
  readonly bodyRequired?: true;
  /**
   * Documented media types of an answer by status, range (4XX) or \`default\`. Left out where they add nothing: of a
   * success that is empty or application/json, of any other that is empty, JSON, text or of any type.
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

/** A parameter of a row. What is not named is the default of its place (OpenAPI 3.1.1, Parameter Object). */
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

/** A member of a form. With \`style\` it is written like a query parameter, else by its media type. */
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
  const rows = prettyLiteral(operationTable(variant, operations));
  return `export const operations${variant}: OperationTable[${literal(variant)}] = ${rows};\n`;
}

/** One row of the runtime table; it also has the other members of `OperationEntry`. */
export type OperationRow = Pick<Operation, "method" | "path" | "scope">;

export function operationTable(
  variant: Variant,
  operations: readonly Operation[],
): Readonly<Record<string, OperationRow>> {
  const rows = operations.map(({ id, method, path, responses, body, ...operation }) => {
    const statuses = responses.flatMap((response) => response.statuses).sort((a, b) => a - b);
    const parameters = operation.parameters.flatMap((parameter) => parameterEntry(variant, parameter));
    const answers = Object.fromEntries(responses.flatMap(answerEntry));
    const entry = {
      method,
      path,
      success: statuses.filter(isSuccess),
      failure: statuses.filter((status) => !isSuccess(status)),
      ...(parameters.length > 0 && { parameters }),
      ...(body && { contentType: concrete(body.mediaType), ...contentsEntry(body.all) }),
      ...(body?.required && { bodyRequired: true }),
      ...(Object.keys(answers).length > 0 && { answers }),
      ...(operation.anonymous && { anonymous: true }),
      ...(operation.scope !== undefined && { scope: operation.scope }),
      ...(operation.deviceParameter !== undefined && { deviceParameter: operation.deviceParameter }),
      ...(!operation.takesPluginTokens && { takesPluginTokens: false }),
    };
    return [id, entry] as const;
  });
  return Object.fromEntries(rows);
}

function parameterEntry(variant: Variant, parameter: Parameter): object[] {
  const { in: place, name, form } = parameter;
  const isRequired = place !== "path" && isNeeded(variant, parameter);
  if (!isParameter(parameter) || isFilledIn(variant, parameter)) return [];
  if (!isRequired && place !== "cookie" && Object.keys(form).length === 0) return [];
  return [{ in: place, name, ...(isRequired && { required: true }), ...form }];
}

function contentsEntry(all: readonly Content[]): object {
  const [first, second] = all;
  const isUsual =
    second === undefined &&
    !first?.mediaType.includes("*") &&
    Object.keys(first?.encoding ?? {}).length === 0;
  if (isUsual) return {};
  return { contents: Object.fromEntries(all.map(({ mediaType, encoding }) => [mediaType, encoding])) };
}

/** The media type that is sent for a range of media types, where one is likely. */
function concrete(mediaType: string): string {
  const usual = { "*/*": "application/json", "application/*": "application/json", "text/*": "text/plain" };
  return new Map(Object.entries(usual)).get(mediaType) ?? mediaType;
}

function answerEntry({ key, statuses: [status = 0], all }: Response): [key: string, types: string[]][] {
  const isUsual = isSuccess(status)
    ? (mediaType: string) => /^application\/json\s*(?:;|$)/i.test(mediaType)
    : (mediaType: string) => isJson(mediaType) || /^(?:text|\*)\//.test(mediaType);
  const types = all.map(({ mediaType }) => mediaType);
  return types.every(isUsual) ? [] : [[key.toUpperCase().replace("DEFAULT", "default"), types]];
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
