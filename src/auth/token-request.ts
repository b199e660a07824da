/**
 * One token request, for machines and persons: sends it once, learns the rate limit and the server's clock from its
 * answer, reads the tokens, and explains a refusal.
 */
import { TokenRequestError, type Variant, wireText } from "../errors.js";
import { type Answer, exchange } from "../http/exchange.js";
import type { StopSignal } from "../http/time-limit.js";
import type { Target } from "../variants/target.js";
import { version } from "../version.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import type { PreparedCredential, Refusal, SentAttempt, TokenAttempt } from "./credentials/credential.js";
import type { EventBody } from "./events.js";
import { RateLimitGate, type RateLimitGateOptions } from "./rate-limit-gate.js";
import { ServerClock } from "./server-clock.js";
import { type IssuedTokens, parseTokenAnswer } from "./token-response.js";

/** What all token requests of one token endpoint and tenant share. */
export interface TokenEndpointState {
  readonly gate: RateLimitGate;
  readonly clock: ServerClock;
}

export function createTokenEndpointState(
  variant: Variant,
  options: RateLimitGateOptions,
): TokenEndpointState {
  return { gate: new RateLimitGate(variant, options), clock: new ServerClock() };
}

/** The token endpoint that requests go to, with the options of the identity that sends them. */
export interface TokenEndpoint {
  readonly variant: Variant;
  readonly target: Target;
  readonly state: TokenEndpointState;
  readonly options: ResolvedAuthOptions;
  readonly emit: (event: EventBody) => void;
}

/** A token request and its answer. */
export interface TokenReply {
  readonly answer: Answer;
  readonly sent: SentAttempt;
  /** What was added to this machine's clock for the assertion. */
  readonly correctedByMs: number;
  readonly isByOwnClock: boolean;
}

/**
 * Sends a token request once. The gate must have been entered. `isByOwnClock`: without the correction by the server's
 * clock.
 *
 * @throws TransportError, UnexpectedResponseError `response_too_large`, the signal's reason
 */
export async function sendTokenRequest(
  { variant, target, state, options, emit }: TokenEndpoint,
  send: (attempt: TokenAttempt) => Promise<SentAttempt>,
  { signal, isByOwnClock = false }: { signal?: StopSignal; isByOwnClock?: boolean } = {},
): Promise<TokenReply> {
  const { fetch, now, timeoutMs } = options;
  const { gate, clock } = state;
  let sent: SentAttempt | undefined;
  let correctedByMs = 0;
  const serverNow = () => {
    correctedByMs = isByOwnClock ? 0 : clock.appliedMs;
    return now() + correctedByMs;
  };
  const answer = await exchange(
    async (abort) => {
      sent = await send({ fetch, signal: abort, serverNow, userAgent: `bivariant/${version}` });
      return sent.response;
    },
    { variant, baseUrl: target.baseUrl, now, timeoutMs, signal },
  );
  const offsetMs = clock.observe(answer);
  if (offsetMs !== undefined)
    emit({ type: "clock_off", offsetMs: Math.round(offsetMs), errorMs: Math.round(clock.errorMs) });
  if (answer.status === 429) {
    gate.refused(answer);
    emit({ type: "rate_limited", retryAt: gate.opensAt });
  } else {
    gate.passed(answer);
  }
  return { answer, sent: sent as SentAttempt | undefined as SentAttempt, correctedByMs, isByOwnClock };
}

/**
 * Reads the tokens of a reply.
 *
 * @throws TokenRequestError, UnexpectedResponseError
 */
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

/** Adds the causes that local evidence supports to a refusal. */
export async function explainRefusal(
  { variant, state: { clock }, options }: TokenEndpoint,
  { explain }: Pick<PreparedCredential, "explain">,
  { message, status, error, errorDescription, errorUri }: TokenRequestError,
  known: Pick<Refusal, "grant" | "workedBefore"> & { wasInBounds: boolean; retryAt?: number },
): Promise<TokenRequestError> {
  const { grant, workedBefore, wasInBounds, retryAt } = known;
  const clockOffsetMs = clock.offsetMs;
  const causes =
    (await explain?.({
      grant,
      error,
      status,
      clock: clockOffsetMs === undefined ? "unknown" : wasInBounds ? "in_bounds" : "out_of_bounds",
      clockOffsetMs,
      workedBefore,
      hasOwnFetch: options.hasOwnFetch,
    })) ?? [];
  const [first] = causes;
  return new TokenRequestError(
    first === undefined ? message : `${message} Most likely: ${first.summary}. ${first.remedy}`,
    { variant, status, error, errorDescription, errorUri, causes, retryAt },
  );
}
