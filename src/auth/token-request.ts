/**
 * Sends one token request, for machines and persons, learns the rate limit and the server's clock from its answer, reads
 * the tokens, and explains a refusal.
 */
import {
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
  wireText,
} from "../errors.js";
import { type Answer, exchange, recordOf, wasNotSent } from "../http/exchange.js";
import type { Target } from "../variants/target.js";
import {
  type AccessToken,
  createAccessToken,
  type EventBody,
  type Operator,
  type ResolvedAuthOptions,
} from "./auth.js";
import type { PreparedCredential, Refusal, SentAttempt, TokenAttempt } from "./credentials/credential.js";
import { learnFromAnswer, type TokenEndpointState } from "./token-endpoint.js";

/** The token endpoint that requests go to, with the options of the identity that sends them. */
export interface TokenEndpoint {
  readonly variant: Variant;
  readonly target: Target;
  readonly state: TokenEndpointState;
  readonly options: ResolvedAuthOptions;
  readonly emit: (event: EventBody) => void;
}

export interface TokenReply {
  readonly answer: Answer;
  readonly sent: SentAttempt;
  /** The milliseconds that were added to this machine's clock for the assertion. */
  readonly correctedByMs: number;
  readonly isByOwnClock: boolean;
}

/**
 * Sends a token request once; the gate must have been entered. With `isByOwnClock` the server's clock is not applied.
 *
 * @throws TransportError, UnexpectedResponseError `response_too_large`, the signal's reason
 */
export async function sendTokenRequest(
  { variant, target, state, options, emit }: TokenEndpoint,
  send: (attempt: TokenAttempt) => Promise<SentAttempt>,
  { signal, isByOwnClock = false }: { signal?: AbortSignal; isByOwnClock?: boolean } = {},
): Promise<TokenReply> {
  const { fetch, now, timeoutMs } = options;
  let sent: SentAttempt | undefined;
  let correctedByMs = 0;
  const serverNow = () => {
    correctedByMs = isByOwnClock ? 0 : state.clock.appliedMs;
    return now() + correctedByMs;
  };
  const answer = await exchange(
    async (abort) => {
      sent = await send({ fetch, signal: abort, serverNow });
      return sent.response;
    },
    { variant, baseUrl: target.baseUrl, now, timeoutMs, signal },
  );
  learnFromAnswer(state, answer, emit);
  return { answer, sent: sent as SentAttempt | undefined as SentAttempt, correctedByMs, isByOwnClock };
}

/** Reads the tokens of a reply. @throws TokenRequestError, UnexpectedResponseError */
export function readTokens({ variant, target, state, emit }: TokenEndpoint, reply: TokenReply): IssuedTokens {
  const { answer, sent, correctedByMs, isByOwnClock } = reply;
  const tokens = parseTokenAnswer(answer, variant, sent.secrets);
  const { issuedAtSeconds } = sent;
  if (issuedAtSeconds !== undefined)
    state.clock.accepted({ issuedAtSeconds, sentAt: answer.sentAt, correctedByMs, isByOwnClock });
  const { tenant, value } = tokens.token;
  if (tenant !== undefined && variant === "A" && tenant !== target.tenantId)
    emit({ type: "tenant_differs", tenant: wireText(tenant, [...sent.secrets, value]) ?? "" });
  return tokens;
}

/** Whether the assertion of a request may have been out of bounds by the server's clock. */
export function mayBeOutOfBounds({ state }: TokenEndpoint, { answer, sent }: TokenReply): boolean {
  const { issuedAtSeconds } = sent;
  if (issuedAtSeconds === undefined) return false;
  return state.clock.outOfBounds({ issuedAtSeconds, sentAt: answer.sentAt }) !== "no";
}

/** Whether a request was sent without an answer that shows its effect, so that a code or refresh token may be spent. */
export function isAnswerLost(error: unknown): boolean {
  if (error instanceof TransportError) return !wasNotSent(error);
  // A server or gateway that fails may have used the code or token before.
  return error instanceof UnexpectedResponseError && (error.status === 200 || error.status >= 500);
}

/** Adds to a refusal the causes that local evidence supports. */
export async function explainRefusal(
  { variant, state: { clock }, options }: TokenEndpoint,
  { explain }: Pick<PreparedCredential, "explain">,
  { message, status, error, errorDescription, errorUri }: TokenRequestError,
  known: Pick<Refusal, "grant" | "workedBefore"> & { wasInBounds: boolean; retryAt?: number },
): Promise<TokenRequestError> {
  const { wasInBounds, retryAt, ...others } = known;
  const clockOffsetMs = clock.offsetMs;
  const causes = await explain({
    ...others,
    error,
    status,
    clock: clockOffsetMs === undefined ? "unknown" : wasInBounds ? "in_bounds" : "out_of_bounds",
    clockOffsetMs,
    hasOwnFetch: options.hasOwnFetch,
  });
  const [first] = causes;
  return new TokenRequestError(
    first === undefined ? message : `${message} Most likely: ${first.summary}. ${first.remedy}`,
    { variant, status, error, errorDescription, errorUri, causes, retryAt },
  );
}

/** "3600 in the reference response" (section 2.3), "1 hour by default" (section 5.9). */
const defaultLifetimeSeconds = 3_600;
const longestLifetimeSeconds = 366 * 24 * 3_600;

export interface IssuedTokens {
  readonly token: AccessToken;
  /** `undefined` when it is absent, null or empty. */
  readonly refreshToken: string | undefined;
}

/**
 * Reads the answer of a token endpoint (sections 2.3, 4.2 and 7.1 of the description). A refusal is a
 * TokenRequestError (RFC 6749 section 5.2), and anything unknown is an UnexpectedResponseError.
 */
function parseTokenAnswer(answer: Answer, variant: Variant, secrets: readonly string[]): IssuedTokens {
  const { status } = answer;
  const unexpected = (code: UnexpectedResponseError["code"], problem: string, issues: string[] = []) =>
    new UnexpectedResponseError(code, `The token endpoint answered ${problem}`, { status, variant, issues });
  if (status >= 300 && status < 400)
    throw unexpected(
      "response_redirected",
      "with a redirect, which is not followed: it would carry the credential elsewhere. Is baseUrl the final address?",
    );
  let json: unknown;
  try {
    json = JSON.parse(answer.text);
  } catch {
    throw unexpected(
      "response_not_json",
      `${status} without a JSON object. Is baseUrl right, and does this deployment serve Variant ${variant}?`,
    );
  }
  const body = recordOf(json);
  if (body === undefined) {
    const issues = ["(whole body): an object is expected"];
    throw unexpected("response_shape", `${status} with JSON that is not an object.`, issues);
  }
  // A router or a failing server may answer with an `error` too, although it has not refused the request.
  const isMissing = status === 404 || status === 405 || status === 410;
  if (!isMissing && status < 500 && ("error" in body || status >= 400))
    throw refusal(status, body, variant, secrets);
  if (status !== 200) throw unexpected("response_shape", `${status}.`);
  const issues: string[] = [];
  const tokens = tokensIn(body, answer.sentAt, issues);
  if (tokens !== undefined) return tokens;
  throw unexpected("response_shape", `200, but not with a token: ${issues.join("; ")}.`, issues);
}

function refusal(
  status: number,
  body: Record<string, unknown>,
  variant: Variant,
  secrets: readonly string[],
): TokenRequestError {
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
  const content =
    reported === "" ? ` and a body with the fields ${fields.join(", ") || "(none)"}` : ` (${reported})`;
  const message = `The token endpoint refused the request with status ${status}${content}.`;
  return new TokenRequestError(message, { variant, status, error, errorDescription, errorUri });
}

/** Returns the tokens in a body, or `undefined` if it holds none, and adds the reasons to `issues`. */
function tokensIn(body: Record<string, unknown>, sentAt: number, issues: string[]): IssuedTokens | undefined {
  const { access_token: value, token_type: type } = body;
  // RFC 6750 section 2.1 allows only these characters in a bearer token; others could break out of the header.
  const isToken = typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
  if (!isToken) issues.push("access_token: a string without spaces is expected");
  if (type !== undefined && type !== null && !(typeof type === "string" && /^bearer$/i.test(type)))
    issues.push("token_type: Bearer is expected");
  const lifetimeSeconds = parseLifetimeSeconds(body.expires_in);
  if (lifetimeSeconds === undefined)
    issues.push("expires_in: whole seconds above 0 and up to a year are expected");
  if (issues.length > 0 || !isToken || lifetimeSeconds === undefined) return undefined;
  // "The object key the service is the literal field name": both `revo: { tenant }` and `"revo.tenant"` are read.
  const revo = (name: string) => recordOf(body.revo)?.[name] ?? body[`revo.${name}`];
  const token = createAccessToken({
    value,
    // The lifetime counts from the sending, since a slow answer must not lengthen it.
    expiresAt: sentAt + lifetimeSeconds * 1000,
    issuedAt: sentAt,
    tenant: textOf(revo("tenant")),
    operator: operatorOf(revo("user")),
    roles: rolesOf(revo("roles")),
  });
  return { token, refreshToken: textOf(body.refresh_token) };
}

/** An absent lifetime means the default of both variants, never an unlimited one. */
function parseLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined) return defaultLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  const isInRange = typeof seconds === "number" && seconds >= 1 && seconds <= longestLifetimeSeconds;
  return isInRange ? seconds : undefined;
}

function operatorOf(user: unknown): Operator | undefined {
  const { userId, firstname, lastname } = recordOf(user) ?? {};
  const id = textOf(userId);
  if (id === undefined) return undefined;
  return Object.freeze({
    userId: id,
    ...(typeof firstname === "string" && { firstname }),
    ...(typeof lastname === "string" && { lastname }),
  });
}

function rolesOf(roles: unknown): AccessToken["roles"] {
  if (!Array.isArray(roles)) return undefined;
  return Object.freeze(
    roles.flatMap((role: unknown) => {
      const { name, group } = recordOf(role) ?? {};
      if (typeof name !== "string") return [];
      return [Object.freeze(typeof group === "string" ? { name, group } : { name })];
    }),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
