// Servers on this machine, which close after the last test of the file: an API with a known token,
// a proxy, and https.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  request as send,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { whenDone } from "../support/when-done.js";
import type { Environment } from "./command-line.js";

export interface Listening {
  readonly url: string;
}

/** Listens on a free port of this machine. */
export async function listen(given: Server | RequestListener): Promise<Listening> {
  const server = typeof given === "function" ? createServer(given) : given;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  whenDone(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}` };
}

/** It refuses connections: no server that chooses a free port gets one below 1024. */
export const closedUrl = "http://127.0.0.1:2";

export const plantedToken = "planted-access-token-9876543210";

/**
 * Starts a deployment of Variant B that issues `plantedToken`. `api` answers all other requests.
 */
export async function startPlanted(
  api: RequestListener,
): Promise<{ readonly env: Environment; readonly requests: readonly IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const { url } = await listen((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    if (request.url === "/v1/auth/token") {
      response.end(JSON.stringify({ access_token: plantedToken }));
      return;
    }
    requests.push(request);
    api(request, response);
  });
  const env = {
    BIVARIANT_BASE_URL: url,
    BIVARIANT_VARIANT: "B",
    BIVARIANT_B_CLIENT_ID: "account",
    BIVARIANT_B_CLIENT_SECRET: "planted-client-secret-0123456789",
  };
  return { requests, env };
}

export interface LoopbackProxy extends Listening {
  /** `POST http://customer.example/...` or `CONNECT customer.example:443`, in order. */
  readonly requests: readonly string[];
  /** The `Proxy-Authorization` headers that came. */
  readonly authorizations: readonly string[];
}

/**
 * Starts a proxy that connects every name to one address, or answers every request with `status`.
 */
export async function startProxy(target: string, status?: number): Promise<LoopbackProxy> {
  const { hostname, port } = new URL(target);
  const requests: string[] = [];
  const authorizations: string[] = [];
  const note = ({ method, url, headers }: IncomingMessage) => {
    requests.push(`${method} ${url}`);
    authorizations.push(...[headers["proxy-authorization"] ?? []].flat());
  };
  const server = createServer((request, response) => {
    note(request);
    if (status !== undefined) return void response.writeHead(status).end();
    const { method = "", url = "" } = request;
    const { pathname, search } = new URL(url);
    const { "proxy-authorization": _, ...headers } = request.headers;
    const onward = send({ hostname, port, method, path: pathname + search, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.writeHead(502).end());
    request.pipe(onward);
  });
  server.on("connect", (request: IncomingMessage, socket) => {
    note(request);
    socket.on("error", () => {});
    if (status !== undefined) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const onward = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
    whenDone(() => {
      socket.destroy();
      onward.destroy();
    });
  });
  return { ...(await listen(server)), requests, authorizations };
}

/**
 * Self-signed for these tests only, with its key: for customer.example and 127.0.0.1, valid from
 * 2020 to 2049.
 */
export const certificateFile: string = fileURLToPath(
  new URL("customer.example.pem", import.meta.url),
);

/** Serves the answers of `fetch` over https, with that certificate. */
export async function startSecureFront(
  fetch: (request: Request) => Promise<Response> = async () => new Response(),
): Promise<Listening> {
  const pem = readFileSync(certificateFile);
  const server = createSecureServer(
    { key: pem, cert: pem },
    getRequestListener(fetch, { overrideGlobalObjects: false }),
  );
  const { url } = await listen(server);
  return { url: url.replace("http:", "https:") };
}
