// The way back to a caller in the same process: what undici's fetch does when the network fails, without a network.
import type { Connection, SlowBody } from "./connection.js";

export class InProcessConnection implements Connection {
  readonly gone: AbortSignal;
  readonly remoteAddress = undefined;

  constructor(request: Request) {
    this.gone = request.signal;
  }

  reset(): never {
    throw new TypeError("fetch failed", { cause: systemError("read ECONNRESET", "ECONNRESET") });
  }

  send(head: Response, body: SlowBody, ending: "complete" | "cut"): Response {
    const { gone } = this;
    const ended = new AbortController();
    const end = () => ended.abort(gone.reason);
    gone.addEventListener("abort", end, { once: true });
    const bytes = body(ended.signal)[Symbol.asyncIterator]();
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await bytes.next();
        if (done !== true) return controller.enqueue(value);
        gone.removeEventListener("abort", end);
        if (gone.aborted) controller.error(gone.reason);
        else if (ending === "complete") controller.close();
        else controller.error(terminated());
      },
      cancel() {
        gone.removeEventListener("abort", end);
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
