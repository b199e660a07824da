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

export class Retries {
  readonly #call: RetriedCall;
  readonly #options: ClientOptions;
  /**
   * The operations of this Auth that were answered 429, with the milliseconds until each may be
   * called again.
   */
  readonly #limited: Map<string, () => number>;
  /** Holds how often the call was sent again. */
  readonly #counted: { retries: number };
  readonly #emit: Emit;
  readonly #leftMs: () => number;

  constructor(
    call: RetriedCall,
    options: ClientOptions,
    limited: Map<string, () => number>,
    counted: { retries: number },
    emit: Emit,
  ) {
    this.#call = call;
    this.#options = options;
    this.#limited = limited;
    this.#counted = counted;
    this.#emit = emit;
    this.#leftMs = deadlineIn(options.retryDeadlineMs, options.clock);
  }

  /**
   * Returns a wait for the end of the operation's rate limit, if a call before has met it and there
   * is time.
   */
  waitForLimit(): Promise<void> | undefined {
    const { operationId, maxRetries, signal } = this.#call;
    const limitedMs = this.#limited.get(operationId)?.() ?? 0;
    const isWaitedFor = limitedMs > 0 && maxRetries > 0 && limitedMs <= this.#leftMs();
    return isWaitedFor ? sleep(limitedMs, signal, this.#options.clock) : undefined;
  }

  /**
   * Is called after an answer that is not ok, or a fault. Waits and returns true if the call is to
   * be sent again.
   */
  async again(response: Response | undefined, fault?: unknown): Promise<boolean> {
    const { operationId, method, body, isIdempotent, maxRetries, signal } = this.#call;
    const { clock } = this.#options;
    const status = response?.status;
    const isPassing = isTransportError(fault)
      ? fault.retryable
      : gatewayStatuses.includes(status ?? 0);
    // A request that was answered 429 was not processed, whatever its method.
    if (status !== 429 && !(isPassing && isIdempotent)) return false;
    const askedMs = response && parseRetryAfterMs(response.headers, clock.now());
    const waitMs = retryWaitMs(askedMs, this.#counted.retries, clock);
    if (status === 429) this.#limited.set(operationId, countdown(waitMs, clock));
    const isLast = this.#counted.retries >= maxRetries;
    if (isLast || !canBeSentAgain(body) || waitMs > this.#leftMs()) return false;
    const code = isTransportError(fault) ? fault.code : undefined;
    const retry = ++this.#counted.retries;
    this.#emit({ type: "call_retried", operationId, method, status, code, retry, waitMs });
    await sleep(waitMs, signal, clock);
    return true;
  }
}
