/** Sends an operation and makes an outcome of its answer. */
import type { Auth } from "../auth/auth.js";
import type { EventBody } from "../auth/events.js";
import { type ApiError, ConfigurationError, UnexpectedResponseError } from "../errors.js";
import { readBounded } from "../http/exchange.js";
import { withTimeLimit } from "../http/time-limit.js";
import type { Fetch } from "../variants/target.js";
import { apiErrorOf } from "./api-error.js";
import { bearerFetch } from "./bearer-fetch.js";
import { headerRecord } from "./header-record.js";
import type { Operation } from "./operation-table.js";
import { requestBody } from "./request-body.js";
import { type CallParameters, requestUrl } from "./request-url.js";
import type { Validate } from "./validate.js";

/** What `call` and `paths` take, whatever the operation: as in openapi-fetch, and `envelope` beside. */
export interface CallInit {
  readonly params?: CallParameters | undefined;
  readonly body?: unknown;
  readonly headers?: RequestInit["headers"] | undefined;
  readonly envelope?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CallerOptions {
  readonly auth: Auth;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly timeoutMs: number;
  readonly tell: (event: EventBody) => void;
  readonly validate: Validate | undefined;
}

/** An outcome as it is at run time; the generated tables give it its type. */
export type AnyOutcome =
  | { ok: true; status: number; variant: "A" | "B"; data: unknown; response: Response }
  | { ok: false; status: number; variant: "A" | "B"; error: ApiError; response: Response };

export type Caller = (operation: Operation, init?: CallInit) => Promise<AnyOutcome>;

/** @throws ConfigurationError `option_invalid` */
export function createCaller(options: CallerOptions): Caller {
  const { auth, now, timeoutMs, validate, tell } = options;
  if (validate !== undefined && typeof validate !== "function")
    throw new ConfigurationError("option_invalid", "validate is no function. Make one with validator.", {
      option: "validate",
    });

  return async (operation, init = {}) => {
    if (typeof init !== "object" || init === null)
      throw new ConfigurationError("option_invalid", "The options of a call are no object.", {
        option: "init",
      });
    const { operationId, method } = operation;
    const url = requestUrl(operation.path, init.params ?? {}, auth);
    const body = requestBody(init.body, operation.contentType);
    const { envelope } = init;
    const headers = headerRecord(init.headers, init.params?.header, envelopeHeader(envelope));
    if (body !== undefined) headers["content-type"] ??= operation.contentType ?? "application/json";
    headers.accept ??= "application/json";
    const { anonymous } = operation;
    const { signal } = init;
    const {
      response,
      content: text,
      required,
    } = await bearerFetch(
      {
        url,
        method,
        headers,
        body,
        signal,
        operationId,
        anonymous,
        limit: (send) =>
          withTimeLimit(send, { variant: auth.variant, baseUrl: auth.baseUrl, timeoutMs, signal }),
        // A success may be large and is the caller's to want; what a refusal says is bounded.
        read: (answer) => (answer.ok ? answer.text() : readRefusal(answer)),
      },
      options,
    );
    const { status } = response;
    const { variant } = auth;
    if (operation.success.includes(status)) {
      const data = parseSuccess(text, response, variant);
      // The document's schema is of the raw body: what X-Envelope wraps it in is not shown.
      if (envelope === undefined) validate?.({ variant, operationId, status, data }, tell);
      return { ok: true, status, variant, data, response };
    }
    const isDocumented = operation.failure.includes(status);
    const error = apiErrorOf({
      variant,
      response,
      body: parseRefusal(text),
      now: now(),
      isDocumented,
      operationId,
      needsPerson: auth.needsPerson ?? false,
      required,
    });
    tell({ type: "call_refused", method, status, operationId });
    return { ok: false, status, variant, error, response };
  };

  async function readRefusal(response: Response): Promise<string> {
    return readBounded(response, auth.variant).catch((error) => {
      if (error instanceof UnexpectedResponseError) return "";
      throw error;
    });
  }
}

/** Its values are not shown (section 4.3 of the description): any text may be one. */
function envelopeHeader(envelope: unknown): Record<string, string> | undefined {
  if (envelope === undefined) return undefined;
  if (typeof envelope === "string" && envelope !== "") return { "x-envelope": envelope };
  throw new ConfigurationError("option_invalid", "envelope is no text, or empty.", { option: "envelope" });
}

function parseSuccess(text: string, response: Response, variant: "A" | "B"): unknown {
  if (text === "") return undefined;
  const contentType = response.headers.get("content-type");
  try {
    // A page that says it is one is not read as JSON, whatever it holds.
    if (contentType === null || /\bjson\b/i.test(contentType)) return JSON.parse(text);
  } catch {
    // Told below: the parser's message would quote the body.
  }
  throw new UnexpectedResponseError(
    "response_not_json",
    `The API answered ${response.status} without JSON. Is baseUrl right, or does a proxy answer in its place?`,
    { status: response.status, variant },
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
