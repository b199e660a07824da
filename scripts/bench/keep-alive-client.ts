// Posts token requests over keep-alive connections, one at a time on each, for so little that the server is what is measured.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";

export class KeepAliveClient {
  readonly #url: URL;
  readonly #sockets: readonly Socket[];

  private constructor(url: URL, sockets: readonly Socket[]) {
    this.#url = url;
    this.#sockets = sockets;
  }

  static async open(url: string, connections: number): Promise<KeepAliveClient> {
    const { hostname, port } = new URL(url);
    const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname));
    for (const socket of sockets) {
      socket.setNoDelay(true);
      socket.setEncoding("latin1");
      await once(socket, "connect");
    }
    return new KeepAliveClient(new URL(url), sockets);
  }

  /** Milliseconds from the first byte to the last. @throws for an answer without a token */
  async time(forms: readonly string[]): Promise<number> {
    const requests = forms.map((form) => this.#request(form));
    const startedAt = performance.now();
    let next = 0;
    await Promise.all(this.#sockets.map((socket) => postAll(socket, () => requests[next++])));
    return performance.now() - startedAt;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
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
      socket.removeAllListeners();
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

/** Of the whole answer; undefined while its head is not there. */
function lengthOf(received: string): number | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received)?.[1];
  return headEnd + HEAD_END.length + Number(length ?? 0);
}

function isToken(received: string): boolean {
  return received.startsWith("HTTP/1.1 200 ") && received.includes('"access_token":"');
}
