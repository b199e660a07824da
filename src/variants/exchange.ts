/** One HTTP request and its bounded answer: what a detection and a token request have in common. */
import { isBivariantError, TransportError, UnexpectedResponseError, type Variant } from "../errors.js";

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Epoch milliseconds, by the clock of the caller. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export interface ExchangeOptions {
  readonly variant: Variant;
  readonly now: () => number;
  /** For the whole exchange, from sending to the last byte. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const maximumBodyBytes = 1024 * 1024;

/**
 * Sends one request and reads its answer, up to 1 MiB. Redirects are not followed: they are the caller's to judge,
 * since what they would carry along is a credential.
 *
 * @throws TransportError on a fault of the network, the time or the certificate
 * @throws UnexpectedResponseError `response_too_large`
 * @throws the signal's reason when it is aborted
 */
export async function exchange(
  send: (signal: AbortSignal) => Promise<Response>,
  { variant, now, timeoutMs, signal }: ExchangeOptions,
): Promise<Answer> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  let giveUp: (reason: unknown) => void = () => {};
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  givenUp.catch(() => {});
  const stop = (reason: unknown) => {
    giveUp(reason);
    controller.abort(reason);
  };
  const onAbort = () => stop(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () =>
      stop(
        new TransportError("timed_out", `No complete answer within ${timeoutMs} ms (timeoutMs).`, {
          retryable: true,
          variant,
        }),
      ),
    timeoutMs,
  );
  const sentAt = now();
  try {
    // A fetch of the caller's may ignore the signal: the race ends the wait all the same.
    const sent = send(controller.signal);
    sent.catch(() => {});
    const response = await Promise.race([sent, givenUp]);
    const answeredAt = now();
    const text = await Promise.race([readBounded(response, variant), givenUp]);
    return {
      status: response.type === "opaqueredirect" ? 302 : response.status,
      headers: response.headers,
      text,
      sentAt,
      receivedAt: answeredAt,
    };
  } catch (fault) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw isBivariantError(fault) ? fault : transportError(fault, variant);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH|EPROTO|CRL_|INVALID_CA)/;

/** A fault that a fetch threw, as the error that says what the caller can do. */
export function transportError(fault: unknown, variant: Variant): TransportError {
  const code = systemCode(fault);
  if (code !== undefined && tlsCode.test(code))
    return new TransportError(
      "tls_failed",
      `The secure connection failed (${code}). Check the certificate of the deployment, and the authorities this machine trusts.`,
      { retryable: false, variant, cause: fault },
    );
  return new TransportError(
    "network_failed",
    `The request failed before an answer came${code === undefined ? "" : ` (${code})`}. Check the address, the network and the proxy.`,
    { retryable: true, variant, cause: fault },
  );
}

function systemCode(fault: unknown): string | undefined {
  for (let at = fault, depth = 0; typeof at === "object" && at !== null && depth < 5; depth++) {
    const { code, errors, cause } = at as { code?: unknown; errors?: unknown; cause?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}

/** The text of a body of at most 1 MiB; a byte order mark is dropped. */
export async function readBounded(response: Response, variant: Variant): Promise<string> {
  const tooLarge = () =>
    new UnexpectedResponseError("response_too_large", "The answer is larger than 1 MiB.", {
      status: response.status,
      variant,
    });
  const body = response.body;
  if (body === null || body === undefined) return "";
  if (Number(response.headers.get("content-length")) > maximumBodyBytes) {
    body.cancel().catch(() => {});
    throw tooLarge();
  }
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maximumBodyBytes) {
      reader.cancel().catch(() => {});
      throw tooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** A text as a JSON object, or `undefined`. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
