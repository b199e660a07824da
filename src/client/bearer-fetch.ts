/**
 * A request with the bearer: if that is refused, the token is renewed and the request sent once
 * more; redirects are followed by hand, so that the bearer never leaves the base URL.
 */
import {
  type AccessToken,
  type Auth,
  beginEvents,
  callSupport,
  type Emit,
  type RequestEvents,
} from "../auth/auth.js";
import type { PersonRequiredError } from "../auth/person/stored-grant.js";
import type { ClientOptions } from "../client-options.js";
import type { ResolvedClock } from "../clock.js";
import {
  codeOf,
  isTransportError,
  locate,
  TransportError,
  UnexpectedResponseError,
  type Variant,
} from "../errors.js";
import {
  canBeSentAgain,
  discard,
  type RequestFacts,
  sendRequest,
  untilAborted,
  wasNotSent,
  withTimeLimit,
} from "../http/exchange.js";
import { invalidOption, requireSignal } from "../options.js";
import { isUnderBase } from "../variants/target.js";
import { isPersonRequired } from "./call-error.js";
import type { Retries } from "./retries.js";

/**
 * A younger token has not expired, so the refusal comes from the route, and renewing would flood
 * the token endpoint.
 */
const youngTokenMs = 30_000;

/** What the services of one connector share. */
export interface BearerFetchContext {
  readonly options: ClientOptions;
  readonly memoryOf: (auth: Auth) => CallMemory;
}

/**
 * What the calls through one Auth have shown. Requests of `service.fetch` share the operationId "".
 */
export interface CallMemory {
  /** The token that each operation succeeded with last. */
  readonly worked: Map<string, AccessToken>;
  /**
   * For each operation that was answered 429: returns the milliseconds until it may be called
   * again.
   */
  readonly limited: Map<string, () => number>;
  /** The operations that were answered like an unknown path since the last success. */
  readonly missing: Set<string>;
}

/** The parts of a request that a redirect may change. */
interface SentRequest {
  /** The caller of bearerFetch has checked that this URL is under the base URL. */
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestInit["body"];
}

export interface BearerRequest extends SentRequest {
  readonly auth: Auth;
  /** Ends the request and the wait for a token. */
  readonly signal: AbortSignal | undefined;
  /**
   * Makes the signal that the fetch gets from that of the time limit. Default: the latter itself.
   */
  readonly signalOf?: ((limit: AbortSignal) => AbortSignal) | undefined;
  readonly operationId?: string | undefined;
  /** The path of the operation in the document. */
  readonly path?: string | undefined;
  /** Other members of the RequestInit, such as undici's `dispatcher`, without the body. */
  readonly init?: RequestInit | undefined;
  readonly anonymous?: boolean | undefined;
  /** Whether it may be processed twice. */
  readonly isIdempotent: boolean;
  /** The time limit of each request. Default: the option of the service. */
  readonly timeoutMs?: number | undefined;
}

/** What a request does beside being sent. */
interface BearerExchange<T> {
  readonly events: RequestEvents;
  /** Reads from the response what the caller needs, within the time limit. */
  readonly read: (response: Response, variant: Variant) => Promise<T>;
  readonly retries?: Retries;
}

export interface BearerAnswer<T> {
  readonly response: Response;
  /**
   * Whether the server that answered got the bearer. It did not if a redirect left the base URL.
   */
  readonly withBearer: boolean;
  /**
   * Whether a redirect made a GET of the request. Then the request itself was processed, and is not
   * sent again.
   */
  readonly isProcessed: boolean;
  readonly content: T;
  readonly token: AccessToken | undefined;
  /** The token that was refused before, if the request was sent again with a new one. */
  readonly refusedToken: AccessToken | undefined;
  /**
   * Says what to ask the person for, if the bearer was refused and only the person can get another
   * token.
   */
  readonly required?: PersonRequiredError | undefined;
}

/** Reports the start and the end of a call. Its members are what the last event says. */
export class CallReport implements RequestEvents {
  readonly requestId: string;
  readonly emit: Emit;
  /** The status of the answer. */
  status: number | undefined;
  code: string | undefined;
  retries = 0;
  readonly #call: BearerRequest;
  readonly #clock: ResolvedClock;
  readonly #startedAt: number;

  /** Reports the start. */
  constructor(call: BearerRequest, options: ClientOptions) {
    this.#call = call;
    this.#clock = options.clock;
    this.#startedAt = options.clock.monotonic();
    ({ requestId: this.requestId, emit: this.emit } = beginEvents(call.auth, options));
    const { method, operationId } = call;
    this.emit({ type: "call_started", operationId, method });
  }

  /** Adds to an error what it is about. */
  located<E>(error: E): E {
    const { auth, operationId } = this.#call;
    return locate(error, auth, { operationId, requestId: this.requestId });
  }

  /** Returns the error to throw after a fault. */
  failed(fault: unknown): unknown {
    this.code = codeOf(fault, this.#call.signal);
    return this.located(fault);
  }

  /** Reports the end. */
  finished(): void {
    const { method, operationId } = this.#call;
    const { status, code, retries } = this;
    const durationMs = this.#clock.monotonic() - this.#startedAt;
    this.emit({ type: "call_finished", operationId, method, status, code, retries, durationMs });
  }
}

/**
 * A refusal is returned if it is the second, if the token is young, or if only a person can get
 * another token.
 */
export async function bearerFetch<T>(
  request: BearerRequest,
  { events: { requestId, emit }, read, retries }: BearerExchange<T>,
  context: BearerFetchContext,
): Promise<BearerAnswer<T>> {
  const { auth, method, operationId, isIdempotent } = request;
  const signal = requireSignal(request.signal);
  const { variant, baseUrl: waitsFor } = auth;
  // The time limit is for one request, without the wait for a token before it.
  const { clock } = context.options;
  const { timeoutMs = context.options.timeoutMs } = request;
  const limits = { variant, waitsFor, timeoutMs, clock, signal };
  const seen: Seen = { sent: 0, status: 0, refusedToken: undefined };
  for (;;) {
    // An Auth of the caller's own may ignore the signal. This is written twice, because one more
    // function would push the caller out of the error's stack.
    const token = request.anonymous
      ? undefined
      : requireToken(await untilAborted(auth.getAccessToken({ signal, requestId }), signal));
    seen.status = 0;
    let answer: BearerAnswer<T>;
    try {
      answer = await withTimeLimit(
        (limit) => follow(request, read, token, seen, context, limit),
        limits,
      );
    } catch (fault) {
      if (await retries?.again(undefined, fault)) continue;
      throw isIdempotent ? fault : mayBeProcessed(fault, method, seen.status);
    }
    const { response, withBearer, isProcessed } = answer;
    if (response.ok) {
      const { worked, missing } = context.memoryOf(auth);
      missing.clear();
      if (token !== undefined && withBearer) worked.set(operationId ?? "", token);
      return answer;
    }
    if (isProcessed) return answer;
    if (await retries?.again(response)) continue;
    if (seen.refusedToken !== undefined || token === undefined || !withBearer) return answer;
    if (!refusesBearer(response.status, token, auth, context)) return answer;
    const support = auth[callSupport];
    if (support?.needsPerson) return { ...answer, required: support.refused?.(token) };
    auth.invalidate(token);
    if (!canBeSentAgain(request.body)) return answer;
    try {
      const renewed = auth.getAccessToken({ signal, requestId });
      if (requireToken(await untilAborted(renewed, signal)).value === token.value) return answer;
    } catch (error) {
      if (isPersonRequired(error)) return { ...answer, required: error };
      discard(response);
      throw error;
    }
    discard(response);
    emit({ type: "call_replayed", operationId, method });
    seen.refusedToken = token;
  }
}

/** An Auth of the caller's own may return what is not a token. */
function requireToken(token: AccessToken): AccessToken {
  if (typeof token?.value === "string" && token.value !== "") return token;
  const problem = "must return a token with a value from getAccessToken";
  throw invalidOption("auth", problem, "Return { value, expiresAt }.");
}

/** Marks the fault of a request that may have been processed and must not be processed twice. */
export function mayBeProcessed(fault: unknown, method: string, status: number): unknown {
  if (!isTransportError(fault)) return fault;
  if (status === 0 && wasNotSent(fault)) return fault;
  const isSuccess = status >= 200 && status <= 299;
  const what = isSuccess ? `was answered ${status}, so it was probably` : "may have been";
  const message =
    `The ${method} ${what} processed: ` + `look before you send it again. ${fault.message}`;
  const { code, variant, cause } = fault;
  return new TransportError(code, message, { retryable: false, variant, cause });
}

/** Whether an answer may mean that the token is no longer valid, so that another one may help. */
function refusesBearer(
  status: number,
  token: AccessToken,
  auth: Auth,
  context: BearerFetchContext,
): boolean {
  const { options, memoryOf } = context;
  if (!options.unauthorizedStatuses.includes(status)) return false;
  const ageMs = options.clock.now() - (token.issuedAt ?? 0);
  // If the clock was set back, the age is negative. Such a token is not treated as young.
  if (ageMs >= 0 && ageMs <= youngTokenMs) return false;
  // A status other than 401 has other meanings too, so the token must have been accepted before.
  return (
    status === 401 || [...memoryOf(auth).worked.values()].some(({ value }) => value === token.value)
  );
}

/** The Fetch standard has the same limit. */
const mostRedirects = 20;
const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];

interface Hop extends SentRequest {
  /**
   * Whether this URL and all before it are under the base URL. Only then is the bearer sent, if
   * there is one.
   */
  readonly withBearer: boolean;
}

/** What a call has met so far. */
interface Seen {
  /** The requests that were sent. */
  sent: number;
  /** The status of the latest answer. */
  status: number;
  refusedToken: AccessToken | undefined;
}

/** Sends a request once, and follows its redirects. */
async function follow<T>(
  request: BearerRequest,
  read: BearerExchange<T>["read"],
  token: AccessToken | undefined,
  seen: Seen,
  { options }: BearerFetchContext,
  limit: AbortSignal,
) {
  const signal = request.signalOf?.(limit) ?? limit;
  const { auth, url, method, headers, body, init, operationId } = request;
  let hop: Hop = { url, method, headers, body, withBearer: true };
  for (let hops = 0; ; hops++) {
    const { method, body, withBearer } = hop;
    // The caller's own fetch may keep its headers or change them.
    const bearer = withBearer && token && { authorization: `Bearer ${token.value}` };
    const headers = { ...hop.headers, ...bearer };
    const own: RequestInit = { method, headers, redirect: "manual", signal };
    if (body !== undefined && body !== null) own.body = body;
    const sent: RequestInit & { duplex?: unknown } = init === undefined ? own : { ...init, ...own };
    if (init !== undefined && own.body === undefined) delete sent.duplex;
    // The Fetch standard requires `duplex` for a stream and allows no other value. A PUT that has
    // it is sent once.
    const isOnce = !request.isIdempotent && /^(?:PUT|DELETE)$/.test(method);
    if (isOnce || !canBeSentAgain(body)) sent.duplex = "half";
    const { variant, baseUrl, tenantId } = auth;
    const path = hops === 0 ? request.path : undefined;
    const facts: RequestFacts = {
      purpose: "call",
      variant,
      baseUrl,
      tenantId,
      operationId,
      path,
      resend: seen.sent++,
    };
    const response = await sendRequest(options, hop.url, sent, facts, withBearer);
    seen.status = response.status;
    try {
      // A fetch of the caller's may have ignored the signal. Node's throwIfAborted() is slower.
      if (limit.aborted) throw limit.reason;
      const next = response.ok ? undefined : nextHop(response, hop, request);
      if (next === undefined || hops >= mostRedirects) {
        const content = await read(response, auth.variant);
        const isProcessed = method !== request.method;
        const { refusedToken } = seen;
        return { response, withBearer, isProcessed, content, token, refusedToken };
      }
      discard(response);
      hop = next;
    } catch (error) {
      discard(response);
      throw error;
    }
  }
}

/**
 * Outside the base URL a request has no bearer and no body. After a redirect outside, the bearer
 * stays removed.
 */
function nextHop(response: Response, hop: Hop, { auth, init }: BearerRequest): Hop | undefined {
  const { status } = response;
  const isRedirect = redirectStatuses.includes(status);
  const isRefused = isRedirect && init?.redirect === "error";
  if (response.type === "opaqueredirect" || isRefused) {
    const reason = isRefused
      ? 'which redirect: "error" forbids. Leave redirect out to follow it.'
      : "and browsers hide where it leads. Check baseUrl.";
    const message = `The API answered with a redirect (${status || "its status is hidden"}), ${reason}`;
    throw new UnexpectedResponseError("response_redirected", message, {
      status,
      variant: auth.variant,
    });
  }
  const location = response.headers.get("location");
  if (!isRedirect || init?.redirect === "manual" || location === null) return undefined;
  let url: URL;
  try {
    url = new URL(location, hop.url);
  } catch {
    return undefined;
  }
  // Fetch throws for another scheme, and for user info before the host.
  if (!/^https?:\/\/[^@/]+\//.test(url.href)) return undefined;
  // A relative address may grow with each hop, and reading the path of each takes as long as it is.
  if (url.href.length > longestUrl) return undefined;
  // Plain http after https would let the network read the rest of the exchange.
  if (url.protocol === "http:" && hop.url.startsWith("https:")) return undefined;
  // A 301 or 302 makes a GET of a POST only (Fetch standard, HTTP-redirect fetch).
  const becomesGet =
    (status === 303 && hop.method !== "HEAD") || (status < 303 && hop.method === "POST");
  const method = becomesGet ? "GET" : hop.method;
  const body = becomesGet ? undefined : hop.body;
  if (!canBeSentAgain(body)) return undefined;
  const isInside = isUnderBase(url, auth.baseUrl);
  if (!isInside && method !== "GET" && method !== "HEAD") return undefined;
  const withBearer = hop.withBearer && isInside;
  const hasBody = body !== undefined && body !== null;
  // Outside the base URL no header may identify the caller. Without a body no header may describe
  // one.
  const isKept = (name: string) =>
    (withBearer || harmlessHeaders.includes(name)) && (hasBody || !name.startsWith("content-"));
  const headers = Object.fromEntries(Object.entries(hop.headers).filter(([name]) => isKept(name)));
  return { url: url.href, method, headers, body, withBearer };
}

/** Servers read 8 or 16 kB of a request's head. */
const longestUrl = 16_384;

/** Headers that describe the wanted response and do not identify the caller. */
const harmlessHeaders: readonly string[] = ["accept", "accept-language", "range"];
