// Posts token requests over keep-alive connections, one at a time on each. It costs little, so the server is measured.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";
/** Node closes a connection that was idle for 5 s. */
const MAX_IDLE_MS = 2000;

export class KeepAliveClient {
  readonly #url: URL;
  readonly #connections: number;
  readonly #maxIdleMs: number;
  #sockets: readonly Socket[] = [];
  #usedAt = Number.NEGATIVE_INFINITY;

  constructor(url: string, connections: number, maxIdleMs: number = MAX_IDLE_MS) {
    this.#url = new URL(url);
    this.#connections = connections;
    this.#maxIdleMs = maxIdleMs;
  }

  /** Milliseconds from the first byte to the last. @throws for an answer without a token */
  async time(forms: readonly string[]): Promise<number> {
    const isStale = performance.now() - this.#usedAt > this.#maxIdleMs;
    if (isStale || this.#sockets.some(({ destroyed }) => destroyed)) await this.#reconnect();
    const requests = forms.map((form) => this.#request(form));
    const startedAt = performance.now();
    let next = 0;
    await Promise.all(this.#sockets.map((socket) => postAll(socket, () => requests[next++])));
    this.#usedAt = performance.now();
    return this.#usedAt - startedAt;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #reconnect(): Promise<void> {
    this.close();
    const { hostname, port } = this.#url;
    this.#sockets = Array.from({ length: this.#connections }, () => connect(Number(port), hostname));
    for (const socket of this.#sockets) socket.setNoDelay(true).setEncoding("latin1");
    await Promise.all(this.#sockets.map((socket) => once(socket, "connect")));
  }

  #request(form: string): string {
    const { pathname, host } = this.#url;
    const type = "Content-Type: application/x-www-form-urlencoded";
    return `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${type}\r\nContent-Length: ${form.length}${HEAD_END}${form}`;
  }
}

function postAll(socket: Socket, next: () => string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = "";
    const end = (settle: () => void): void => {
      for (const event of ["data", "error", "close"]) socket.removeAllListeners(event);
      // An idle connection that the server resets is replaced before the next round.
      socket.on("error", () => {});
      settle();
    };
    const post = (): void => {
      const request = next();
      if (request === undefined) end(resolve);
      else socket.write(request);
    };
    socket.on("data", (chunk) => {
      received += chunk;
      const length = lengthOf(received);
      if (length === undefined || received.length < length) return;
      if (!isToken(received)) return end(() => reject(new Error(`no token: ${received}`)));
      received = "";
      post();
    });
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("close", () => end(() => reject(new Error("the server closed the connection"))));
    post();
  });
}

/** The length of the whole answer; undefined until its head has arrived. */
function lengthOf(received: string): number | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received)?.[1];
  return headEnd + HEAD_END.length + Number(length ?? 0);
}

function isToken(received: string): boolean {
  return received.startsWith("HTTP/1.1 200 ") && received.includes('"access_token":"');
}
