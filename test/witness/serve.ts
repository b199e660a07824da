/** A handler of node:http on a free port of loopback, closed by whoever opened it. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Served {
  readonly url: string;
  /** Takes the place of the answer that everything got so far. */
  handle(listener: RequestListener): void;
  close(): Promise<void>;
}

/** Listens before the handler exists: an issuer is named by its port. */
export async function serve(): Promise<Served> {
  let current: RequestListener = (_request, response) => response.writeHead(503).end();
  const server: Server = createServer((request, response) => current(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handle(listener) {
      current = listener;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
