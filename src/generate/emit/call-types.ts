/** The lookup types of `call` and `paths`: what a call takes, and what it answers. */
import { atPointer, type Document, type Variant } from "../document/document.js";
import type { ProvenanceNotes } from "../document/provenance.js";
import { entriesOf, type JsonObject } from "../document/source-file.js";
import type { ListedDocument, Operation } from "../operations/list-operations.js";
import {
  type Body,
  type Content,
  isBinary,
  isEventStream,
  isJson,
  isJsonSequence,
  isMultipart,
  isText,
  isUrlencoded,
  mediaTypeSent,
  type Parameter,
  PLACES,
  REGISTERED_STATUSES,
  type Response,
} from "../operations/messages.js";
import { mergedSchema } from "../schemas/alternatives.js";
import { DIRECTIONS, type Exception, schemasRequiringLess } from "../schemas/checked-schema.js";
import { literal, propertyName } from "./source-text.js";

/** What the lookup types name besides the types of the document. */
export const CALL_TYPES = `/**
 * Options every call takes besides its parameters. The others of a RequestInit, such as \`cache\`
 * and what a runtime adds to its type, go to the fetch.
 */
export interface CallOptions extends Omit<RequestInit, "method" | "headers" | "body" | "signal"> {
  readonly headers?: RequestInit["headers"] | Readonly<Record<string, HeaderValue>> | undefined;
  /** Value of X-Envelope. */
  readonly envelope?: string | undefined;
  /** How often the call may be sent again. Default: the option of the service. */
  readonly maxRetries?: number | undefined;
  /** The time limit of each request of the call. Default: the option of the service. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether the operation may be done twice without harm, so that the call may be sent again after
   * a fault that leaves open whether it was processed: \`true\` for a POST with a key of its own,
   * for example. Default: by the method.
   */
  readonly idempotent?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The most bytes of an answer that is read whole. Default: the option of the service. */
  readonly maxResponseBytes?: number | undefined;
  /** It changes the type of the data, so it is in a signature of its own. */
  readonly parseAs?: undefined;
  /** As in openapi-fetch: writes the whole query. */
  readonly querySerializer?:
    | ((query: Readonly<Record<string, unknown>>) => string)
    | QueryOptions
    | undefined;
  /** As in openapi-fetch: writes the body. */
  bodySerializer?(body: unknown, headers: Headers): unknown;
}

/** \`null\` and \`undefined\` leave the header out. */
export type HeaderValue = string | number | boolean | null | undefined;

/** How arrays and objects are written in a query, as in openapi-fetch. */
export interface QueryOptions {
  readonly array?: {
    readonly style: "form" | "spaceDelimited" | "pipeDelimited";
    readonly explode: boolean;
  };
  readonly object?: { readonly style: "form" | "deepObject"; readonly explode: boolean };
  readonly allowReserved?: boolean;
}

/** What is sent as it is. A call with a stream is sent once. */
export type Binary = Blob | ArrayBuffer | ArrayBufferView | ReadableStream<Uint8Array>;

/** The header that chooses one of several media types of a body. */
export interface ContentType<MediaType extends string> {
  readonly headers:
    | { readonly "content-type": MediaType; readonly [name: string]: string }
    | { readonly "Content-Type": MediaType; readonly [name: string]: string };
}

/** One event of text/event-stream. */
export interface ServerSentEvent {
  readonly data: string;
  readonly event?: string | undefined;
  readonly id?: string | undefined;
}

/** The successes of an operation that documents none. */
export type AnySuccess = Readonly<
  Record<200 | 201 | 202 | 203 | 204 | 205 | 206 | 207 | 208 | 226, unknown>
>;
`;

/**
 * X-Envelope is an option of each call; OpenAPI ignores the next three as parameters (3.1,
 * Parameter Object). A fetch knows the length of what it sends, and fails if it is told another.
 */
const IGNORED_HEADERS: readonly string[] = [
  ...["x-envelope", "accept", "content-type", "authorization"],
  "content-length",
];

const NOTHING = "Record<never, never>";

/**
 * Emits only direct lookups, because with a thousand operations conditional types take the compiler
 * seconds.
 */
export function callTypes(document: ListedDocument, notes: ProvenanceNotes): string {
  const { variant, operations } = document;
  const inits = operations.map(
    (operation) => `  ${propertyName(operation.id)}: ${initType(document, operation)};\n`,
  );
  const calls = operations.map((operation) => {
    const { id, source, responses } = operation;
    const answer = (response: Response) => answerType(document, operation, response);
    const otherBody = responses.find((response) => response.key === "default");
    const headers = statusTable(responses, headersType);
    const note = notes.get(source);
    return [
      ...(note === undefined ? [] : [`  /** ${note} */\n`]),
      `  ${propertyName(id)}: {\n`,
      `    args: [init${initRequired(variant, operation) ? "" : "?"}: ` +
        `Inits${variant}[${literal(id)}]];\n`,
      "    success: " +
        `${hasSuccess(responses) ? statusTable(responses, answer, isSuccess) : "AnySuccess"};\n`,
      `    failure: ${statusTable(responses, answer, (status) => !isSuccess(status))};\n`,
      `    other: ${otherStatusName(responses)};\n`,
      ...(otherBody ? [`    otherBody: ${answer(otherBody)};\n`] : []),
      ...(headers === NOTHING ? [] : [`    headers: ${headers};\n`]),
      "  };\n",
    ].join("");
  });
  return [
    `/** Variant ${variant}: the options of each call. ` +
      `*/\nexport interface Inits${variant} {\n${inits.join("")}}\n`,
    `/** Variant ${variant}: arguments and answers of each call. ` +
      `*/\nexport interface Operations${variant} {\n${calls.join("")}}\n`,
  ].join("\n");
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function hasSuccess(responses: readonly Response[]): boolean {
  return responses.some(({ statuses }) => statuses.some(isSuccess));
}

/** Whether the document requires a body or a parameter that only the caller knows. */
export function initRequired(variant: Variant, { body, parameters }: Operation): boolean {
  return body?.required === true || parameters.some((parameter) => isNeeded(variant, parameter));
}

export function isNeeded(variant: Variant, parameter: Parameter): boolean {
  return parameter.required && isParameter(parameter) && !isFilledIn(variant, parameter);
}

/** Whether the client fills the parameter in, so that a caller may leave it out. */
export function isFilledIn(variant: Variant, parameter: Parameter): boolean {
  return variant === "A" && parameter.in === "path" && parameter.name === "tenantId";
}

export function isParameter(parameter: Parameter): boolean {
  return parameter.in !== "header" || !IGNORED_HEADERS.includes(parameter.name.toLowerCase());
}

function initType(document: Document, { id, parameters, body }: Operation): string {
  const { variant } = document;
  const own = `${variant}.operations[${operationKey(id)}]`;
  const groups = PLACES.flatMap((place) => parameterGroup(variant, parameters, own, place));
  const mark = parameters.some((parameter) => isNeeded(variant, parameter)) ? "" : "?";
  const params = groups.length === 0 ? [] : [`params${mark}: { ${groups.join("; ")} }`];
  const [choice, ...others] = body === undefined ? [] : bodyChoices(document, body, own);
  // Of one choice the body is a field beside the parameters, which an editor shows more plainly.
  const isField = choice?.header === undefined && others.length === 0;
  const fields = isField && choice !== undefined ? [...params, choice.body] : params;
  const choices = isField
    ? []
    : [choice, ...others].map((one) => one && `{ ${one.body} }${one.header ?? ""}`);
  const parts = [
    fields.length === 0 ? "" : `{ ${fields.join("; ")} }`,
    choices.length === 0 ? "" : `(${choices.join(" | ")})`,
    "CallOptions",
  ];
  return parts.filter((part) => part !== "").join(" & ");
}

/** openapi-typescript replaces the character with which a fragment begins. */
export function operationKey(id: string): string {
  return literal(id.replaceAll("#", "/"));
}

interface BodyChoice {
  readonly body: string;
  /** What chooses it by the header content-type; absent for the one that is sent without. */
  readonly header?: string;
}

function bodyChoices(document: Document, body: Body, own: string): BodyChoice[] {
  const typeOf = (content: Content) => {
    const sent = lookupOf(document, content, "readOnly", `${own}["requestBody"]`);
    const holder = body.required ? sent : `NonNullable<${sent}>`;
    return bodyType(document, content, `${holder}["content"][${literal(content.mediaType)}]`);
  };
  const usual: BodyChoice[] = [{ body: `body${body.required ? "" : "?"}: ${typeOf(body)}` }];
  const isSent = mediaTypeSent(body) !== undefined;
  const named = body.all.flatMap((content): BodyChoice[] => {
    const { mediaType } = content;
    if (isSent && mediaType === body.mediaType && !isAnyType(mediaType)) return [];
    const type = isAnyType(mediaType) ? "Binary | string" : typeOf(content);
    const range = `\`${mediaType.replaceAll("*", `$\{string}`)}\``;
    const header = ` & ContentType<${mediaType.includes("*") ? range : literal(mediaType)}>`;
    // These name their media type themselves.
    const own = isMultipart(mediaType)
      ? "FormData"
      : type.startsWith("Binary")
        ? "Blob"
        : undefined;
    return [
      { body: `body: ${type}`, header },
      ...(own === undefined ? [] : [{ body: `body: ${own}` }]),
    ];
  });
  if (isSent) return [...usual, ...named];
  return body.required ? named : [...named, { body: "body?: undefined" }];
}

/** The type of a body of this media type. */
function bodyType(document: Document, content: Content, lookup: string): string {
  const { mediaType, media } = content;
  if (isJson(mediaType) || isAnyType(mediaType)) return lookup;
  if (isUrlencoded(mediaType))
    return `${media.schema === undefined ? "object" : lookup} | URLSearchParams`;
  if (isMultipart(mediaType)) return `${multipartType(document, content, lookup)} | FormData`;
  return isBinary(mediaType) ? "Binary" : "Binary | string";
}

function multipartType(document: Document, { media, encoding }: Content, lookup: string): string {
  if (media.schema === undefined) return "object";
  const { properties, required = [] } = mergedSchema(document, media.schema);
  const files = entriesOf(properties).flatMap(([name, source]) => {
    const schema = mergedSchema(document, source);
    const isList = schema.type === "array";
    const item = isList ? mergedSchema(document, schema.items) : schema;
    if (!isFile(item, encoding[name]?.contentType)) return [];
    const mark = (required as readonly unknown[]).includes(name) ? "" : "?";
    return [
      { name, field: `${propertyName(name)}${mark}: ${isList ? "readonly Binary[]" : "Binary"}` },
    ];
  });
  if (files.length === 0) return lookup;
  const names = files.map(({ name }) => literal(name)).join(" | ");
  return `(Omit<${lookup}, ${names}> & { ${files.map(({ field }) => field).join("; ")} })`;
}

/**
 * Binary data is a string with `format: binary` or `contentMediaType`, or what `encoding` says
 * (OpenAPI 3.1.1, 4.8.14.5).
 */
export function isFile(
  { type, format, contentMediaType, contentEncoding }: JsonObject,
  encoded?: string,
): boolean {
  if (type !== undefined && type !== "string") return false;
  const media = contentMediaType ?? encoded;
  const isMedia = typeof media === "string" && !isJson(media) && !isText(media);
  return format === "binary" || (isMedia && contentEncoding === undefined);
}

function isAnyType(mediaType: string): boolean {
  return mediaType === "*/*" || mediaType === "application/*";
}

function parameterGroup(
  variant: Variant,
  parameters: readonly Parameter[],
  own: string,
  place: Parameter["in"],
): string[] {
  const all = parameters.filter((parameter) => parameter.in === place);
  const kept = all.filter(isParameter);
  if (kept.length === 0) return [];
  const mark = kept.some((parameter) => isNeeded(variant, parameter)) ? "" : "?";
  const group = `NonNullable<${own}["parameters"][${literal(place)}]>`;
  const isWhole = (parameter: Parameter) => !parameter.isListed && !isFilledIn(variant, parameter);
  const whole = kept.length === all.length && kept.every(isWhole);
  if (whole) return [`${place}${mark}: ${group}`];
  const fields = kept.map((parameter) => {
    const optional = isNeeded(variant, parameter) ? "" : "?";
    const lookup = `${group}[${literal(parameter.name)}]`;
    // The lookup of an optional property includes undefined, which would be accepted despite
    // exactOptionalPropertyTypes.
    const type = parameter.required ? lookup : `NonNullable<${lookup}>`;
    return `${propertyName(parameter.name)}${optional}: ${parameter.keyword ?? type}`;
  });
  return [`${place}${mark}: { ${fields.join("; ")} }`];
}

/** One row for each documented status for which `cell` has a type. */
function statusTable(
  responses: readonly Response[],
  cell: (response: Response) => string | undefined,
  include: (status: number) => boolean = () => true,
): string {
  const rows = responses
    .flatMap((response) => response.statuses.map((status) => ({ status, type: cell(response) })))
    .filter(({ status, type }) => include(status) && type !== undefined)
    .sort((a, b) => a.status - b.status);
  if (rows.length === 0) return NOTHING;
  return `{\n${rows.map(({ status, type }) => `      ${status}: ${type};\n`).join("")}    }`;
}

/** The lookup, or the one among the types of one direction if these require less. */
function lookupOf(
  document: Document,
  { schema = "/-" }: Content,
  except: Exception,
  lookup: string,
): string {
  const source = atPointer(document.root, schema);
  const isLess = schemasRequiringLess(document, except).has(source);
  return isLess ? lookup.replace(".", `.${DIRECTIONS[except]}.`) : lookup;
}

function answerType(document: Document, { id }: Operation, response: Response): string {
  const key = /^\d+$/.test(response.key) ? response.key : literal(response.key);
  const content = `${document.variant}.operations[${operationKey(id)}]["responses"][${key}]["content"]`;
  const types = response.all.map((one) => {
    const lookup = lookupOf(document, one, "writeOnly", content);
    return contentType(one, `${lookup}[${literal(one.mediaType)}]`, response);
  });
  return types.length === 0 ? "undefined" : [...new Set(types)].join(" | ");
}

/**
 * The type of an answer of one media type. Only successes arrive one event or one line after the
 * other.
 */
function contentType(
  { mediaType, isItem }: Content,
  lookup: string,
  { statuses }: Response,
): string {
  if (isJson(mediaType)) return lookup;
  const [status = 0] = statuses;
  if (isEventStream(mediaType))
    return isSuccess(status) ? "AsyncIterable<ServerSentEvent>" : "string";
  if (isJsonSequence(mediaType))
    return isSuccess(status) ? `AsyncIterable<${lookup}${isItem ? "" : "[number]"}>` : "string";
  if (isText(mediaType)) return "string";
  return isAnyType(mediaType) ? lookup : "Blob";
}

/** A header that is documented as required is always there, for those who trust the document. */
function headersType({ headers }: Response): string | undefined {
  if (headers.length === 0) return undefined;
  const fields = headers.map(
    ({ name, required }) => `${propertyName(name)}: ${required ? "string" : "string | null"}`,
  );
  return `{ ${fields.join("; ")} }`;
}

/**
 * Emits the type of the statuses that an operation does not document: one alias per distinct set of
 * documented ones.
 */
export function otherStatuses(documents: readonly ListedDocument[]): string {
  const declarations = new Map<string, string>();
  for (const { responses } of documents.flatMap(({ operations }) => operations)) {
    const statuses = responses.flatMap((response) => response.statuses);
    const documented = statuses.some(isSuccess)
      ? statuses
      : [...statuses, ...REGISTERED_STATUSES.filter(isSuccess)];
    const name = otherStatusName(responses);
    declarations.set(
      name,
      `export type ${name} = Exclude<HttpStatus, ${documented.join(" | ")}>;\n`,
    );
  }
  const all = REGISTERED_STATUSES.map((status) => `\n  | ${status}`).join("");
  const httpStatus =
    "/** Every status of the IANA HTTP Status Code Registry. " +
    `*/\nexport type HttpStatus =${all};\n`;
  return [httpStatus, ...declarations.values()].join("\n");
}

/**
 * Editors show this name, so it names the statuses that it excludes: `StatusOtherThan200And4XX`.
 */
function otherStatusName(responses: readonly Response[]): string {
  const keys = responses.map(({ key }) => key.toUpperCase()).filter((key) => key !== "DEFAULT");
  return `StatusOtherThan${[...keys, ...(hasSuccess(responses) ? [] : ["2XX"])].sort().join("And")}`;
}
