/** Decides whether a call is sent again, and waits before it is. */
import type { Emit } from "../auth/auth.js";
import type { ClientOptions } from "../client-options.js";
import { countdown, deadlineIn } from "../clock.js";
import { isTransportError } from "../errors.js";
import { parseRetryAfterMs, retryWaitMs, sleep } from "../http/backoff.js";
import { canBeSentAgain } from "../http/exchange.js";

/** What gateways answer while the server behind them fails. */
const gatewayStatuses: readonly number[] = [502, 503, 504];

interface RetriedCall {
  readonly operationId: string;
  readonly method: string;
  readonly body: unknown;
  /** Whether it may be processed twice. */
  readonly isIdempotent: boolean;
  readonly maxRetries: number;
  readonly signal: AbortSignal | undefined;
}

export type Retries = ReturnType<typeof retriesOf>;

/**
 * The retries of one call. `limited` holds the operations of this Auth that were answered 429, with
 * the milliseconds until each may be called again.
 */
export function retriesOf(
  { operationId, method, body, isIdempotent, maxRetries, signal }: RetriedCall,
  { retryDeadlineMs, clock }: ClientOptions,
  limited: Map<string, () => number>,
  report: { retries: number; readonly emit: Emit },
) {
  const leftMs = deadlineIn(retryDeadlineMs, clock);
  return {
    /**
     * Returns a wait for the end of the operation's rate limit, if a call before has met it and
     * there is time.
     */
    waitForLimit(): Promise<void> | undefined {
      const limitedMs = limited.get(operationId)?.() ?? 0;
      const isWaitedFor = limitedMs > 0 && maxRetries > 0 && limitedMs <= leftMs();
      return isWaitedFor ? sleep(limitedMs, signal, clock) : undefined;
    },
    /**
     * Is called after an answer that is not ok, or a fault. Waits and returns true if the call is
     * to be sent again.
     */
    async again(response: Response | undefined, fault?: unknown): Promise<boolean> {
      const status = response?.status;
      const failure = isTransportError(fault) ? fault : undefined;
      const isPassing = failure?.retryable ?? gatewayStatuses.includes(status ?? 0);
      // A request that was answered 429 was not processed, whatever its method.
      if (status !== 429 && !(isPassing && isIdempotent)) return false;
      const askedMs = response && parseRetryAfterMs(response.headers, clock.now());
      const waitMs = retryWaitMs(askedMs, report.retries, clock);
      if (status === 429) limited.set(operationId, countdown(waitMs, clock));
      if (report.retries >= maxRetries || !canBeSentAgain(body) || waitMs > leftMs()) return false;
      const retry = ++report.retries;
      const code = failure?.code;
      report.emit({ type: "call_retried", operationId, method, status, code, retry, waitMs });
      await sleep(waitMs, signal, clock);
      return true;
    },
  };
}
