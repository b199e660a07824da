/** One token, asked for until it is had or refused: the gate, the retries, the clock, and the answer read. */
import {
  TokenRequestError,
  TransportError,
  UnexpectedResponseError,
  type Variant,
  wireText,
} from "../errors.js";
import { type Answer, exchange, parseRetryAfterMs } from "../http/exchange.js";
import type { StopSignal } from "../http/time-limit.js";
import type { Target } from "../variants/target.js";
import { version } from "../version.js";
import type { AccessTokenFields } from "./auth.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import type { PreparedCredential, SentAttempt, TokenAttempt } from "./credentials/credential.js";
import type { EventBody } from "./events.js";
import { backoffMs, type RateLimitGate, sleep } from "./rate-limit-gate.js";
import type { AssertionBounds, ServerClock } from "./server-clock.js";
import { parseTokenAnswer } from "./token-response.js";

/** Retries of a 5xx or a network fault: a fault is no rate limit, and a caller should hear of it soon. */
const mostFaultRetries = 2;

/** Our assertions live 60 s and the service tolerates 30 s (section 2.2 of the description). */
export const assertionBounds: AssertionBounds = { aheadSeconds: 30, behindSeconds: 90 };

export interface TokenRequestContext extends TokenAttemptContext {
  readonly options: ResolvedAuthOptions;
  /** The fingerprint of the credential that was accepted last. */
  readonly acceptedFingerprint: string | undefined;
  /** Nobody waits: one attempt, now or not at all, so that nothing goes on after the program is done. */
  readonly isBackground: boolean;
  /** Reads the credential again: a key may have been rotated while an attempt waited. */
  readonly prepare: () => Promise<PreparedCredential>;
  /** Told of a refusal before its error is made; gives the instant before which no other request is sent. */
  readonly refused: (fingerprint: string) => number;
}

export interface GrantedToken {
  readonly fields: AccessTokenFields;
  /** What the service accepted. */
  readonly prepared: PreparedCredential;
}

/**
 * Sends token requests for a client_credentials grant until one is answered. A 429 is waited out at the gate; a 5xx
 * or a network fault is retried by the same schedule; every attempt is signed anew.
 */
export async function requestToken(
  first: PreparedCredential,
  context: TokenRequestContext,
  signal: StopSignal,
): Promise<GrantedToken> {
  const { options, state } = context;
  const deadlineAt = options.now() + (context.isBackground ? 0 : options.rateLimitDeadlineMs);
  const mostRetries = context.isBackground ? 0 : mostFaultRetries;
  let faults = 0;
  let useOwnClock = false;
  let clockTried = false;
  let wasInBounds = false;
  let prepared = first;
  for (let attempt = 1; ; attempt++) {
    const leave = await state.gate.enter({ deadlineAt, signal });
    let outcome: Attempted;
    try {
      if (attempt > 1) prepared = await context.prepare();
      // Whoever waited may have left while the settings were read.
      signal.throwIfAborted();
      context.tell({ type: "token_requested", clientId: prepared.clientId, attempt });
      outcome = await sendOnce(prepared, context, useOwnClock, signal);
    } finally {
      leave();
    }
    if ("fault" in outcome || outcome.answer.status >= 500) {
      const askedMs =
        "answer" in outcome
          ? parseRetryAfterMs(outcome.answer.headers, outcome.answer.receivedAt)
          : undefined;
      const waitMs = askedMs ?? backoffMs(faults);
      faults++;
      if (faults <= mostRetries && options.now() + waitMs <= deadlineAt) {
        await sleep(waitMs, signal);
        continue;
      }
      if ("fault" in outcome) throw outcome.fault;
    }
    if (outcome.answer.status === 429) continue;
    const read = readAnswer(prepared, context, outcome);
    if (read.token !== undefined) return { fields: read.token, prepared };
    const other = clockTried ? undefined : otherClock(context, outcome, read.refusal);
    wasInBounds ||= !mayBeOutOfBounds(context, outcome);
    if (other === undefined) throw await refusalError(prepared, context, wasInBounds, read.refusal);
    clockTried = true;
    useOwnClock = other === "own";
  }
}

async function sendOnce(
  prepared: PreparedCredential,
  context: TokenRequestContext,
  isByOwnClock: boolean,
  signal: StopSignal,
): Promise<Attempted> {
  try {
    return await attemptToken((attempt) => prepared.send(attempt), context, { isByOwnClock, signal });
  } catch (fault) {
    if (fault instanceof UnexpectedResponseError) context.refused(prepared.fingerprint);
    throw fault;
  }
}

function readAnswer(
  { fingerprint }: PreparedCredential,
  { variant, target, state, tell, refused }: TokenRequestContext,
  { answer, sent, correctedByMs, isByOwnClock }: Answered,
): { token: AccessTokenFields } | { token?: undefined; refusal: TokenRequestError } {
  try {
    const token = parseTokenAnswer(answer, variant, sent.secrets);
    const { issuedAtSeconds } = sent;
    if (issuedAtSeconds !== undefined)
      state.clock.accepted({
        issuedAtSeconds,
        sentAt: answer.sentAt,
        bounds: assertionBounds,
        correctedByMs,
        isByOwnClock,
      });
    if (token.tenant !== undefined && variant === "A" && token.tenant !== target.tenantId)
      tell({ type: "tenant_differs", tenant: wireText(token.tenant, [...sent.secrets, token.value]) ?? "" });
    return { token };
  } catch (error) {
    if (error instanceof TokenRequestError) return { refusal: error };
    refused(fingerprint);
    throw error;
  }
}

function mayBeOutOfBounds({ state }: TokenRequestContext, { answer, sent }: Answered): boolean {
  return (
    sent.issuedAtSeconds !== undefined &&
    state.clock.outOfBounds(sent.issuedAtSeconds, answer.sentAt, assertionBounds) !== "no"
  );
}

/**
 * Which clock to try a refused assertion with once more: the server's, when it shows the assertion to have been out
 * of bounds; our own, when the server's was applied and was never accepted yet.
 */
function otherClock(
  context: TokenRequestContext,
  outcome: Answered,
  refusal: TokenRequestError,
): "server" | "own" | undefined {
  if (refusal.error !== "invalid_client" || outcome.sent.issuedAtSeconds === undefined) return undefined;
  const { clock } = context.state;
  if (mayBeOutOfBounds(context, outcome)) return "server";
  return clock.appliedMs !== 0 && !clock.isProven ? "own" : undefined;
}

async function refusalError(
  prepared: PreparedCredential,
  { variant, state, options, acceptedFingerprint, refused }: TokenRequestContext,
  wasInBounds: boolean,
  { message, status, error, errorDescription, errorUri }: TokenRequestError,
): Promise<TokenRequestError> {
  const retryAt = refused(prepared.fingerprint);
  const { clock } = state;
  const causes =
    (await prepared.explain?.({
      grant: "client_credentials",
      error,
      status,
      clock: clock.offsetMs === undefined ? "unknown" : wasInBounds ? "in_bounds" : "out_of_bounds",
      clockOffsetMs: clock.offsetMs,
      workedBefore: acceptedFingerprint === prepared.fingerprint,
      hasOwnFetch: options.hasOwnFetch,
    })) ?? [];
  const [first] = causes;
  return new TokenRequestError(
    first === undefined ? message : `${message} Most likely: ${first.summary}. ${first.remedy}`,
    { variant, status, error, errorDescription, errorUri, causes, retryAt },
  );
}

/** What a tenant's token requests share, whoever sends them. */
export interface TokenEndpointState {
  readonly gate: RateLimitGate;
  readonly clock: ServerClock;
}

export interface TokenAttemptContext {
  readonly variant: Variant;
  readonly target: Target;
  readonly state: TokenEndpointState;
  readonly options: Pick<ResolvedAuthOptions, "fetch" | "now" | "timeoutMs">;
  readonly tell: (event: EventBody) => void;
}

export interface Answered {
  readonly answer: Answer;
  readonly sent: SentAttempt;
  /** What was added to this machine's clock for the assertion. */
  readonly correctedByMs: number;
  readonly isByOwnClock: boolean;
}

/** A fault after which the same request may succeed is given; all others are thrown. */
export type Attempted = Answered | { readonly fault: TransportError };

/**
 * Sends a token request. `isByOwnClock`: without the correction that was learnt.
 *
 * @throws TransportError that is not retryable, UnexpectedResponseError, the signal's reason
 */
export async function attemptToken(
  send: (attempt: TokenAttempt) => Promise<SentAttempt>,
  { variant, target, state, options, tell }: TokenAttemptContext,
  { isByOwnClock = false, signal }: { isByOwnClock?: boolean; signal?: StopSignal | undefined },
): Promise<Attempted> {
  let sent: SentAttempt | undefined;
  let correctedByMs = 0;
  try {
    const answer = await exchange(
      async (abort) => {
        sent = await send({
          fetch: options.fetch,
          signal: abort,
          serverNow: () => {
            correctedByMs = isByOwnClock ? 0 : state.clock.appliedMs;
            return options.now() + correctedByMs;
          },
          userAgent: `bivariant/${version}`,
        });
        return sent.response;
      },
      { variant, baseUrl: target.baseUrl, now: options.now, timeoutMs: options.timeoutMs, signal },
    );
    const offsetMs = state.clock.observe(answer);
    if (offsetMs !== undefined)
      tell({ type: "clock_off", offsetMs: Math.round(offsetMs), errorMs: Math.round(state.clock.errorMs) });
    if (answer.status === 429) {
      state.gate.refused(answer);
      tell({ type: "rate_limited", retryAt: state.gate.opensAt });
    } else {
      state.gate.passed(answer);
    }
    return { answer, sent: sent as unknown as SentAttempt, correctedByMs, isByOwnClock };
  } catch (fault) {
    if (fault instanceof TransportError && fault.retryable) return { fault };
    throw fault;
  }
}
