/**
 * Sends one token request, for machines and persons, learns the rate limit and the server's clock from its answer, and
 * explains a refusal.
 */
import type { ResolvedAuthOptions } from "../../client-options.js";
import {
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
  wireText,
} from "../../errors.js";
import {
  type Answer,
  exchange,
  type Fetch,
  jsonObject,
  parseJson,
  type RequestFacts,
  sendRequest,
  wasNotSent,
} from "../../http/exchange.js";
import type { Target } from "../../variants/target.js";
import type { PreparedCredential, Refusal, SentAttempt, TokenAttempt } from "../credentials/credential.js";
import type { Emit } from "../events.js";
import type { SharedState } from "../shared/shared-state.js";
import type { TokenEndpointState } from "./rate-limit-gate.js";
import { type IssuedTokens, isUnknownPath, parseTokenAnswer } from "./token-answer.js";

/** The token endpoint that requests go to, with the options of the identity that sends them. */
export interface TokenEndpoint {
  readonly variant: Variant;
  readonly target: Target;
  readonly state: TokenEndpointState;
  readonly shared: SharedState;
  readonly options: ResolvedAuthOptions;
  readonly emit: Emit;
}

export interface TokenReply {
  readonly answer: Answer;
  readonly sent: SentAttempt;
  /** The milliseconds that were added to this machine's clock for the assertion. */
  readonly correctedByMs: number;
  readonly isByOwnClock: boolean;
}

interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  readonly isByOwnClock?: boolean;
  /** How many requests of the same renewal went before. */
  readonly resend?: number;
}

/**
 * Sends a token request once; the gate must have been entered. With `isByOwnClock` the server's clock is not applied.
 *
 * @throws TransportError, UnexpectedResponseError `response_too_large`, the signal's reason
 */
export async function sendTokenRequest(
  { variant, target, state, shared, options, emit }: TokenEndpoint,
  send: (attempt: TokenAttempt) => Promise<SentAttempt>,
  { signal, isByOwnClock = false, resend = 0 }: SendOptions = {},
): Promise<TokenReply> {
  const { clock, timeoutMs } = options;
  let sent: SentAttempt | undefined;
  let correctedByMs = 0;
  // The words of the error for a time limit: what is waited for is first the signature, which a KMS may make.
  const limit = { variant, waitsFor: target.baseUrl, clock, timeoutMs, signal };
  const facts = (): RequestFacts => ({ purpose: "token", variant, ...target, resend });
  const sending: Fetch = (url, init = {}) => {
    limit.waitsFor = target.baseUrl;
    return sendRequest(options, url, init, facts);
  };
  const serverNow = () => {
    limit.waitsFor = "the signer of the client assertion";
    correctedByMs = isByOwnClock ? 0 : state.serverClock.appliedMs;
    return clock.now() + correctedByMs;
  };
  const answer = await exchange(async (abort) => {
    sent = await send({ fetch: sending, signal: abort, serverNow });
    return sent.response;
  }, limit);
  await state.learn(answer, shared, emit);
  return { answer, sent: sent as SentAttempt | undefined as SentAttempt, correctedByMs, isByOwnClock };
}

/** Reads the tokens of a reply. @throws TokenRequestError, UnexpectedResponseError */
export function readTokens(endpoint: TokenEndpoint, reply: TokenReply): IssuedTokens {
  const { variant, target, state, emit } = endpoint;
  const { answer, sent, correctedByMs, isByOwnClock } = reply;
  const tokens = parseTokenAnswer(endpoint, answer, sent.secrets);
  const { issuedAtSeconds } = sent;
  if (issuedAtSeconds !== undefined)
    state.serverClock.accepted({ issuedAtSeconds, sentAt: answer.sentAt, correctedByMs, isByOwnClock });
  const { tenant, value } = tokens.token;
  if (tenant !== undefined && variant === "A" && tenant !== target.tenantId)
    emit({ type: "tenant_differs", tenant: wireText(tenant, [...sent.secrets, value]) ?? "" });
  return tokens;
}

/** Whether the assertion of a request may have been out of bounds by the server's clock. */
export function mayBeOutOfBounds(
  { state }: Pick<TokenEndpoint, "state">,
  { answer, sent }: TokenReply,
): boolean {
  const { issuedAtSeconds } = sent;
  if (issuedAtSeconds === undefined) return false;
  return state.serverClock.outOfBounds({ issuedAtSeconds, sentAt: answer.sentAt }) !== "no";
}

/**
 * The answer to a code or a refresh token was lost, so it may be spent. Lost is everything but the service's own JSON,
 * since gateways answer with a 5xx, a page or a redirect also after the service has accepted the request. Callers get
 * the `cause`, the error of the answer, in an error of their own.
 */
export class AnswerLost extends Error {}

/**
 * Sends a code or a refresh token, in a body that can be sent only once.
 *
 * @throws AnswerLost; TransportError if nothing was sent
 */
export async function sendOnce(
  endpoint: TokenEndpoint,
  send: (attempt: TokenAttempt) => Promise<SentAttempt>,
): Promise<TokenReply> {
  const { options } = endpoint;
  const { fetch, isRead } = streaming(options.fetch);
  try {
    return await sendTokenRequest({ ...endpoint, options: { ...options, fetch } }, send);
  } catch (error) {
    const isFault = error instanceof TransportError;
    if (isFault && wasNotSent(error)) throw error;
    // A body that was not read was not sent. The caller's own fetch may have another way to it.
    const isTrusted = !isFault || !options.hasOwnFetch || error.code === "tls_failed";
    const isUnsent = isTrusted && !isRead() && !(error instanceof UnexpectedResponseError);
    throw isUnsent ? error : new AnswerLost("lost", { cause: error });
  }
}

/**
 * Makes a fetch that sends its body as a stream. Node's fetch repeats a request after a 421, as RFC 9110 section 15.5.20
 * allows, but it cannot repeat a stream.
 */
function streaming(fetch: Fetch) {
  let isRead = false;
  const streamed: Fetch = (url, init) => {
    const text = String(init?.body);
    const bytes = new TextEncoder().encode(text);
    const headers = { ...init?.headers, "content-length": String(bytes.byteLength) };
    const pull = (controller: ReadableByteStreamController) => {
      isRead = true;
      controller.enqueue(bytes);
      controller.close();
    };
    // A stream of another type would be read before there is a connection, since fetch copies it with `tee`.
    const body = new ReadableStream({ type: "bytes", pull });
    const read = () => {
      isRead = true;
      return text;
    };
    // A fetch that does not know web streams, such as that of node-fetch, sends the string.
    Object.defineProperty(body, "toString", { value: read });
    return fetch(url, { ...init, headers, body, duplex: "half" } as RequestInit);
  };
  return { fetch: streamed, isRead: () => isRead };
}

/** Reads the reply of `sendOnce`. @throws AnswerLost; TokenRequestError, UnexpectedResponseError for own JSON */
export function readTokensOnce(endpoint: TokenEndpoint, reply: TokenReply): IssuedTokens {
  try {
    return readTokens(endpoint, reply);
  } catch (error) {
    const { status, text } = reply.answer;
    const isRefusal = error instanceof TokenRequestError && parseJson(text) !== undefined;
    // A router of the service may answer so, before anything reads the token.
    const isOfRouter = isUnknownPath({ status }) && jsonObject(text) !== undefined;
    throw isRefusal || isOfRouter ? error : new AnswerLost("lost", { cause: error });
  }
}

/** Adds to a refusal the causes that local evidence supports. */
export async function explainRefusal(
  { variant, state: { serverClock }, options }: Omit<TokenEndpoint, "emit">,
  { explain }: Pick<PreparedCredential, "explain">,
  { message, status, error, errorDescription, errorUri }: TokenRequestError,
  known: Pick<Refusal, "grant" | "workedBefore"> & { wasInBounds: boolean; retryAt?: number },
): Promise<TokenRequestError> {
  const { wasInBounds, retryAt, ...others } = known;
  const clockOffsetMs = serverClock.offsetMs;
  const causes = await explain({
    ...others,
    error,
    status,
    clock: clockOffsetMs === undefined ? "unknown" : wasInBounds ? "in_bounds" : "out_of_bounds",
    clockOffsetMs,
    hasOwnFetch: options.hasOwnFetch,
  });
  const [first] = causes;
  // "The real reason appears only in the customer's log" (section 7.1).
  const log = variant === "A" ? " Ask the customer for the reason, which their log shows." : "";
  return new TokenRequestError(
    first === undefined ? message + log : `${message} Most likely: ${first.summary}. ${first.remedy}`,
    { variant, status, error, errorDescription, errorUri, causes, retryAt },
  );
}
