// The way back to a caller in the same process: what undici's fetch does when the network fails, without a network.
import type { Connection, SlowBody } from "./connection.js";

export class InProcessConnection implements Connection {
  readonly gone: AbortSignal;
  readonly remoteAddress = undefined;
  /** A request's signal follows its caller's while the request lives: of those that nobody holds any more it hears nothing. */
  readonly held: readonly unknown[];

  /** `given`: what the caller made, where `request` was made of it. */
  constructor(request: Request, given: unknown) {
    this.gone = request.signal;
    this.held = [request, given];
  }

  reset(): never {
    throw new TypeError("fetch failed", { cause: systemError("read ECONNRESET", "ECONNRESET") });
  }

  send(head: Response, body: SlowBody, ending: "complete" | "cut"): Response {
    const ended = new AbortController();
    const end = () => ended.abort(this.gone.reason);
    this.gone.addEventListener("abort", end, { once: true });
    const bytes = body(ended.signal)[Symbol.asyncIterator]();
    const stream = new ReadableStream<Uint8Array>({
      // Of `this`, for what it holds must live as long as the stream.
      pull: async (controller) => {
        const { done, value } = await bytes.next();
        if (done !== true) return controller.enqueue(value);
        this.gone.removeEventListener("abort", end);
        if (this.gone.aborted) controller.error(this.gone.reason);
        else if (ending === "complete") controller.close();
        else controller.error(terminated());
      },
      cancel: () => {
        this.gone.removeEventListener("abort", end);
        ended.abort();
      },
    });
    return new Response(stream, head);
  }
}

function terminated(): TypeError {
  return new TypeError("terminated", { cause: systemError("other side closed", "UND_ERR_SOCKET") });
}

function systemError(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
