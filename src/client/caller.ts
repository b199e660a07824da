/** Looks up an operation, builds its request, sends it with the bearer, and makes an outcome of the response. */
import type { OperationEntry } from "../../generated/operations.js";
import type { EventBody } from "../auth/auth.js";
import { type ApiError, ConfigurationError, UnexpectedResponseError, type Variant } from "../errors.js";
import { readBounded, withTimeLimit } from "../http/exchange.js";
import { invalidOption } from "../options.js";
import { type BearerFetchContext, bearerFetch } from "./bearer-fetch.js";
import { apiErrorOf } from "./call-error.js";
import type { LookupTypes } from "./outcome.js";
import { type CallParameters, headerRecord, requestBody, requestUrl } from "./request.js";

/** A generated module as `connect({ api })` accepts it; `types` exists for the compiler only. */
export interface Api<T extends LookupTypes> {
  readonly operations: { readonly A: object; readonly B: object; readonly types?: T };
}

/** Looks up the operations of one variant. The index of paths is built at the first call by path. */
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
    throw this.#unknown("operation with that id", Object.keys(this.#table));
  }

  idOf(method: string, path: string): string {
    const entries = () => Object.entries(this.#table);
    this.#ids ??= new Map(entries().map(([id, entry]) => [`${entry.method} ${entry.path}`, id]));
    const operationId = this.#ids.get(`${method} ${path}`);
    if (operationId !== undefined) return operationId;
    throw this.#unknown(`${method} operation at that path`, this.#ids.keys());
  }

  #unknown(missing: string, known: Iterable<string>): ConfigurationError {
    const message = `Variant ${this.#variant} has no ${missing}. It has: ${[...known].join(", ")}.`;
    return new ConfigurationError("operation_unknown", message, { variant: this.#variant });
  }
}

/** The options of `call` and `paths` for any operation: those of openapi-fetch and `envelope`. */
export interface CallInit {
  readonly params?: CallParameters | undefined;
  readonly body?: unknown;
  readonly headers?: RequestInit["headers"] | undefined;
  readonly envelope?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CallerOptions extends BearerFetchContext {
  readonly operations: OperationIndex;
  readonly timeoutMs: number;
  readonly validate: Validate | undefined;
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
export type Validate = (answer: ValidatedAnswer, emit: (event: EventBody) => void) => void;

/** An outcome as it is at run time; the generated tables give it its type. */
type AnyOutcome =
  | { ok: true; status: number; variant: Variant; data: unknown; response: Response }
  | { ok: false; status: number; variant: Variant; error: ApiError; response: Response };

export type Caller = (operationId: string, init?: CallInit) => Promise<AnyOutcome>;

export function createCaller(options: CallerOptions): Caller {
  const { auth, operations, now, timeoutMs, validate, emit } = options;
  const { variant, baseUrl } = auth;
  if (validate !== undefined && typeof validate !== "function")
    throw invalidOption("validate", "must be a function", "Make one with validator from bivariant/validate.");

  return async (operationId, init = {}) => {
    const operation = operations.byId(operationId);
    if (typeof init !== "object" || init === null) throw invalidOption("init", "must be an object");
    const { params, envelope, signal } = init;
    const { method, contentType, anonymous } = operation;
    const url = requestUrl(operation.path, params ?? {}, auth);
    const body = requestBody(init.body, contentType);
    const headers = headerRecord(init.headers, params?.header, envelopeHeader(envelope));
    if (body !== undefined) headers["content-type"] ??= contentType ?? "application/json";
    headers.accept ??= "application/json";
    const answer = await bearerFetch(
      {
        url,
        method,
        headers,
        body,
        signal,
        operationId,
        anonymous,
        limit: (send) => withTimeLimit(send, { variant, baseUrl, timeoutMs, signal }),
        // A success may be of any size, because the caller asked for it. A refusal that is too large counts as empty.
        read: (response) => {
          if (response.ok) return response.text();
          return readBounded(response, variant).catch((error) => {
            if (error instanceof UnexpectedResponseError) return "";
            throw error;
          });
        },
      },
      options,
    );
    const { response, content, required } = answer;
    const { status } = response;
    if (operation.success.includes(status)) {
      const data = parseSuccess(content, response, variant);
      // The schema is for the raw body, and the description does not show the body inside an envelope.
      if (envelope === undefined) validate?.({ variant, operationId, status, data }, emit);
      return { ok: true, status, variant, data, response };
    }
    const error = apiErrorOf({
      variant,
      response,
      operationId,
      required,
      now: now(),
      body: parseRefusal(content),
      isDocumented: operation.failure.includes(status),
      needsPerson: auth.needsPerson ?? false,
    });
    emit({ type: "call_refused", method, status, operationId });
    return { ok: false, status, variant, error, response };
  };
}

/** Any string is accepted, because the description does not list the values of X-Envelope (section 4.3). */
function envelopeHeader(envelope: unknown): Record<string, string> | undefined {
  if (envelope === undefined) return undefined;
  if (typeof envelope === "string" && envelope !== "") return { "x-envelope": envelope };
  throw invalidOption("envelope", "must be a non-empty string");
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
  throw new UnexpectedResponseError(
    "response_not_json",
    `The API answered ${status} without JSON. Check baseUrl, and whether a proxy answers in its place.`,
    { status, variant },
  );
}

function parseRefusal(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
