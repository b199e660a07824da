// Reads a call as the document describes it: parameters by their style, the body by its media type.

import { grouped, readBytes } from "../http/messages.js";
import { decoded } from "../http/router.js";
import type { EmulatorRules, Finding, Refusal } from "../rules/checks.js";
import { type BodyReading, type DocumentedBody, readDocumentedBody } from "./bodies.js";
import {
  type DocumentedParameter,
  decodedName,
  type Pairs,
  type ParameterForm,
  readParameter,
  type SentParameters,
  sentParameters,
} from "./parameters.js";
import { Schemas } from "./schemas.js";

/** What the document says about a request, as in emulation.ts. */
interface DocumentedRequest {
  readonly parameters?: readonly DocumentedParameter[];
  readonly body?: DocumentedBody;
}

/** What `requests` of emulation.ts holds for one variant. */
export interface DocumentedRequests {
  /** The requests by operationId. */
  readonly operations: Readonly<Record<string, DocumentedRequest>>;
  readonly schemas: Readonly<Record<string, unknown>>;
}

/** Parameters by their place, as a call of the client has them. */
export type CallParams = Readonly<Record<ParameterForm["in"], Readonly<Record<string, unknown>>>>;

export interface ReadCall {
  readonly params: CallParams;
  readonly body: unknown;
}

/** An operation and the schemas of its document. */
export interface Described {
  readonly request: DocumentedRequest;
  readonly schemas: Schemas;
}

/**
 * In bytes. Files that people upload in tests fit, and a body is held a few times while it is read,
 * so that some at once fit into the memory that Node has by default.
 */
const MOST_BODY_BYTES = 32 * 1024 * 1024;

const NO_SCHEMAS = new Schemas();

/**
 * `path` has the parameters of the path as they were sent. Without a description texts are read as
 * they are.
 */
export async function readCall(
  described: Described | undefined,
  path: Readonly<Record<string, string>>,
  request: Request,
  switches: EmulatorRules,
): Promise<ReadCall | Refusal> {
  const sent = sentParameters(path, request);
  const { params, finding } = readParams(described, sent);
  const refusal = finding && switches.refusal("request.parameters", finding);
  if (refusal !== undefined) return refusal;
  const body = await readBody(described, request);
  if ("value" in body) return { params, body: body.value };
  // Without a document no body is wrong.
  const wrong = described && switches.refusal("request.body", body.finding);
  if (wrong === undefined) return { params, body: undefined };
  return body.status === undefined
    ? wrong
    : { ...wrong, answer: { status: body.status, error: "invalid_request" } };
}

/**
 * The documented parameters; others are ignored, as a service does that does not know them. Without
 * a description those of the path, the query and the cookies, as texts.
 */
function readParams(
  described: Described | undefined,
  sent: SentParameters,
): { params: CallParams; finding?: Finding | undefined } {
  const inPath = Object.entries(sent.path).map(([name, text]) => [name, decoded(text)] as const);
  const path = Object.fromEntries<unknown>(inPath);
  if (described === undefined)
    return {
      params: { path, query: byName(sent.query), header: {}, cookie: byName(sent.cookies) },
    };
  const { request, schemas } = described;
  const { parameters = [] } = request;
  const names = parameters.map(({ name }) => name);
  const values: { readonly in: string; readonly member: readonly [string, unknown] }[] = [];
  let finding: Finding | undefined;
  for (const parameter of parameters) {
    const read = readParameter(parameter, sent, names, schemas);
    if ("finding" in read) finding ??= read.finding;
    else if (read.value !== undefined)
      values.push({ in: parameter.in, member: [parameter.name, read.value] });
  }
  const of = (place: keyof CallParams) =>
    Object.fromEntries(values.filter((one) => one.in === place).map(({ member }) => member));
  const params = { query: of("query"), header: of("header"), cookie: of("cookie") };
  return { params: { path: { ...path, ...of("path") }, ...params }, finding };
}

/** A text, or a list of those with the same name. */
function byName(pairs: Pairs): Record<string, string | string[]> {
  const readable = (text: string) => decodedName(text) ?? text;
  const values = grouped(pairs.map(([key, text]) => [readable(key), readable(text)]));
  const members = [...values].map(([name, own]) => [name, own.length === 1 ? own[0] : own]);
  return Object.fromEntries(members);
}

async function readBody(described: Described | undefined, request: Request): Promise<BodyReading> {
  const { method, headers } = request;
  const documented = described?.request.body;
  if (method === "GET" || method === "HEAD") return { value: undefined };
  // This is a copy, because the route's own answer may read the body too.
  const read =
    request.body === null
      ? { bytes: new Uint8Array() }
      : await readBytes(request.clone(), MOST_BODY_BYTES);
  if ("fault" in read) {
    const isLarge = read.fault === "too large";
    const actual = isLarge ? "a larger one" : "one that broke off";
    const finding = { expected: `a body of at most ${MOST_BODY_BYTES} bytes`, actual };
    return isLarge ? { finding, status: 413 } : { finding };
  }
  const schemas = described?.schemas ?? NO_SCHEMAS;
  const reading = await readDocumentedBody(
    read.bytes,
    headers.get("content-type"),
    documented,
    schemas,
  );
  // A body that the document does not mention is ignored.
  return documented === undefined && "finding" in reading ? { value: undefined } : reading;
}
