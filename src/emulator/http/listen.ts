// Serves a fetch handler over HTTP, and stops promptly. It takes 25 ms to load, so the first server
// loads it.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { EmulatorError } from "../errors.js";
import type { Connection } from "./connection.js";

/** Node answers 408 to a request that sends its headers or body more slowly. */
const REQUEST_TIMEOUT_MS = 10_000;
/** After this, `close` ends the requests that are still in flight. */
const CLOSE_GRACE_MS = 250;
/** A client may go on sending a refused body for this long. */
const LINGER_MS = 5000;

export interface Listening {
  /** The origin of the server's URL, without a path. */
  readonly origin: string;
  /** Resolves when the port is free again. Connections without a request in flight end at once. */
  close(): Promise<void>;
}

/** @throws {@link EmulatorError} `listen_failed` with the system's error as `cause`. */
export async function listenOn(
  answer: (request: Request, connection: Connection) => Promise<Response>,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<Listening> {
  const closing = new AbortController();
  const listener = getRequestListener(
    async (request, environment) => {
      const { incoming, outgoing } = environment as HttpBindings;
      const response = await answer(request, httpConnection(incoming, outgoing, closing.signal));
      const isBodyLeft = incoming.readableDidRead && !incoming.complete && !outgoing.headersSent;
      return isBodyLeft ? answerEarly(response, incoming, outgoing) : response;
    },
    // The emulator shares its process with the code under test, whose globals must stay as they
    // are.
    { overrideGlobalObjects: false },
  );
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  /** Connections that never sent a request. Node does not count them as idle. */
  const silent = new Set<Socket>();
  const server = createServer(timeouts, (incoming, outgoing) => {
    silent.delete(incoming.socket);
    return listener(incoming, outgoing);
  });
  server.on("connection", (socket: Socket) => {
    silent.add(socket);
    socket.once("close", () => silent.delete(socket));
  });
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const remedy = /^(?:EADDRNOTAVAIL|ENOTFOUND|EAI_)/.test(code)
      ? "Pass an address of this machine, such as 127.0.0.1."
      : "Pass another port, or none for a free one.";
    const problem = `The emulator cannot listen on ${host}:${port}. ${remedy}`;
    throw new EmulatorError("listen_failed", problem, { cause });
  }
  let closed: Promise<void> | undefined;
  const close = async () => {
    closing.abort();
    const ended = once(server, "close");
    // This ends idle keep-alive connections too.
    server.close();
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
    const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
    await ended;
    clearTimeout(force);
  };
  return {
    origin: originOf(server.address() as AddressInfo),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Replaces the address for "every interface", which is no destination, by the loopback address. */
function originOf({ address, family, port }: AddressInfo): string {
  if (family === "IPv6") return `http://[${address === "::" ? "::1" : address}]:${port}`;
  return `http://${address === "0.0.0.0" ? "127.0.0.1" : address}:${port}`;
}

/**
 * Uses Node's own request and response, because a fetch handler cannot reset a connection.
 * `closing` is aborted when the server closes.
 */
function httpConnection(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  closing: AbortSignal,
): Connection {
  const { socket } = incoming;
  let left: AbortSignal | undefined;
  return {
    remoteAddress: socket.remoteAddress ?? "",
    // The signal is made on demand, because most answers are sent before a caller could leave.
    get gone() {
      left ??= whenLeft(incoming, outgoing, closing);
      return left;
    },
    reset() {
      if (!socket.destroyed) socket.resetAndDestroy();
      return RESPONSE_ALREADY_SENT;
    },
    async send(head, body, ending) {
      const { gone } = this;
      for (const [name, value] of head.headers) outgoing.appendHeader(name, value);
      outgoing.writeHead(head.status);
      outgoing.flushHeaders();
      for await (const bytes of body(gone)) {
        if (!outgoing.write(bytes)) await once(outgoing, "drain", { signal: gone }).catch(() => {});
      }
      if (ending === "complete" && !gone.aborted) outgoing.end();
      else socket.destroySoon();
      return RESPONSE_ALREADY_SENT;
    },
  };
}

/**
 * Answers while the client still sends a body that is read no further, because it is too large.
 * With `Connection: close` Node closes as soon as the answer ends. A body that is not read by then
 * resets the connection, often before the client has read the answer, so the answer is sent whole
 * but ends after the body.
 */
async function answerEarly(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<Response> {
  const body = new Uint8Array(await response.arrayBuffer());
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  outgoing.setHeader("content-length", body.byteLength);
  outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status);
  outgoing.write(body);
  const end = () => {
    clearTimeout(limit);
    outgoing.end();
  };
  const limit = setTimeout(end, LINGER_MS);
  incoming.once("close", end);
  // Those that fill the request's stream, which would pause at each chunk.
  incoming.removeAllListeners("data");
  incoming.resume();
  return RESPONSE_ALREADY_SENT;
}

function whenLeft(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  closing: AbortSignal,
): AbortSignal {
  const controller = new AbortController();
  const end = () => {
    closing.removeEventListener("abort", end);
    outgoing.removeListener("close", end);
    // Only slow answers use this signal, and a server that closes does not wait for them.
    if (!outgoing.writableFinished) incoming.socket.destroy();
    controller.abort();
  };
  if (closing.aborted || outgoing.destroyed) end();
  else {
    closing.addEventListener("abort", end);
    outgoing.once("close", end);
  }
  return controller.signal;
}
