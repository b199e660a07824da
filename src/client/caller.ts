/**
 * Finds an operation, has its request made, sends it with the bearer, and makes an outcome of the
 * response.
 */
import type { OperationEntry } from "../../generated/operations.js";
import { type Auth, callSupport } from "../auth/auth.js";
import type { ClientOptions } from "../client-options.js";
import {
  type ApiError,
  ConfigurationError,
  codeOf,
  locate,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import { idempotentMethods, readBounded, transportError, untilAborted } from "../http/exchange.js";
import { lazy } from "../http/lazy.js";
import { mostAlike } from "../option-names.js";
import {
  headerRecord,
  invalidOption,
  requireDuration,
  requireTypes,
  requireWhole,
} from "../options.js";
import { hasDotSegment } from "../variants/target.js";
import type { AnswerContent, AnswerReader } from "./answer.js";
import {
  type BearerFetchContext,
  type BearerRequest,
  bearerFetch,
  contextOf,
} from "./bearer-fetch.js";
import { apiErrorOf } from "./call-error.js";
import { type CallInit, fetchInitOf } from "./init.js";
import type { LookupTypes } from "./outcome.js";
import { type CallRequest, envelopeHeader, usualRequest } from "./request.js";
import { type RetriedCall, Retries } from "./retries.js";
import { signalOf } from "./service-fetch.js";

/** What calls need beyond text in parameters and JSON, plain forms in bodies, JSON in answers. */
const anyCall = /* @__PURE__ */ lazy(() => import("./any-call.js"));

/** A generated module as `connect({ api })` accepts it; `types` exists for the compiler only. */
export interface Api<T extends LookupTypes> {
  readonly operations: { readonly A: object; readonly B: object; readonly types?: T };
}

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
  readonly options: ClientOptions;
}

/** An outcome as it is at run time; the generated tables give it its type. */
type AnyOutcome =
  | (OutcomeFields & { ok: true; data: unknown })
  | (OutcomeFields & { ok: false; error: ApiError });

interface OutcomeFields {
  status: number;
  variant: Variant;
  retries: number;
  requestId: string;
  response: Response;
}

export type Caller = (auth: Auth, operationId: string, init?: CallInit) => Promise<AnyOutcome>;

const none: CallInit = {};

export function createCaller(context: CallerContext): Caller {
  return async (auth, operationId, init = none) => {
    try {
      return await send(await prepare(auth, operationId, init, context), context);
    } catch (error) {
      // What is refused before the call begins has no requestId.
      throw locate(error, contextOf(auth, { operationId }));
    }
  };
}

/** A call whose options were checked, with its request. */
interface PreparedCall extends RetriedCall, CallRequest {
  readonly auth: Auth;
  readonly operation: OperationEntry;
  readonly init: CallInit;
  readonly fetchInit: RequestInit | undefined;
  readonly timeoutMs: number;
  /**
   * Reads the answer by its media type. Absent for JSON of any size, which the answer of most
   * operations is.
   */
  readonly reader: AnswerReader | undefined;
  readonly body: CallRequest["body"];
}

/** @throws ConfigurationError for what cannot be sent */
async function prepare(
  auth: Auth,
  operationId: string,
  init: CallInit,
  { operations, options }: CallerContext,
): Promise<PreparedCall> {
  const operation = operations.byId(operationId);
  const fetchInit = init === none ? undefined : fetchInitOf(init);
  // The Fetch standard allows null.
  const signal = init.signal ?? undefined;
  const { method } = operation;
  if (operation.bodyRequired && init.body === undefined)
    throw invalidOption("body", `is missing, but ${operationId} requires one`);
  if (init.body !== undefined && (method === "GET" || method === "HEAD")) {
    const remedy = `Leave it out: fetch sends none with ${method}.`;
    throw invalidOption("body", `must not be sent with ${method}`, remedy);
  }
  const maxRetries = requireWhole("maxRetries", init.maxRetries, options.maxRetries, 0);
  const timeoutMs = requireDuration("timeoutMs", init.timeoutMs, options.timeoutMs, 1);
  requireTypes(init, "boolean", ["idempotent"]);
  const { idempotent: isIdempotent = idempotentMethods.includes(method), parseAs } = init;
  const mostBytes = requireWhole(
    "maxResponseBytes",
    init.maxResponseBytes,
    options.maxResponseBytes,
    1,
  );
  const own = envelopeHeader(init.envelope);
  const toWrite = { operationId, operation, init, target: auth, common: options.headers, own };
  const { url, headers, body } =
    usualRequest(toWrite) ?? (await anyCall()).anyRequest(toWrite, core);
  const isUsual =
    operation.answers === undefined &&
    operation.success.length > 0 &&
    parseAs === undefined &&
    mostBytes === undefined;
  const reader = isUsual
    ? undefined
    : (await anyCall()).answerReader(operation, { parseAs, mostBytes, auth, signal, core });
  headers.accept ??= reader?.accept ?? "application/json";
  return {
    auth,
    operationId,
    operation,
    method,
    init,
    fetchInit,
    signal,
    url,
    headers,
    body,
    reader,
    isIdempotent,
    maxRetries,
    timeoutMs,
  };
}

/** Sends a call, again if need be, reports its events, and makes an outcome of the answer. */
async function send(call: PreparedCall, context: CallerContext): Promise<AnyOutcome> {
  const { auth, operationId, operation, method, init, headers, reader, signal } = call;
  const { options, begin, memoryOf } = context;
  const { variant } = auth;
  const startedAt = options.clock.monotonic();
  const events = begin(auth);
  const { emit, requestId } = events;
  const located = <E>(error: E) => locate(error, contextOf(auth, { operationId, requestId }));
  emit({ type: "call_started", operationId, method });
  const memory = memoryOf(auth);
  const retries = new Retries(call, options, memory.limited, emit);
  let status: number | undefined;
  let code: string | undefined;
  try {
    await retries.waitForLimit();
    const request: BearerRequest<string | AnswerContent> = {
      auth,
      url: call.url,
      method,
      headers,
      body: call.body,
      events,
      signal,
      operationId,
      path: operation.path,
      anonymous: operation.anonymous,
      isIdempotent: call.isIdempotent,
      timeoutMs: call.timeoutMs,
      retries,
      init: call.fetchInit,
      // A stream outlives the call, so the time limit may not end it.
      signalOf: reader && ((limit) => signalOf(limit, signal)),
      read: (response) =>
        reader === undefined
          ? readText(response, variant)
          : reader.read(response, isSuccess(operation, response), located),
    };
    const { response, content, token, required, refusedToken } = await bearerFetch(
      request,
      context,
    );
    status = response.status;
    const outcome = { status, variant, retries: retries.count, requestId, response };
    if (isSuccess(operation, response)) {
      const { value: data, isJson } =
        typeof content === "string"
          ? { value: parseSuccess(content, response, variant), isJson: true }
          : content;
      // The schema is for the raw body, and the description does not show the body inside an
      // envelope.
      if (init.envelope === undefined && isJson)
        options.validate?.({ variant, operationId, status, data }, emit);
      return { ok: true, ...outcome, data };
    }
    const refusal = apiErrorOf({
      auth,
      support: auth[callSupport],
      response,
      operationId,
      operation,
      init,
      required,
      now: options.clock.now(),
      body: typeof content === "string" ? parseRefusal(content) : content.value,
      isReplayed: options.unauthorizedStatuses.includes(status)
        ? refusedToken !== undefined
        : undefined,
      sent: options.bodyInMessage ? { tokens: [token, refusedToken], headers } : undefined,
      isIdempotent: call.isIdempotent,
      hasWorked: token !== undefined && memory.worked.get(operationId)?.value === token.value,
      looksMoved:
        unknownPathStatuses.includes(status) &&
        (memory.missing.add(operationId).size > 1 || isOfRouter(operation, content)),
    });
    const error = located(await untilAborted(refusal, signal));
    code = error.code;
    emit({ type: "call_refused", method, status, operationId });
    return { ok: false, ...outcome, error };
  } catch (error) {
    code = codeOf(error, signal);
    throw located(error);
  } finally {
    const durationMs = options.clock.monotonic() - startedAt;
    const { count } = retries;
    emit({ type: "call_finished", operationId, method, status, code, durationMs, retries: count });
  }
}

const unknownPathStatuses: readonly number[] = [404, 405, 410];

/**
 * Whether a path is unknown, and not a record that it names: then a router, which has no JSON to
 * say, has answered.
 */
function isOfRouter({ path }: OperationEntry, content: string | AnswerContent): boolean {
  const isJson =
    typeof content === "string" ? typeof parseRefusal(content) === "object" : content.isJson;
  return !isJson && !/\{(?!tenantId\})/.test(path);
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

function parseSuccess(text: string, { status, headers }: Response, variant: Variant): unknown {
  if (text === "") return undefined;
  const contentType = headers.get("content-type");
  try {
    // A response that declares another type, such as an HTML page, is never read as JSON.
    if (contentType === null || /\bjson\b/i.test(contentType)) return JSON.parse(text);
  } catch {
    // The parser's message would quote the body.
  }
  throw notJson(status, variant);
}

function notJson(status: number, variant: Variant): UnexpectedResponseError {
  const message = `The API answered ${status} without JSON. Check baseUrl and any proxy.`;
  return new UnexpectedResponseError("response_not_json", message, { status, variant });
}

function parseRefusal(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What the lazy part of a call is handed over. */
const core = { headerRecord, hasDotSegment, notJson, parseRefusal, transportError, untilAborted };
