// Serves a fetch handler over HTTP on loopback, and stops promptly.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpBindings } from "@hono/node-server";
import { z } from "zod";
import { EmulatorError, parseInput } from "../errors.js";
import type { Connection } from "./connection.js";

/** A request that sends its headers or body more slowly is answered 408 by Node. */
const REQUEST_TIMEOUT_MS = 10_000;
/** After this, close ends the requests that are still in flight. */
const CLOSE_GRACE_MS = 250;

/** Node takes a host that is empty or no string for every interface. */
const address = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(0),
  host: z.string().min(1).default("127.0.0.1"),
});

/** @throws {@link EmulatorError} `option_invalid` */
export function readAddress(input: unknown): { port: number; host: string } {
  return parseInput(address, input, "option_invalid", "listen");
}

/** A server that listens. */
export interface Listening {
  /** The origin it is reached at, without a path. */
  readonly origin: string;
  /** Resolves when the port is free again; idle keep-alive connections end at once. */
  close(): Promise<void>;
}

/** @throws {@link EmulatorError} `listen_failed` with the system's error as `cause`. */
export async function listenOn(
  answer: (request: Request, connection: Connection) => Promise<Response>,
  address: { port: number; host: string },
): Promise<Listening> {
  // With the first server: in-process nobody needs it, and it takes 25 ms to load.
  const [{ getRequestListener }, { HttpConnection }] = await Promise.all([
    import("@hono/node-server"),
    import("./http-connection.js"),
  ]);
  const closing = new AbortController();
  const listener = getRequestListener(
    (request, environment) => {
      const { incoming, outgoing } = environment as HttpBindings;
      return answer(request, new HttpConnection(incoming, outgoing, closing.signal));
    },
    // The emulator shares its process with the code under test: its globals stay as they are.
    { overrideGlobalObjects: false },
  );
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(timeouts, (incoming, outgoing) => {
    const { host } = incoming.headers;
    // RFC 9112 section 3.2. Here, for further on it would be found where nobody can answer any more.
    if (host !== undefined && !URL.canParse(`http://${host}`)) return refuse(outgoing);
    return listener(incoming, outgoing);
  });
  server.listen(address.port, address.host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new EmulatorError("listen_failed", `cannot listen on ${address.host}:${address.port}`, { cause });
  }
  let closed: Promise<void> | undefined;
  return {
    origin: originOf(server.address() as AddressInfo),
    close() {
      closing.abort();
      closed ??= closeServer(server);
      return closed;
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  const ended = once(server, "close");
  // Ends idle keep-alive connections too.
  server.close();
  const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await ended;
  clearTimeout(force);
}

/** An unspecified address ("every interface") is no destination: the loopback of its family is. */
function originOf({ address, family, port }: AddressInfo): string {
  if (family === "IPv6") return `http://[${address === "::" ? "::1" : address}]:${port}`;
  return `http://${address === "0.0.0.0" ? "127.0.0.1" : address}:${port}`;
}

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(400, { "content-length": 0 }).end();
}
