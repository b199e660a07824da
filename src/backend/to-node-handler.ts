/** Connects node:http, and frameworks built on it such as Express, to a handler of web requests. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";

type NodeStreams = Pick<typeof import("node:stream"), "Readable" | "promises">;

/** The parts of a request from node:http or HTTP/2 that are needed, declared without the types of Node. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  method?: string | undefined;
  url?: string | undefined;
}

/** The same parts of a response. */
export interface NodeResponse {
  readonly writableFinished: boolean;
  destroy(): unknown;
}

type Handler = (request: Request) => Promise<Response> | Response;
type Incoming = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown };

/**
 * Makes a listener for `http.createServer`, `https.createServer` and Express's `app.use` from a backend, or from any
 * handler of web requests.
 *
 * The URL of the request is made from its Host header and the connection. `X-Forwarded-` headers are ignored, so
 * set `publicUrl` of `createBackend` behind a proxy that ends TLS. Bodies are streamed both ways. If an
 * Express parser has read a body, it is passed on as JSON. If the client goes away, the `signal` is aborted.
 *
 * @example
 * http.createServer(toNodeHandler(backend)).listen(3000);
 * app.use("/auth", toNodeHandler(backend)); // Express
 */
export function toNodeHandler(handler: Handler): (incoming: NodeRequest, outgoing: NodeResponse) => void {
  return (incoming, outgoing) => {
    serve(handler, incoming as Incoming, outgoing as ServerResponse).catch(() => outgoing.destroy());
  };
}

async function serve(handler: Handler, incoming: Incoming, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  let request: Request | undefined;
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) gone.abort(new DOMException("The client went away.", "AbortError"));
    // The request is held until here, because its signal no longer follows `gone` after garbage collection.
    request = undefined;
  });
  // After an error "close" follows, which handles it.
  outgoing.on("error", () => {});
  incoming.on("error", () => {});
  // The import is here so that the rest of this entry also loads without Node.
  const streams = await import("node:stream");
  request = toRequest(incoming, gone.signal, streams);
  let response = refusal(400, "request_invalid", "The request has no valid address.");
  try {
    if (request !== undefined) response = await handler(request);
  } catch {
    response = refusal(500, "backend_failed", "The backend failed.");
  }
  await send(response, incoming, outgoing, streams);
}

function toRequest(incoming: Incoming, signal: AbortSignal, streams: NodeStreams): Request | undefined {
  const { method = "GET", rawHeaders, socket } = incoming;
  const host = incoming.headers.host ?? incoming.headers[":authority"];
  const target = pathOf(incoming.originalUrl ?? incoming.url ?? "");
  // The value is a host with an optional port (RFC 9110 section 7.2).
  const isHost = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(String(host));
  if (typeof host !== "string" || !isHost || target === undefined) return undefined;
  const protocol = "encrypted" in socket && socket.encrypted ? "https" : "http";
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
      // HTTP/2 lists the request line among the headers.
      if (!name.startsWith(":")) headers.append(name, value);
    }
    const body = method === "GET" || method === "HEAD" ? undefined : bodyOf(incoming, streams);
    const init = { method, headers, signal, ...(body !== undefined && { body, duplex: "half" }) };
    // The URL is not resolved, because a path that begins with two slashes would replace the host.
    return new Request(`${protocol}://${host}${target}`, init as RequestInit);
  } catch {
    return undefined;
  }
}

/** Returns path and query. If the target is a whole URL (RFC 9112 section 3.2.2), its host is ignored. */
function pathOf(target: string): string | undefined {
  if (target.startsWith("/")) return target;
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return undefined;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

function bodyOf(incoming: Incoming, streams: NodeStreams): NonNullable<RequestInit["body"]> | undefined {
  if (!incoming.readableDidRead || incoming.body === undefined)
    return streams.Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
  const { body } = incoming;
  if (typeof body === "string" || body instanceof Uint8Array) return body as NonNullable<RequestInit["body"]>;
  return JSON.stringify(body);
}

async function send(
  response: Response,
  incoming: Incoming,
  outgoing: ServerResponse,
  streams: NodeStreams,
): Promise<void> {
  if (outgoing.destroyed) return response.body?.cancel();
  for (const [name, value] of response.headers) if (name !== "set-cookie") outgoing.setHeader(name, value);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies);
  // Otherwise the unread rest of the body would be read as the next request.
  if (!incoming.complete && incoming.httpVersionMajor < 2) outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status);
  const { body } = response;
  if (body === null || incoming.method === "HEAD") {
    await body?.cancel();
    return void outgoing.end();
  }
  // This waits for a slow client, and stops the source when the client goes away.
  await streams.promises.pipeline(streams.Readable.fromWeb(body as NodeReadableStream), outgoing);
}

function refusal(status: number, error: string, message: string): Response {
  const headers = { "cache-control": "no-store", connection: "close" };
  return Response.json({ error, message }, { status, headers });
}
