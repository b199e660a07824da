/**
 * Sends one token request, for machines and persons, learns the rate limit and the server's clock
 * from its answer, reads the tokens, and explains a refusal.
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
  isRedirect,
  isUnknownPath,
  jsonObject,
  parseJson,
  type RequestFacts,
  recordOf,
  sendRequest,
  wasNotSent,
} from "../../http/exchange.js";
import { withoutUndefined } from "../../options.js";
import type { Target } from "../../variants/target.js";
import { type AccessToken, createAccessToken, type Emit, type Operator } from "../auth.js";
import type {
  PreparedCredential,
  Refusal,
  SendAttempt,
  SentAttempt,
} from "../credentials/credential.js";
import type { SharedState } from "../shared/shared-state.js";
import type { TokenEndpointState } from "./rate-limit-gate.js";
import type { SentAssertion } from "./server-clock.js";

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
  readonly secrets: readonly string[];
  /** Absent when no assertion was sent. */
  readonly assertion: SentAssertion | undefined;
}

interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  readonly isByOwnClock?: boolean;
  /** How many requests of the same renewal went before. */
  readonly resend?: number;
}

/**
 * Sends a token request once; the gate must have been entered. With `isByOwnClock` the server's
 * clock is not applied.
 *
 * @throws TransportError, UnexpectedResponseError `response_too_large`, the signal's reason
 */
export async function sendTokenRequest(
  { variant, target, state, shared, options, emit }: TokenEndpoint,
  send: SendAttempt,
  { signal, isByOwnClock = false, resend = 0 }: SendOptions = {},
): Promise<TokenReply> {
  const { clock, timeoutMs } = options;
  let sent: SentAttempt | undefined;
  let correctedByMs = 0;
  // The words of the error for a time limit: what is waited for is first the signature, which a KMS
  // may make.
  const limit = { variant, waitsFor: target.baseUrl, clock, timeoutMs, signal };
  const facts: RequestFacts = { purpose: "token", variant, ...target, resend };
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
  const { issuedAtSeconds, secrets } = sent as SentAttempt | undefined as SentAttempt;
  const { sentAt } = answer;
  const assertion =
    issuedAtSeconds === undefined
      ? undefined
      : { issuedAtSeconds, sentAt, correctedByMs, isByOwnClock };
  return { answer, secrets, assertion };
}

/** Reads the tokens of a reply. @throws TokenRequestError, UnexpectedResponseError */
export function readTokens(endpoint: TokenEndpoint, reply: TokenReply): IssuedTokens {
  const { variant, target, state, emit } = endpoint;
  const { answer, secrets, assertion } = reply;
  const tokens = parseTokenAnswer(endpoint, answer, secrets);
  if (assertion !== undefined) state.serverClock.accepted(assertion);
  const { tenant, value } = tokens.token;
  if (tenant !== undefined && variant === "A" && tenant !== target.tenantId)
    emit({ type: "tenant_differs", tenant: wireText(tenant, [...secrets, value]) ?? "" });
  return tokens;
}

/** Whether the assertion of a request may have been out of bounds by the server's clock. */
export function mayBeOutOfBounds(
  { state }: Pick<TokenEndpoint, "state">,
  { assertion }: TokenReply,
): boolean {
  return assertion !== undefined && state.serverClock.outOfBounds(assertion) !== "no";
}

/**
 * The answer to a code or a refresh token was lost, so it may be spent. Lost is everything but the
 * service's own JSON, since gateways answer with a 5xx, a page or a redirect also after the service
 * has accepted the request. Callers get the `cause`, the error of the answer, in an error of their
 * own.
 */
export class AnswerLost extends Error {}

/**
 * Sends a code or a refresh token, in a body that can be sent only once.
 *
 * @throws AnswerLost; TransportError if nothing was sent
 */
export async function sendOnce(endpoint: TokenEndpoint, send: SendAttempt): Promise<TokenReply> {
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
 * Makes a fetch that sends its body as a stream. Node's fetch repeats a request after a 421, as RFC
 * 9110 section 15.5.20 allows, but it cannot repeat a stream.
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
    // A stream of another type would be read before there is a connection, since fetch copies it
    // with `tee`.
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

/**
 * Reads the reply of `sendOnce`.
 * @throws AnswerLost; TokenRequestError, UnexpectedResponseError for own JSON
 */
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

/** Adds to a refusal the causes that local evidence supports. Any other error is returned. */
export async function explainRefusal<E>(
  { variant, state: { serverClock }, options }: Omit<TokenEndpoint, "emit">,
  { explain }: Pick<PreparedCredential, "explain">,
  refusal: E | TokenRequestError,
  known: Pick<Refusal, "grant" | "workedBefore" | "wasInBounds"> & { retryAt?: number },
): Promise<E | TokenRequestError> {
  if (!(refusal instanceof TokenRequestError)) return refusal;
  const { message, status, error, errorDescription, errorUri } = refusal;
  const { retryAt, ...others } = known;
  const causes = await explain({
    ...others,
    error,
    status,
    clockOffsetMs: serverClock.offsetMs,
    hasOwnFetch: options.hasOwnFetch,
  });
  const [first] = causes;
  // "The real reason appears only in the customer's log" (section 7.1).
  const log = variant === "A" ? " Ask the customer for the reason, which their log shows." : "";
  return new TokenRequestError(
    first === undefined
      ? message + log
      : `${message} Most likely: ${first.summary}. ${first.remedy}`,
    { variant, status, error, errorDescription, errorUri, causes, retryAt },
  );
}

/** "3600 in the reference response" (section 2.3), "1 hour by default" (section 5.9). */
const defaultLifetimeSeconds = 3_600;
/**
 * No service states more than a year. A larger number is a mistake, such as milliseconds, and would
 * never be renewed.
 */
const longestLifetimeSeconds = 366 * 24 * 3_600;

export interface IssuedTokens {
  readonly token: AccessToken;
  /** `undefined` when it is absent, null or empty. */
  readonly refreshToken: string | undefined;
}

/**
 * Reads the answer of a token endpoint (sections 2.3, 4.2 and 7.1 of the description). A refusal is
 * a TokenRequestError (RFC 6749 section 5.2), and anything unknown is an UnexpectedResponseError.
 */
function parseTokenAnswer(
  endpoint: TokenEndpoint,
  answer: Answer,
  secrets: readonly string[],
): IssuedTokens {
  const { variant } = endpoint;
  const { status } = answer;
  const address = isRedirect(answer) ? "the final address" : "right";
  const question = `Is baseUrl ${address}, and does this deployment serve Variant ${variant}?`;
  const next = status < 500 ? question : "Try again later, or ask the operator of the deployment.";
  const unexpected = (
    code: UnexpectedResponseError["code"],
    problem: string,
    issues: string[] = [],
  ) => {
    const message = `The token endpoint answered ${status}${problem}. ${next}`;
    return new UnexpectedResponseError(code, message, { status, variant, issues });
  };
  if (isRedirect(answer))
    throw unexpected(
      "response_redirected",
      ", a redirect, which would carry the credential elsewhere",
    );
  const json = parseJson(answer.text);
  const body = recordOf(json);
  // A router, a gateway or a failing server may answer with an `error` although it has refused
  // nothing.
  const mayRefuse = !isUnknownPath(answer) && status !== 408 && status !== 421 && status < 500;
  // The description shows no error of Variant B (section 7.3), so these statuses refuse in any
  // shape.
  const isRefusalOfB = variant === "B" && [400, 401, 403].includes(status);
  if (isRefusalOfB || (mayRefuse && body !== undefined && (status >= 400 || Boolean(body.error))))
    throw refusal(status, body, endpoint, secrets);
  if (json === undefined) throw unexpected("response_not_json", " without a JSON object");
  const whole = ["(whole body): an object is expected"];
  if (body === undefined)
    throw unexpected("response_shape", " with JSON that is not an object", whole);
  if (status >= 300) throw unexpected("response_shape", "");
  const read = tokensIn(body, answer.sentAt, endpoint);
  if (!Array.isArray(read)) return read;
  throw unexpected("response_shape", `, but not with a token: ${read.join("; ")}`, read);
}

function refusal(
  status: number,
  given: Record<string, unknown> | undefined,
  { variant, target: { tenantId } }: TokenEndpoint,
  secrets: readonly string[],
): TokenRequestError {
  const body = given ?? {};
  const received = [body.access_token, body.refresh_token].filter((one) => typeof one === "string");
  const all = [...secrets, ...received];
  const error = wireText(body.error, all);
  const errorDescription = wireText(body.error_description, all);
  const errorUri = wireText(body.error_uri, all);
  const reported = [error, errorDescription].filter((part) => part !== undefined).join(": ");
  // The description does not show Variant B's errors, so only the names of unknown fields are kept.
  const fields = Object.keys(body)
    .slice(0, 10)
    .map((key) => (/^[A-Za-z][A-Za-z_]{0,29}$/.test(key) ? (wireText(key, all) ?? "?") : "?"));
  const shape = given
    ? `with the fields ${fields.join(", ") || "(none)"}`
    : "that is not a JSON object";
  const content = reported === "" ? ` and a body ${shape}` : ` (${reported})`;
  const tenant = tenantId === "" ? "" : ` for the tenant "${tenantId}"`;
  const message = `The token endpoint refused the request with status ${status}${content}${tenant}.`;
  return new TokenRequestError(message, { variant, status, error, errorDescription, errorUri });
}

/** Returns the tokens in a body, or the reasons if it holds none. */
function tokensIn(
  body: Record<string, unknown>,
  sentAt: number,
  { variant, emit }: TokenEndpoint,
): IssuedTokens | string[] {
  const { access_token: value, token_type: type } = body;
  const issues: string[] = [];
  // RFC 6750 section 2.1 allows only these characters in a bearer token; others could break out of
  // the header.
  const isToken = typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
  if (!isToken) issues.push("access_token: a string without spaces is expected");
  if (type !== undefined && type !== null && !(typeof type === "string" && /^bearer$/i.test(type)))
    issues.push("token_type: Bearer is expected");
  const lifetimeSeconds = parseLifetimeSeconds(body.expires_in);
  if (lifetimeSeconds === undefined)
    issues.push("expires_in: whole seconds above 0 and up to a year are expected");
  // Of these fields Variant B shows only the access token (section 4.2), so no other costs a good
  // one.
  if (!isToken || (variant === "A" && issues.length > 0)) return issues;
  for (const issue of issues) emit({ type: "token_field_ignored", issue });
  const operator = operatorIn(body);
  const ofUser = ["revo.user", "revo.user.userId", "revo.user.firstname"];
  if (operator === undefined && ofUser.some((path) => fieldAt(body, path) !== undefined))
    emit({ type: "operator_unreadable" });
  const token = createAccessToken({
    value,
    // The lifetime counts from the sending, since a slow answer must not lengthen it. Databases may
    // refuse a fraction.
    expiresAt: Math.floor(sentAt + (lifetimeSeconds ?? defaultLifetimeSeconds) * 1000),
    issuedAt: sentAt,
    tenant: idOf(fieldAt(body, "revo.tenant")),
    operator,
    roles: rolesOf(fieldAt(body, "revo.roles")),
  });
  return { token, refreshToken: textOf(body.refresh_token) };
}

/**
 * Reads the field of a path whose parts may be nested, or be one flat key: "the object key the
 * service is the literal field name" (section 2.3). `null` counts as absent.
 */
function fieldAt(from: unknown, path: string): unknown {
  const record = recordOf(from);
  if (record === undefined) return undefined;
  let found: unknown = record[path] ?? undefined;
  for (
    let dot = path.indexOf(".");
    dot > 0 && found === undefined;
    dot = path.indexOf(".", dot + 1)
  )
    found = fieldAt(record[path.slice(0, dot)], path.slice(dot + 1));
  return found;
}

/** An absent lifetime means the default of both variants, never an unlimited one. */
function parseLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined || value === null) return defaultLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  const isInRange =
    typeof seconds === "number" && seconds >= 1 && seconds <= longestLifetimeSeconds;
  return isInRange ? seconds : undefined;
}

function operatorIn(body: Record<string, unknown>): Operator | undefined {
  const userId = idOf(fieldAt(body, "revo.user.userId"));
  if (userId === undefined) return undefined;
  const firstname = textOf(fieldAt(body, "revo.user.firstname"));
  const lastname = textOf(fieldAt(body, "revo.user.lastname"));
  return Object.freeze(withoutUndefined({ userId, firstname, lastname }) as Operator);
}

function rolesOf(roles: unknown): AccessToken["roles"] {
  if (!Array.isArray(roles)) return undefined;
  return Object.freeze(
    roles.flatMap((role: unknown) => {
      const { name, group } = recordOf(role) ?? { name: role };
      if (typeof name !== "string") return [];
      return [Object.freeze(typeof group === "string" ? { name, group } : { name })];
    }),
  );
}

/**
 * The description shows no JSON type of ids. A number beyond the safe integers may stand for
 * several ids.
 */
function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : textOf(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
