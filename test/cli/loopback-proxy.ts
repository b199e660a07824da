// An HTTP proxy on this machine that leads every name to one address: forwards plain http, tunnels by CONNECT.
import { createServer, request as send } from "node:http";
import { type AddressInfo, connect } from "node:net";

export interface LoopbackProxy {
  readonly port: number;
  readonly url: string;
  /** `POST http://customer.example/...` or `CONNECT customer.example:443`, in order. */
  readonly requests: readonly string[];
  /** The `Proxy-Authorization` headers that came. */
  readonly authorizations: readonly string[];
  close(): void;
}

/** `status`: what it answers instead of doing its work. */
export async function startProxy(
  target: string,
  { status }: { status?: number } = {},
): Promise<LoopbackProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const requests: string[] = [];
  const authorizations: string[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const note = (method = "", url = "", authorization = "") => {
    requests.push(`${method} ${url}`);
    if (authorization !== "") authorizations.push(authorization);
  };
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    note(method, url, headers["proxy-authorization"]);
    if (status !== undefined) return void response.writeHead(status).end();
    const { pathname, search } = new URL(url);
    const { "proxy-authorization": _, ...rest } = headers;
    const onward = send(
      { hostname, port: targetPort, method, path: pathname + search, headers: rest },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.writeHead(502).end());
    request.pipe(onward);
  });
  server.on("connect", ({ method, url, headers }, socket) => {
    note(method, url, headers["proxy-authorization"]);
    sockets.add(socket.on("error", () => {}));
    if (status !== undefined) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const onward = connect(Number(targetPort), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    sockets.add(onward.on("error", () => socket.destroy()));
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    authorizations,
    close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
