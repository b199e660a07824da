/** One token request, sent once: what it tells of the rate limit and of the server's clock is learnt on the way. */
import { TransportError, type Variant } from "../errors.js";
import { type Answer, exchange } from "../http/exchange.js";
import type { StopSignal } from "../http/time-limit.js";
import type { Target } from "../variants/target.js";
import { version } from "../version.js";
import type { ResolvedAuthOptions } from "./auth-options.js";
import type { SentAttempt, TokenAttempt } from "./credential.js";
import type { EventBody } from "./events.js";
import type { RateLimitGate } from "./rate-limit-gate.js";
import type { ServerClock } from "./server-clock.js";

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
