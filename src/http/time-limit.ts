/** A task with a time limit that a caller can abort, and that neither a deaf fetch nor a slow drip outlives. */
import { isBivariantError, TransportError, type Variant } from "../errors.js";
import { requireSignal } from "../options.js";

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

/** The part of an `AbortSignal` that a wait needs, so that a caller's own may stand here too. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A signal together with what aborts it. Never given to a fetch, which asks for a real one. */
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

/** By the caller's own signal, and only while somebody waits: nothing is kept beyond that. */
const waiting = new WeakMap<StopSignal, Waiting>();

/** Calls `end` once when the signal is aborted. Gives what takes that back. */
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

/** Tells a bad certificate from a network that failed. The fault itself stays behind: it may hold the request. */
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

/** Faults of the way to the server: no byte of the request was sent. */
const unsentCode = /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Whether a request surely did not reach the server, so that nothing in it is spent. */
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
