/** A task with a time limit that a caller can abort, and that neither a deaf fetch nor a slow drip outlives. */
import { isBivariantError, TransportError, type Variant } from "../../errors.js";
import { requireSignal } from "../require-signal.js";
import type { StopSignal } from "./stop-signal.js";
import { transportError } from "./transport-error.js";
import { whenAborted } from "./when-aborted.js";

export interface TimeLimitOptions {
  readonly variant: Variant;
  /** Whom the request goes to, for messages. */
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly signal?: StopSignal | undefined;
}

/**
 * Runs a task that sends a request, and aborts it at its time limit. Neither `AbortSignal.timeout` nor
 * `AbortSignal.any`: both cost more than the call they guard, and the latter leaks.
 *
 * @throws ConfigurationError `option_invalid` for a signal that is none
 * @throws TransportError `timed_out`, or what the fault of the task amounts to
 * @throws the signal's reason when it is aborted
 */
export function withTimeLimit<T>(
  task: (signal: AbortSignal) => Promise<T>,
  options: TimeLimitOptions,
): Promise<T> {
  const controller = new AbortController();
  return waitWithin(
    options,
    () => task(controller.signal),
    (reason) => controller.abort(reason),
  );
}

/**
 * Waits for a task that nothing can abort: at the time limit only the wait for it ends, and `stopped` is called.
 *
 * @throws as `withTimeLimit`
 */
export function waitWithin<T>(
  { variant, baseUrl, timeoutMs, signal: given }: TimeLimitOptions,
  task: () => Promise<T>,
  stopped: (reason: unknown) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const signal = requireSignal(given);
    if (signal?.aborted) return reject(signal.reason);
    const end = () => {
      clearTimeout(timer);
      forget?.();
    };
    // A fetch of the caller's may ignore the signal: the wait ends here all the same.
    const stop = (reason: unknown) => {
      end();
      reject(reason);
      stopped(reason);
    };
    const timer = setTimeout(() => stop(timedOut(variant, baseUrl, timeoutMs)), timeoutMs);
    const forget = signal && whenAborted(signal, () => stop(signal.reason));
    task().then(
      (value) => {
        end();
        resolve(value);
      },
      (fault: unknown) => {
        end();
        reject(isBivariantError(fault) ? fault : transportError(fault, variant, baseUrl));
      },
    );
  });
}

function timedOut(variant: Variant, baseUrl: string, timeoutMs: number): TransportError {
  return new TransportError(
    "timed_out",
    `No complete answer from ${baseUrl} within ${timeoutMs} ms (timeoutMs).`,
    {
      retryable: true,
      variant,
    },
  );
}
