// The connection to a caller, by which a fault makes answers late, partial or absent; and
// in-process callers.

/** The bytes of a body as they are sent; they end when `ended` is aborted. */
type SlowBody = (ended: AbortSignal) => AsyncIterable<Uint8Array>;

/** A fault fills this in, and the sender reads it. If it is empty, the answer is sent unchanged. */
export interface Sending {
  reset?: boolean;
  /** The body is cut after this many bytes, or after half of its bytes. */
  cutAfter?: number | "half";
  slow?: {
    readonly delayMs: number;
    readonly bytesPerSecond: number | undefined;
    /** When this is aborted, the rest of the answer is sent at once. */
    readonly released: AbortSignal;
  };
  /** Milliseconds added to the `Date` header. */
  skewMs?: number;
}

/** How one request is answered. Callers in this process and over HTTP observe the same. */
export interface Connection {
  /**
   * From the socket, never from a header. Undefined for in-process callers; empty if the caller is
   * gone.
   */
  readonly remoteAddress: string | undefined;
  /**
   * Aborted as soon as nobody waits for the answer, because the caller gave up or the server
   * closes.
   */
  readonly gone: AbortSignal;
  /**
   * Ends the connection without an answer. The handler must return the response, or let the
   * exception through.
   */
  reset(): Response;
  /** Sends status and headers of `head`, then the body. After that, "cut" breaks the connection. */
  send(head: Response, body: SlowBody, ending: "complete" | "cut"): Response | Promise<Response>;
}

/** Fails without a network in the same way as undici's fetch fails with one. */
export class InProcessConnection implements Connection {
  readonly gone: AbortSignal;
  readonly remoteAddress = undefined;
  /**
   * Keeps both requests referenced. Otherwise the signal may stop following the caller's signal.
   */
  readonly held: readonly unknown[];

  /** `given` is the caller's own object, if `request` was made from it. */
  constructor(request: Request, given: unknown) {
    this.gone = request.signal;
    this.held = [request, given];
  }

  reset(): never {
    throw networkError("fetch failed", "read ECONNRESET", "ECONNRESET");
  }

  send(head: Response, body: SlowBody, ending: "complete" | "cut"): Response {
    const ended = new AbortController();
    const end = () => ended.abort(this.gone.reason);
    this.gone.addEventListener("abort", end, { once: true });
    const bytes = body(ended.signal)[Symbol.asyncIterator]();
    const stream = new ReadableStream<Uint8Array>({
      // Refers to `this`, so that `held` lives as long as the stream.
      pull: async (controller) => {
        const { done, value } = await bytes.next();
        if (done !== true) return controller.enqueue(value);
        this.gone.removeEventListener("abort", end);
        if (this.gone.aborted) controller.error(this.gone.reason);
        else if (ending === "complete") controller.close();
        else controller.error(networkError("terminated", "other side closed", "UND_ERR_SOCKET"));
      },
      cancel: () => {
        this.gone.removeEventListener("abort", end);
        ended.abort();
      },
    });
    return new Response(stream, head);
  }
}

function networkError(message: string, reason: string, code: string): TypeError {
  return new TypeError(message, { cause: Object.assign(new Error(reason), { code }) });
}

/** Settles as `work` does, or rejects with the signal's reason as soon as it is aborted. */
export function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Recognises requests and URLs from another copy of fetch or another realm by their members. */
export function asRequest(
  input: Request | string | URL,
  init: RequestInit | undefined,
  base: string,
): Request {
  if (typeof input !== "string" && (typeof input !== "object" || input === null))
    throw new TypeError("fetch takes a URL or a Request");
  // With the slash, a relative URL is under http://h/base; without it, next to it.
  if (typeof input === "string" || !("headers" in input))
    return new Request(new URL(input, `${base}/`), init);
  if (input.bodyUsed) throw new TypeError("the body of the request was read already");
  if (init === undefined) return input;
  if (input instanceof Request) return new Request(input, init);
  // The global constructor would treat a foreign Request as a URL.
  const { url, method, headers, body, signal } = input as Request;
  const parts = { method, headers: [...headers], body, signal, duplex: "half", ...init };
  return new Request(url, parts as RequestInit);
}
