/** Builds the request of an operation, sends it with the bearer, and makes an outcome of the response. */
import type { OperationEntry, CallOptions as OptionsOfCall } from "../../generated/operations.js";
import { type Auth, callSupport, type Emit } from "../auth/auth.js";
import { countdown, deadlineIn } from "../clock.js";
import {
  type ApiError,
  codeOf,
  isTransportError,
  locate,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import { parseRetryAfterMs, retryWaitMs, sleep } from "../http/backoff.js";
import {
  canBeSentAgain,
  idempotentMethods,
  readBounded,
  transportError,
  untilAborted,
} from "../http/exchange.js";
import { lazy } from "../http/lazy.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireDuration, requireTypes } from "../options.js";
import { hasDotSegment } from "../variants/target.js";
import type { AnswerContent } from "./answer.js";
import { type BearerFetchContext, bearerFetch, contextOf } from "./bearer-fetch.js";
import { apiErrorOf } from "./call-error.js";
import { type CallInit, fetchInitOf } from "./init.js";
import type { OperationIndex } from "./operation-index.js";
import { headerRecord, usualRequest } from "./request.js";
import { signalOf } from "./service-fetch.js";

/** What calls need beyond text in parameters and JSON, plain forms in bodies, JSON in answers. */
const anyCall = /* @__PURE__ */ lazy(() => import("./any-call.js"));

/** The options of a service that only calls use. */
export interface CallOptions {
  /** Made by `validator` from `bivariant/validate`. */
  readonly validate?: Validate | undefined;
  /**
   * Headers of every call and `service.fetch`, but not of token requests. Those of a call itself replace them, and `null`
   * there leaves one out. What each request writes itself, such as `authorization`, is refused.
   */
  readonly headers?: OptionsOfCall["headers"];
  /**
   * How often a call is sent again, within `retryDeadlineMs`: after a 429, and if it is idempotent (RFC 9110 section
   * 9.2.2) after 502, 503, 504 and network faults. Default: 2. A call has the same option.
   */
  readonly maxRetries?: number | undefined;
  /**
   * The statuses of the API that mean that the bearer is no longer valid, which the description does not show. A status
   * other than 401 counts only for a token that was accepted before. Default: [401].
   */
  readonly unauthorizedStatuses?: readonly number[] | undefined;
  /**
   * Whether the message of an `ApiError` ends with the body of the answer: one line of at most 500 characters, which is left
   * out if it repeats the bearer or another secret of the request's headers. Default: false, since what a body says
   * belongs in a log only if you know that.
   */
  readonly bodyInMessage?: boolean | undefined;
  /**
   * The most bytes of a success that is read whole, and of one event or line of a stream. A call has the same option.
   * Default: no limit.
   */
  readonly maxResponseBytes?: number | undefined;
}

export const callNames: NamesOf<CallOptions> = {
  validate: true,
  headers: true,
  maxRetries: true,
  unauthorizedStatuses: true,
  bodyInMessage: true,
  maxResponseBytes: true,
};

type ResolvedCallOptions = Pick<CallOptions, "validate" | "bodyInMessage" | "maxResponseBytes"> & {
  readonly [K in "maxRetries" | "unauthorizedStatuses"]: NonNullable<CallOptions[K]>;
} & { readonly headers: Readonly<Record<string, string>> | undefined };

/** @throws ConfigurationError `option_invalid` */
export function resolveCallOptions(options: CallOptions): ResolvedCallOptions {
  const { validate, maxRetries, unauthorizedStatuses = [401], bodyInMessage, maxResponseBytes } = options;
  if (validate !== undefined && typeof validate !== "function")
    throw invalidOption("validate", "must be a function", "Make one with validator from bivariant/validate.");
  const isStatus = (one: unknown) => Number.isInteger(one) && Number(one) >= 400 && Number(one) <= 599;
  if (!Array.isArray(unauthorizedStatuses) || !unauthorizedStatuses.every(isStatus))
    throw invalidOption(
      "unauthorizedStatuses",
      "must be a list of statuses from 400 to 599",
      "Pass [401, 403].",
    );
  requireTypes(options, "boolean", ["bodyInMessage"]);
  requireMostBytes(maxResponseBytes);
  const headers = options.headers === undefined ? undefined : commonHeaders(options.headers);
  return {
    ...{ validate, headers, unauthorizedStatuses, bodyInMessage, maxResponseBytes },
    maxRetries: requireMaxRetries(maxRetries, 2),
  };
}

/** Headers that cannot be those of all calls. Fetch refuses most of the last, which would look like a network fault. */
const written: readonly (readonly [names: RegExp, why: string, remedy?: string])[] = [
  [/^authorization$/, "the bearer is sent in it"],
  [/^(?:accept|content-type|x-envelope)$/, "each call sends its own", "Pass it to the call."],
  [
    /^(?:connection|content-length|expect|host|keep-alive|te|transfer-encoding|upgrade)$/,
    "the fetch writes it",
  ],
];

function commonHeaders(headers: CallOptions["headers"]): Record<string, string> {
  const record = headerRecord(headers);
  for (const name of Object.keys(record))
    for (const [names, why, remedy = "Leave it out."] of written)
      if (names.test(name)) throw invalidOption("headers", `must not hold ${name}: ${why}`, remedy);
  return record;
}

function requireMostBytes(mostBytes: unknown): void {
  if (mostBytes !== undefined && !(Number.isInteger(mostBytes) && Number(mostBytes) > 0))
    throw invalidOption("maxResponseBytes", "must be a whole number from 1");
}

function requireMaxRetries(maxRetries: unknown, fallback: number): number {
  if (maxRetries === undefined) return fallback;
  if (Number.isInteger(maxRetries) && Number(maxRetries) >= 0) return Number(maxRetries);
  throw invalidOption("maxRetries", "must be a whole number from 0");
}

export interface CallerContext extends BearerFetchContext {
  readonly operations: OperationIndex;
  readonly options: BearerFetchContext["options"] &
    ResolvedCallOptions & { readonly retryDeadlineMs: number };
}

export interface ValidatedAnswer {
  readonly variant: Variant;
  readonly operationId: string;
  readonly status: number;
  readonly data: unknown;
}

/**
 * Checks the data of a success; reports an event or throws. `bivariant/validate` makes one, and only that imports zod.
 *
 * @throws UnexpectedResponseError `response_shape`
 */
export type Validate = ((answer: ValidatedAnswer, emit: Emit) => void) & {
  readonly schemas?: Readonly<Record<Variant, { readonly operations: object }>>;
};

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

const gatewayStatuses: readonly number[] = [502, 503, 504];
const unknownPathStatuses: readonly number[] = [404, 405, 410];

/** Whether the path, the query or the body has a parameter for a device, by a mark in the document or by its name. */
function namesDevice({ path, deviceParameter }: OperationEntry, { params, body }: CallInit): boolean {
  // The bytes of a Buffer are its keys too.
  const inBody = typeof body === "object" && !ArrayBuffer.isView(body) ? Object.keys(body ?? {}) : [];
  const inPath = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name);
  const names = [...inPath, ...Object.keys(params?.query ?? {}), ...inBody];
  const marked = typeof deviceParameter === "object" ? deviceParameter.name : deviceParameter;
  return names.some((name) => /device/i.test(name) || name === marked);
}

const none: CallInit = {};

export function createCaller(context: CallerContext): Caller {
  const { operations, options, begin, memoryOf } = context;
  const { clock, validate, retryDeadlineMs } = options;

  const call: Caller = async (auth, operationId, init = none) => {
    const { variant } = auth;
    const operation = operations.byId(operationId);
    const fetchInit = init === none ? undefined : fetchInitOf(init);
    const { envelope } = init;
    // The Fetch standard allows null.
    const signal = init.signal ?? undefined;
    const { method, anonymous } = operation;
    if (operation.bodyRequired && init.body === undefined)
      throw invalidOption("body", `is missing, but ${operationId} requires one`);
    if (init.body !== undefined && (method === "GET" || method === "HEAD"))
      throw invalidOption(
        "body",
        `must not be sent with ${method}`,
        `Leave it out: fetch sends none with ${method}.`,
      );
    const maxRetries = requireMaxRetries(init.maxRetries, options.maxRetries);
    const timeoutMs = requireDuration("timeoutMs", init.timeoutMs, options.timeoutMs, 1);
    requireTypes(init, "boolean", ["idempotent"]);
    const { idempotent: isIdempotent = idempotentMethods.includes(method) } = init;
    const { parseAs, maxResponseBytes: mostBytes = options.maxResponseBytes } = init;
    requireMostBytes(mostBytes);
    const own = envelopeHeader(envelope);
    const toWrite = { operationId, operation, init, target: auth, common: options.headers, own };
    const request = usualRequest(toWrite) ?? (await anyCall()).anyRequest(toWrite, core);
    const { url, headers, body } = request;
    // The answer of most operations is JSON of any size. Otherwise its media type decides how it is read.
    const isJsonOnly = operation.answers === undefined && operation.success.length > 0;
    const reader =
      isJsonOnly && parseAs === undefined && mostBytes === undefined
        ? undefined
        : (await anyCall()).answerReader(operation, { parseAs, mostBytes, auth, signal, core });
    headers.accept ??= reader?.accept ?? "application/json";
    const startedAt = clock.monotonic();
    const events = begin(auth);
    const { emit, requestId } = events;
    const located = <E>(error: E) => locate(error, contextOf(auth, { operationId, requestId }));
    emit({ type: "call_started", operationId, method });
    const leftMs = deadlineIn(retryDeadlineMs, clock);
    let retries = 0;
    const again = async (response: Response | undefined, fault?: unknown): Promise<boolean> => {
      const status = response?.status;
      const isPassing = isTransportError(fault) ? fault.retryable : gatewayStatuses.includes(status ?? 0);
      // A request that was answered 429 was not processed, whatever its method.
      if (status !== 429 && !(isPassing && isIdempotent)) return false;
      const askedMs = response && parseRetryAfterMs(response.headers, clock.now());
      const waitMs = retryWaitMs(askedMs, retries, clock);
      if (status === 429) memoryOf(auth).limited.set(operationId, countdown(waitMs, clock));
      if (retries >= maxRetries || !canBeSentAgain(body) || waitMs > leftMs()) return false;
      const code = isTransportError(fault) ? fault.code : undefined;
      emit({ type: "call_retried", operationId, method, status, code, retry: ++retries, waitMs });
      await sleep(waitMs, signal, clock);
      return true;
    };
    let status: number | undefined;
    let code: string | undefined;
    try {
      const limitedMs = memoryOf(auth).limited.get(operationId)?.() ?? 0;
      if (limitedMs > 0 && maxRetries > 0 && limitedMs <= leftMs()) await sleep(limitedMs, signal, clock);
      const answer = await bearerFetch(
        {
          auth,
          url,
          method,
          headers,
          body,
          events,
          signal,
          operationId,
          path: operation.path,
          anonymous,
          isIdempotent,
          timeoutMs,
          again,
          init: fetchInit,
          // A stream outlives the call, so the time limit may not end it.
          signalOf: reader && ((limit) => signalOf(limit, signal)),
          read: (response): Promise<string | AnswerContent> =>
            reader === undefined
              ? readText(response, variant)
              : reader.read(response, isSuccess(operation, response), located),
        },
        context,
      );
      const { response, content, token, required, refusedToken } = answer;
      status = response.status;
      if (isSuccess(operation, response)) {
        const { value: data, isJson } =
          typeof content === "string"
            ? { value: parseSuccess(content, response, variant), isJson: true }
            : content;
        // The schema is for the raw body, and the description does not show the body inside an envelope.
        if (envelope === undefined && isJson) validate?.({ variant, operationId, status, data }, emit);
        return { ok: true, status, variant, data, retries, requestId, response };
      }
      const refusal = apiErrorOf({
        auth,
        support: auth[callSupport],
        response,
        operationId,
        required,
        now: clock.now(),
        body: typeof content === "string" ? parseRefusal(content) : content.value,
        isDocumented: operation.failure.includes(status),
        isReplayed: options.unauthorizedStatuses.includes(status) ? refusedToken !== undefined : undefined,
        sent: options.bodyInMessage ? { tokens: [token, refusedToken], headers } : undefined,
        isIdempotent,
        hasWorked: token !== undefined && memoryOf(auth).worked.get(operationId)?.value === token.value,
        namesDevice: namesDevice(operation, init),
        looksMoved:
          unknownPathStatuses.includes(status) &&
          (memoryOf(auth).missing.add(operationId).size > 1 || isOfRouter(operation, content)),
      });
      const error = located(await untilAborted(refusal, signal));
      code = error.code;
      emit({ type: "call_refused", method, status, operationId });
      return { ok: false, status, variant, error, retries, requestId, response };
    } catch (error) {
      code = codeOf(error, signal);
      throw located(error);
    } finally {
      const durationMs = clock.monotonic() - startedAt;
      emit({ type: "call_finished", operationId, method, status, code, durationMs, retries });
    }
  };
  // What is refused before the call begins has no requestId.
  return (auth, operationId, init) =>
    call(auth, operationId, init).catch((error) => {
      throw locate(error, contextOf(auth, { operationId }));
    });
}

/** Whether a path is unknown, and not a record that it names: then a router, which has no JSON to say, has answered. */
function isOfRouter({ path }: OperationEntry, content: string | AnswerContent): boolean {
  const isJson = typeof content === "string" ? typeof parseRefusal(content) === "object" : content.isJson;
  return !isJson && !/\{(?!tenantId\})/.test(path);
}

/** Any string is accepted, because the description does not list the values of X-Envelope (section 4.3). */
function envelopeHeader(envelope: unknown): Record<string, string> | undefined {
  if (envelope === undefined) return undefined;
  if (typeof envelope === "string" && envelope !== "") return { "x-envelope": envelope };
  throw invalidOption("envelope", "must be a non-empty string");
}

/** Where the document has no 2xx, each is a success. */
function isSuccess({ success }: OperationEntry, { ok, status }: Response): boolean {
  return success.length === 0 ? ok : success.includes(status);
}

/** A success may be of any size, because the caller asked for it. A refusal that is too large counts as empty. */
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
