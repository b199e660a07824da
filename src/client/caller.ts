/**
 * Finds an operation, has its request made, sends it with the bearer, and makes an outcome of the
 * response.
 */
import type { OperationEntry } from "../../generated/operations.js";
import type { Auth } from "../auth/auth.js";
import { ConfigurationError, locate, UnexpectedResponseError, type Variant } from "../errors.js";
import {
  idempotentMethods,
  isUnknownPath,
  jsonOrText,
  parseJson,
  readBounded,
  untilAborted,
} from "../http/exchange.js";
import { lazy } from "../http/lazy.js";
import { mostAlike } from "../option-names.js";
import { invalidOption, requireDuration, requireTypes, requireWhole } from "../options.js";
import type { AnswerContent } from "./answer.js";
import {
  type BearerAnswer,
  type BearerFetchContext,
  bearerFetch,
  CallReport,
  mayBeProcessed,
} from "./bearer-fetch.js";
import { apiErrorOf } from "./call-error.js";
import { type CallInit, fetchInitOf } from "./init.js";
import { envelopeHeader, usualRequest } from "./request.js";
import { retriesOf } from "./retries.js";
import { signalOf } from "./service-fetch.js";

/** What calls need beyond text in parameters and JSON in bodies and answers. */
const anyCall = /* @__PURE__ */ lazy(() => import("./any-call.js"));

/** An error names at most this many operations, since a document may have more than a thousand. */
const mostNames = 20;

/**
 * Looks up the operations of one variant. The index of paths is built at the first call by path.
 */
export class OperationIndex {
  readonly #table: Readonly<Record<string, OperationEntry>>;
  readonly #variant: Variant;
  #ids: Map<string, string> | undefined;

  constructor(table: object, variant: Variant) {
    this.#table = table as Readonly<Record<string, OperationEntry>>;
    this.#variant = variant;
  }

  byId(operationId: string): OperationEntry {
    // Only own keys count, because an inherited name such as "constructor" is not an operation.
    const entry = Object.hasOwn(this.#table, operationId) ? this.#table[operationId] : undefined;
    if (entry !== undefined) return entry;
    // What does not look like a name may be a secret in the wrong place.
    const asked = typeof operationId === "string" && /^[\w.$/{}-]{1,60}$/.test(operationId);
    const named = asked ? `operation with the id "${operationId}"` : "operation with that id";
    throw this.#unknown(named, Object.keys(this.#table), asked ? operationId : undefined);
  }

  idOf(method: string, path: string): string {
    this.#ids ??= new Map(
      Object.entries(this.#table).map(([id, { method, path }]) => [`${method} ${path}`, id]),
    );
    const operationId = this.#ids.get(`${method} ${path}`);
    if (operationId !== undefined) return operationId;
    throw this.#unknown(`${method} operation at that path`, this.#ids.keys());
  }

  #unknown(missing: string, known: Iterable<string>, asked?: string): ConfigurationError {
    const all = [...known];
    const meant = asked && mostAlike(asked, all);
    const more = all.length > mostNames ? ` and ${all.length - mostNames} more` : "";
    const advice = meant ? `Use ${meant}. ` : "";
    const message =
      `Variant ${this.#variant} has no ${missing}. ${advice}It has: ` +
      `${all.slice(0, mostNames).join(", ")}${more}.`;
    return new ConfigurationError("operation_unknown", message, { variant: this.#variant });
  }
}

export interface CallerContext extends BearerFetchContext {
  readonly operations: OperationIndex;
}

const none: CallInit = {};

/** Calls an operation. Its outcome gets its type from the generated tables. */
export async function callOperation(
  context: CallerContext,
  auth: Auth,
  operationId: string,
  init: CallInit = none,
): Promise<unknown> {
  const { options, memoryOf } = context;
  let report: CallReport | undefined;
  try {
    const call = await prepare(auth, operationId, init, context);
    report = new CallReport(call, options);
    const retrying = retriesOf(call, options, memoryOf(auth).limited, report);
    const wait = retrying.waitForLimit();
    if (wait !== undefined) await wait;
    const exchange = { events: report, retries: retrying, read: contentReader(call, report) };
    const answer = await bearerFetch(call, exchange, context);
    const { response, content } = answer;
    const { status } = response;
    const { variant } = auth;
    report.status = status;
    const { requestId, retries } = report;
    if (!isSuccess(call.operation, response)) {
      const error = await refusalOf(call, answer, report, context);
      return { ok: false, status, variant, error, retries, requestId, response };
    }
    const isText = typeof content === "string";
    const data = isText ? parseSuccess(content, response) : content.value;
    if (isText && content && data === undefined) throw (await anyCall()).notJson(response, variant);
    // The schema is for the raw body, and the description does not show the body inside an
    // envelope.
    if (init.envelope === undefined && (isText || content.isJson))
      options.validate?.({ variant, operationId, status, data }, report.emit);
    return { ok: true, status, variant, data, retries, requestId, response };
  } catch (fault) {
    // What is refused before the call begins has no requestId.
    throw report?.failed(fault) ?? locate(fault, auth, { operationId });
  } finally {
    report?.finished();
  }
}

/** @throws ConfigurationError for what cannot be sent */
async function prepare(
  auth: Auth,
  operationId: string,
  given: CallInit,
  { operations, options }: CallerContext,
) {
  const operation = operations.byId(operationId);
  const { method, path, anonymous, bodyRequired, answers, success } = operation;
  const init = given === none ? undefined : fetchInitOf(given);
  // The Fetch standard allows null.
  const signal = given.signal ?? undefined;
  if (bodyRequired && given.body === undefined)
    throw invalidOption("body", `is missing, but ${operationId} requires one`);
  if (given.body !== undefined && (method === "GET" || method === "HEAD")) {
    const remedy = `Leave it out: fetch sends none with ${method}.`;
    throw invalidOption("body", `must not be sent with ${method}`, remedy);
  }
  const maxRetries = requireWhole("maxRetries", given.maxRetries, options.maxRetries, 0);
  const timeoutMs = requireDuration("timeoutMs", given.timeoutMs, options.timeoutMs, 1);
  requireTypes(given, "boolean", ["idempotent"]);
  const { idempotent: isIdempotent = idempotentMethods.includes(method), parseAs } = given;
  const mostBytes = requireWhole(
    "maxResponseBytes",
    given.maxResponseBytes,
    options.maxResponseBytes,
    1,
  );
  const toWrite = {
    operationId,
    operation,
    init: given,
    target: auth,
    common: options.headers,
    own: envelopeHeader(given.envelope),
  };
  const request = usualRequest(toWrite) ?? (await anyCall()).anyRequest(toWrite);
  const { url, headers, body } = request;
  const isUsual = success.length > 0 && !answers && !mostBytes && parseAs === undefined;
  /** Absent for JSON of any size, which the answer of most operations is. */
  const reader = isUsual
    ? undefined
    : (await anyCall()).answerReader(operation, { parseAs, mostBytes, auth, signal });
  headers.accept ??= reader?.accept ?? "application/json";
  return {
    auth,
    operationId,
    operation,
    given,
    reader,
    maxRetries,
    // What bearerFetch needs.
    url,
    headers,
    body,
    method,
    path,
    anonymous,
    init,
    signal,
    isIdempotent,
    timeoutMs,
    // A stream outlives the call, so the time limit may not end it.
    signalOf: reader && ((limit: AbortSignal) => signalOf(limit, signal)),
  };
}

type PreparedCall = Awaited<ReturnType<typeof prepare>>;

function contentReader(
  { reader, operation, isIdempotent, method }: PreparedCall,
  report: CallReport,
): (response: Response, variant: Variant) => Promise<string | AnswerContent> {
  if (reader === undefined) return readText;
  const ofStream = (error: unknown) =>
    report.located(isIdempotent ? error : mayBeProcessed(error, method, 200));
  return (response) => reader.read(response, isSuccess(operation, response), ofStream);
}

/** Reports a refusal of the API, and makes the error that explains it. */
async function refusalOf(
  call: PreparedCall,
  answer: BearerAnswer<string | AnswerContent>,
  report: CallReport,
  { options, memoryOf }: CallerContext,
) {
  const { auth, operationId, operation, method, headers, signal } = call;
  const { response, content, token, required, refusedToken } = answer;
  const { status } = response;
  const memory = memoryOf(auth);
  const isText = typeof content === "string";
  const body = isText ? jsonOrText(content) : content.value;
  const isJson = isText ? typeof body === "object" : content.isJson;
  // An unknown path that names no record: a router, which has no JSON to say, has answered.
  const isOfRouter = !isJson && !/\{(?!tenantId\})/.test(operation.path);
  const refusal = apiErrorOf({
    ...call,
    response,
    required,
    now: options.clock.now(),
    body,
    isReplayed: options.unauthorizedStatuses.includes(status)
      ? refusedToken !== undefined
      : undefined,
    sent: options.bodyInMessage ? { tokens: [token, refusedToken], headers } : undefined,
    hasWorked: token !== undefined && memory.worked.get(operationId)?.value === token.value,
    looksMoved: isUnknownPath(response) && (memory.missing.add(operationId).size > 1 || isOfRouter),
  });
  const error = report.located(await untilAborted(refusal, signal));
  report.code = error.code;
  report.emit({ type: "call_refused", method, status, operationId });
  return error;
}

/** Where the document has no 2xx, each is a success. */
function isSuccess({ success }: OperationEntry, { ok, status }: Response): boolean {
  return success.length === 0 ? ok : success.includes(status);
}

/**
 * A success may be of any size, because the caller asked for it. A refusal that is too large counts
 * as empty.
 */
function readText(response: Response, variant: Variant): Promise<string> {
  if (response.ok) return response.text();
  return readBounded(response, variant).catch((error) => {
    if (error instanceof UnexpectedResponseError) return "";
    throw error;
  });
}

/** Returns `undefined` for what is not JSON. */
function parseSuccess(text: string, { headers }: Response): unknown {
  // A response that declares another type, such as an HTML page, is never read as JSON.
  return /\bjson\b/i.test(headers.get("content-type") ?? "json") ? parseJson(text) : undefined;
}
