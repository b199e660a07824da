// The way back over HTTP, by Node's own request and answer: what a fetch handler cannot do, as a reset of the connection.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Connection, SlowBody } from "./connection.js";

export class HttpConnection implements Connection {
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #closing: AbortSignal;
  #gone: AbortSignal | undefined;

  /** `closing` is aborted when the server closes. */
  constructor(incoming: IncomingMessage, outgoing: ServerResponse, closing: AbortSignal) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#closing = closing;
  }

  get remoteAddress(): string {
    return this.#incoming.socket.remoteAddress ?? "";
  }

  /** Made when asked for: most answers are sent before anybody could go. */
  get gone(): AbortSignal {
    if (this.#gone !== undefined) return this.#gone;
    const controller = new AbortController();
    this.#gone = controller.signal;
    const end = () => {
      this.#closing.removeEventListener("abort", end);
      this.#outgoing.removeListener("close", end);
      // Whoever asks for this waits for something slow: a server that closes does not.
      if (!this.#outgoing.writableFinished) this.#incoming.socket.destroy();
      controller.abort();
    };
    if (this.#closing.aborted || this.#outgoing.destroyed) end();
    else {
      this.#closing.addEventListener("abort", end);
      this.#outgoing.once("close", end);
    }
    return this.#gone;
  }

  reset(): Response {
    const { socket } = this.#incoming;
    if (!socket.destroyed) socket.resetAndDestroy();
    return RESPONSE_ALREADY_SENT;
  }

  async send(head: Response, body: SlowBody, ending: "complete" | "cut"): Promise<Response> {
    const { gone } = this;
    const outgoing = this.#outgoing;
    for (const [name, value] of head.headers) outgoing.appendHeader(name, value);
    outgoing.writeHead(head.status);
    outgoing.flushHeaders();
    for await (const bytes of body(gone)) {
      if (!outgoing.write(bytes)) await once(outgoing, "drain", { signal: gone }).catch(() => {});
    }
    if (ending === "complete" && !gone.aborted) outgoing.end();
    else this.#incoming.socket.destroySoon();
    return RESPONSE_ALREADY_SENT;
  }
}
