/**
 * One HTTP exchange: a request with a time limit, its bounded answer, the transport errors, the
 * default fetch, the caller's `intercept` around it, and what no runtime may repeat.
 */
import type { ResolvedClock } from "../clock.js";
import {
  isBivariantError,
  isConfigurationError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import { invalidOption } from "../options.js";

/** An answer whose body was read completely. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Epoch milliseconds, by the clock of the caller. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export const isRedirect = ({ status }: { status: number }): boolean =>
  status >= 300 && status < 400;
export const isUnknownPath = ({ status }: { status: number }): boolean =>
  [404, 405, 410].includes(status);

/** The limit of an answer to a token request or a detection, and of the body of a refused call. */
export const maximumBodyBytes = 1_048_576;
const tooLargeMessage =
  "The answer is larger than 1 MiB. Check baseUrl: it may be the address of a download.";

/**
 * Sends one request and reads its answer, up to 1 MiB. It follows no redirect, since a request may
 * hold a credential.
 *
 * @throws UnexpectedResponseError `response_too_large`, and the errors of `withTimeLimit`
 */
export function exchange(
  send: (signal: AbortSignal) => Promise<Response>,
  options: TimeLimitOptions,
): Promise<Answer> {
  const { clock, variant } = options;
  return withTimeLimit(async (abort) => {
    const sentAt = clock.now();
    const response = await send(abort);
    const receivedAt = clock.now();
    const text = await readBounded(response, variant);
    // In a browser a redirect that is not followed has the status 0.
    const status = response.type === "opaqueredirect" ? 302 : response.status;
    return { status, headers: response.headers, text, sentAt, receivedAt };
  }, options);
}

/**
 * Reads the text of a body of at most 1 MiB, without a byte order mark. Tokens and refusals have
 * some kB.
 */
export async function readBounded(response: Response, variant: Variant): Promise<string> {
  const { body, status } = response;
  const tooLarge = () =>
    new UnexpectedResponseError("response_too_large", tooLargeMessage, { status, variant });
  if (!body) return "";
  if (Number(response.headers.get("content-length")) > maximumBodyBytes) {
    discard(response);
    throw tooLarge();
  }
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // A chunk is decoded when the next one arrives, so that the usual body of one chunk is decoded in
  // one call.
  let latest: Uint8Array | undefined;
  // The body of node-fetch can be read in no other way. A throw cancels it.
  for await (const value of body) {
    bytes += value.byteLength;
    if (bytes > maximumBodyBytes) throw tooLarge();
    if (latest !== undefined) text += decoder.decode(latest, { stream: true });
    latest = value;
  }
  return text + decoder.decode(latest);
}

/** Ends a body that is not read, or not to its end, since it would hold its connection. */
export function discard({ body }: Response): void {
  // The body of node-fetch is a stream of Node.
  if (body && "destroy" in body) (body as unknown as { destroy(): void }).destroy();
  else body?.cancel().catch(() => {});
}

/** Parses a string as a JSON object. Returns `undefined` if it is not one. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  return recordOf(parseJson(text));
}

/** Returns `undefined`, which JSON cannot express, for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a body as JSON, or as text if it is not JSON, or `undefined` if it is empty. */
export function jsonOrText(text: string): unknown {
  const json = parseJson(text);
  return json === undefined ? text || undefined : json;
}

/** Returns a value that is an object with fields, otherwise `undefined`. */
export function recordOf(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

interface TimeLimitOptions {
  readonly variant: Variant;
  /**
   * The words of an error message for what is asked: the base URL, or for instance a credential's
   * function. It may change.
   */
  readonly waitsFor: string;
  readonly timeoutMs: number;
  readonly clock: ResolvedClock;
  /** It was checked by `requireSignal`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a task that sends a request, and aborts it at its time limit. It uses neither
 * `AbortSignal.timeout` nor `AbortSignal.any`, since both cost more than the call they guard, and
 * the latter leaks.
 *
 * @throws TransportError `timed_out`, or the error made from the task's fault; the signal's reason
 */
export function withTimeLimit<T>(
  task: (signal: AbortSignal) => Promise<T>,
  options: TimeLimitOptions,
): Promise<T> {
  const { variant, timeoutMs, clock, signal } = options;
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = () => {
      clock.clearTimeout(timer);
      forget?.();
    };
    // The caller's own fetch may ignore the signal, so the wait ends here too.
    const stop = (reason: unknown) => {
      end();
      reject(reason);
      controller.abort(reason);
    };
    const timer = clock.setTimeout(() => {
      const message =
        `No complete answer from ${options.waitsFor} within ${timeoutMs} ms. ` +
        "Check whether it is reachable, or raise timeoutMs.";
      stop(new TransportError("timed_out", message, { retryable: true, variant }));
    }, timeoutMs);
    const forget = signal && whenAborted(signal, () => stop(signal.reason));
    task(controller.signal).then(
      (value) => {
        end();
        resolve(value);
      },
      (fault: unknown) => {
        end();
        reject(isBivariantError(fault) ? fault : transportError(fault, variant, options.waitsFor));
      },
    );
  });
}

/**
 * The functions to call when a signal is aborted. They share one listener, which is removed with
 * the last of them.
 */
const waiting = new WeakMap<
  AbortSignal,
  { readonly ends: Set<() => void>; readonly listener: () => void }
>();

/** Calls `end` once when the signal is aborted, unless `unlisten` cancels this before. */
export function listen(signal: AbortSignal, end: () => void): void {
  const known = waiting.get(signal);
  if (known !== undefined) {
    known.ends.add(end);
    return;
  }
  const ends = new Set([end]);
  const listener = () => {
    waiting.delete(signal);
    for (const each of [...ends]) each();
  };
  waiting.set(signal, { ends, listener });
  signal.addEventListener("abort", listener, { once: true });
}

export function unlisten(signal: AbortSignal, end: () => void): void {
  const known = waiting.get(signal);
  if (known === undefined || !known.ends.delete(end) || known.ends.size > 0) return;
  waiting.delete(signal);
  signal.removeEventListener("abort", known.listener);
}

/** Calls `end` once when the signal is aborted. Returns a function that cancels this. */
export function whenAborted(signal: AbortSignal, end: () => void): () => void {
  listen(signal, end);
  return () => unlisten(signal, end);
}

/** Waits for a value or a promise. @throws the signal's reason when it is aborted before */
export function untilAborted<T>(
  given: T | Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const promise = Promise.resolve(given);
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    const settled = promise.then(resolve, reject);
    if (signal.aborted) onAbort();
    else settled.then(whenAborted(signal, onAbort));
  });
}

const tlsCode =
  /^(?:EPROTO|ERR_SSL_|ERROR_IN_|PATH_LENGTH_|ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED|HOSTNAME_|CRL_|INVALID_)/;

/**
 * Turns the fault of a fetch into an error that distinguishes a refused certificate from a failed
 * network.
 */
export function transportError(fault: unknown, variant: Variant, baseUrl: string): TransportError {
  const code = systemCode(fault);
  const isTls = code !== undefined && tlsCode.test(code);
  // The Fetch standard blocks the ports of some other protocols, such as 1 and 6000. Node names no
  // code for it.
  const isBlocked = (fault as { cause?: Error } | undefined)?.cause?.message === "bad port";
  const reason = code ?? (isBlocked ? "fetch blocks this port" : undefined);
  const message = isTls
    ? `The secure connection to ${baseUrl} failed (${code}). ` +
      "Check the certificate of the deployment, and the authorities this machine trusts."
    : `The request to ${baseUrl} failed before a complete answer ` +
      `came${reason === undefined ? "" : ` (${reason})`}. ` +
      "Check the address, the network and the proxy.";
  const context = { retryable: !isTls, variant, cause: fault };
  return new TransportError(isTls ? "tls_failed" : "network_failed", message, context);
}

/** The faults before a connection was made, so that no byte of the request was sent. */
const unsentCode =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * Certificates are checked before the request is sent. Alerts and damaged records may come after
 * it.
 */
const certificateCode =
  /^(?:ERR_TLS_CERT_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED|HOSTNAME_|CRL_|INVALID_)/;

/** Whether the fault of a fetch shows by itself that the request did not reach the server. */
export function wasNotSent({ cause }: TransportError): boolean {
  const code = systemCode(cause) ?? "";
  return unsentCode.test(code) || certificateCode.test(code);
}

export function systemCode(fault: unknown): string | undefined {
  for (let at = fault, depth = 0; typeof at === "object" && at !== null && depth < 5; depth++) {
    const { code, cause } = at as { code?: unknown; cause?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
    at = cause;
  }
  return undefined;
}

/** The part of `fetch` that is used: it is always called with a string and a `RequestInit`. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * What a request is for, without headers and body, so without credential, code and token. `url` may
 * hold parameters.
 */
export interface InterceptedRequest {
  readonly purpose: "call" | "token" | "detection";
  readonly variant: Variant;
  readonly baseUrl: string;
  readonly tenantId: string;
  /** Of a call; absent for `service.fetch`. */
  readonly operationId?: string | undefined;
  /**
   * Of a call: the path in the document, with its parameters in braces. Absent after a redirect.
   */
  readonly path?: string | undefined;
  readonly method: string;
  readonly url: string;
  /**
   * How many requests of the same call or token request went before: retries, redirects, a refused
   * bearer.
   */
  readonly resend: number;
}

/**
 * Called around each HTTP request, for tracing for example. It calls `send`, which works once, with
 * headers to add to the request, and returns the response with its body unread. Headers that the
 * request has are kept, and none is added outside the base URL.
 */
export type Intercept = (
  request: InterceptedRequest,
  send: (headers?: Readonly<Record<string, string>>) => Promise<Response>,
) => Promise<Response>;

export type RequestFacts = Omit<InterceptedRequest, "method" | "url">;

/** Sends a request, through the interceptor if there is one. */
export async function sendRequest(
  { fetch, intercept }: { readonly fetch: Fetch; readonly intercept?: Intercept | undefined },
  url: string,
  init: RequestInit,
  facts: RequestFacts,
  mayAdd = true,
): Promise<Response> {
  if (intercept === undefined) return await responseOf("fetch", fetch(url, init));
  const request = { ...facts, method: init.method ?? "GET", url };
  let sent: Promise<Response> | undefined;
  try {
    const send = async (headers: Readonly<Record<string, string>> = {}) => {
      // The request may hold a code or a refresh token.
      if (sent !== undefined) throw invalidOption("intercept", "must send a request once");
      // All requests of this package have a record of headers with names in lower case.
      const added = Object.entries(mayAdd ? headers : {}).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]);
      const all = { ...Object.fromEntries(added), ...init.headers };
      sent = responseOf("fetch", fetch(url, { ...init, headers: all }));
      return sent;
    };
    const answer = intercept(request, (headers) => {
      const answer = send(headers);
      // An interceptor that fails or sends twice may not wait for it.
      answer.catch(() => {});
      return answer;
    });
    return await responseOf("intercept", answer);
  } catch (error) {
    const isOwn = sent === undefined || isConfigurationError(error);
    await sent?.then(discard, (fault: unknown) => {
      if (!isOwn) throw fault;
    });
    // Its code may be of another connection. As that of the request it could say that nothing was
    // sent.
    throw isOwn ? error : new AggregateError([error]);
  }
}

/** As a fault of the network, a forgotten `return` would be sent again. */
async function responseOf(option: string, answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  if (typeof response?.status === "number") return response;
  throw invalidOption(option, "must return a promise of a Response");
}

/**
 * Whether a host name stands for this machine (RFC 6761 section 6.3). Systems have `localhost` in
 * their hosts file.
 */
export function isLoopback(hostname: string): boolean {
  return /^(?:(?:.*\.)?localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
}

/** The global fetch, looked up per call, so that it may be replaced later. */
export const defaultFetch: Fetch = (url, init) => globalThis.fetch(url, init);

/**
 * The methods that may be sent again although the first request may have been processed (RFC 9110
 * section 9.2.2).
 */
export const idempotentMethods: readonly string[] = [
  "GET",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PUT",
  "DELETE",
];

/** Whether a body can be sent twice. A stream can be read only once. */
export function canBeSentAgain(body: unknown): boolean {
  if (typeof (body ?? "") === "string" || ArrayBuffer.isView(body)) return true;
  return [URLSearchParams, ArrayBuffer, Blob, FormData].some((kind) => body instanceof kind);
}

/**
 * Makes a fetch whose requests undici, which is Node's fetch, sends once unless their method is
 * idempotent and they have no `duplex`, with which a call says that its PUT or DELETE is not. After
 * a 421 undici repeats any request (RFC 9110 section 15.5.20) but one whose body it cannot make
 * again: an iterable or a stream.
 *
 * With `isOwn` the fetch is the caller's and may know neither, so only text is replaced, and the
 * body that is missing.
 */
export function sendingOnce(fetch: Fetch, isOwn: boolean): Fetch {
  return (url, init = {}) => {
    const { method = "GET", body } = init;
    const mayBeRepeated = idempotentMethods.includes(method) && !("duplex" in init);
    if (mayBeRepeated || globalThis.process?.versions?.undici === undefined)
      return fetch(url, init);
    const text = body ?? "";
    if (typeof text === "string") {
      // Bytes that are made only to be counted would cost a first token 2% more.
      const length = globalThis.Buffer.byteLength(text);
      const type = body === text ? "text/plain;charset=UTF-8" : null;
      return fetch(url, ofBody(init, new SingleText(text), length, type));
    }
    if (!canBeSentAgain(text)) return fetch(url, { ...withoutLogin, ...init });
    if (isOwn) return fetch(url, init);
    // Undici would hold the whole body in memory too, except a Blob, whose size is known.
    const whole = new Response(text);
    const type = whole.headers.get("content-type");
    if (text instanceof Blob) return fetch(url, ofBody(init, whole.body, text.size, type));
    return whole
      .arrayBuffer()
      .then((bytes) => fetch(url, ofBody(init, new Response(bytes).body, bytes.byteLength, type)));
  };
}

/**
 * A body that cannot be made again. It costs a tenth of a stream. A fetch that does not know
 * iterables sends its string.
 */
class SingleText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    // An empty chunk would keep some versions of undici waiting.
    if (this.#text !== "") yield new TextEncoder().encode(this.#text);
  }
}

/**
 * Node 24.14 and 24.15 answer a stream that meets a 401 with a network fault, unless no login could
 * be asked for.
 */
const withoutLogin = { credentials: "omit" } as const;

/** The headers are those that fetch makes of the original body. */
function ofBody(init: RequestInit, body: unknown, length: number, type: string | null) {
  // All requests of this package have a record of headers with names in lower case.
  const headers = { ...(init.headers as Record<string, string>) };
  if (type !== null) headers["content-type"] ??= type;
  headers["content-length"] = String(length);
  return { ...withoutLogin, ...init, headers, body, duplex: "half" } as RequestInit;
}
