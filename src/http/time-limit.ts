/** Time limits and aborts of requests, and the transport errors that failed requests become. */
import { isBivariantError, TransportError, type Variant } from "../errors.js";
import { requireSignal } from "../options.js";

export interface TimeLimitOptions {
  readonly variant: Variant;
  /** The address of the deployment, for error messages. */
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly signal?: StopSignal | undefined;
}

/**
 * Runs a task that sends a request, and aborts it at its time limit. `AbortSignal.timeout` and `AbortSignal.any` are
 * not used: both cost more than the call they guard, and the latter leaks.
 *
 * @throws ConfigurationError `option_invalid` when `signal` is not an AbortSignal
 * @throws TransportError `timed_out`, or the transport error that the fault of the task becomes
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
 * Waits for a task that cannot be aborted: at the time limit only the wait ends, and `stopped` is called.
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
    // The caller's own fetch may ignore the signal, so the wait ends here too.
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
    { retryable: true, variant },
  );
}

/** The part of an `AbortSignal` that a wait needs: the caller's signals and `StopController` both have it. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A signal and its controller in one object, cheaper than an AbortController. A fetch needs a real signal. */
export class StopController implements StopSignal {
  readonly #listeners = new Set<() => void>();
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** Each listener is called once. */
  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

interface Waiting {
  readonly ends: Set<() => void>;
  readonly listener: () => void;
}

/** The waits for each signal of a caller: one listener on the signal for all of them, removed with the last wait. */
const waiting = new WeakMap<StopSignal, Waiting>();

/** Calls `end` once when the signal is aborted. Returns a function that cancels this. */
export function whenAborted(signal: StopSignal, end: () => void): () => void {
  const { ends, listener } = waiting.get(signal) ?? listenTo(signal);
  ends.add(end);
  return () => {
    if (!ends.delete(end) || ends.size > 0 || waiting.get(signal)?.ends !== ends) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", listener);
  };
}

function listenTo(signal: StopSignal): Waiting {
  const ends = new Set<() => void>();
  const listener = () => {
    waiting.delete(signal);
    for (const end of [...ends]) end();
  };
  const entry = { ends, listener };
  waiting.set(signal, entry);
  signal.addEventListener("abort", listener, { once: true });
  return entry;
}

const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|ERROR_IN_CERT|ERROR_IN_CRL)/;

/** Turns the fault of a fetch into an error that tells a refused certificate from a failed network. */
export function transportError(fault: unknown, variant: Variant, baseUrl: string): TransportError {
  const code = systemCode(fault);
  if (code !== undefined && tlsCode.test(code))
    return new TransportError(
      "tls_failed",
      `The secure connection to ${baseUrl} failed (${code}). Check the certificate of the deployment, and the authorities this machine trusts.`,
      { retryable: false, variant, cause: fault },
    );
  return new TransportError(
    "network_failed",
    `The request to ${baseUrl} failed before an answer came${code === undefined ? "" : ` (${code})`}. Check the address, the network and the proxy.`,
    { retryable: true, variant, cause: fault },
  );
}

/** Faults before the connection was made: no byte of the request was sent. */
const unsentCode = /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Whether it is certain that the request did not reach the server, so that no code or token in it is spent. */
export function wasNotSent({ code, cause }: TransportError): boolean {
  return code === "tls_failed" || unsentCode.test(systemCode(cause) ?? "");
}

function systemCode(fault: unknown): string | undefined {
  for (let at = fault, depth = 0; typeof at === "object" && at !== null && depth < 5; depth++) {
    const { code, errors, cause } = at as { code?: unknown; errors?: unknown; cause?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}
