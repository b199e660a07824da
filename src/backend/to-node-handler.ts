/** Connects node:http, and frameworks built on it such as Express, to a handler of web requests. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import {
  type ClockOptions,
  deadlineIn,
  inTime,
  type ResolvedClock,
  resolveClock,
} from "../clock.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireDuration, requireOptions } from "../options.js";
import { type ErrorAnswer, Refusal } from "./error-answer.js";

/**
 * The parts of a request from node:http or HTTP/2 that are needed, declared without the types of
 * Node.
 */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  method?: string | undefined;
  url?: string | undefined;
}

/** The same parts of a response. */
export interface NodeResponse {
  readonly writableFinished: boolean;
  /** Ends the connection. */
  destroy(): unknown;
}

type Handler = (request: Request) => Promise<Response> | Response;
interface Limit {
  readonly timeoutMs: number;
  readonly clock: ResolvedClock;
}
type Incoming = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown };

/**
 * Makes a listener for `http.createServer`, `https.createServer` and Express's `app.use` from a
 * backend, or from any handler of web requests.
 *
 * The URL of the request is made from its Host header and the connection. `X-Forwarded-` headers
 * are ignored, so set `publicUrl` of `createBackend` behind a proxy that ends TLS. Bodies are
 * streamed both ways. If a parser has read a body, the `body` of the request is passed on as JSON,
 * as in Express; without it, or if it was a form, to read the body fails. If the client goes
 * away, the `signal` is aborted. A handler that throws, or that returns no `Response`, is answered
 * with 500 `backend_failed`; the stack of what it threw, or of what broke off its answer, is
 * printed with `console.error`. A body may keep its reader waiting for `timeoutMs` in all (default
 * 10 s; raise it for uploads over slow connections). Then reading it fails, and a handler that
 * throws this error is answered with 408 `body_timeout`.
 *
 * @throws ConfigurationError
 * @example
 * import { createServer } from "node:http";
 * import express from "express";
 *
 * createServer(toNodeHandler(backend)).listen(3000);
 * express().use("/auth", toNodeHandler(backend)); // or with Express
 */
export function toNodeHandler(
  handler: Handler,
  options: ClockOptions & { readonly timeoutMs?: number | undefined } = {},
): (incoming: NodeRequest, outgoing: NodeResponse) => void {
  const names: NamesOf<typeof options> = { clock: true, timeoutMs: true };
  const given = requireOptions("toNodeHandler", options, names).timeoutMs;
  const timeoutMs = requireDuration("timeoutMs", given, 10_000, 1);
  const limit = { timeoutMs, clock: resolveClock(options) };
  return (incoming, outgoing) => {
    const served = serve(handler, incoming as Incoming, outgoing as ServerResponse, limit);
    served.catch((error) => {
      // The client went away while the answer was sent.
      if (error?.code !== "ERR_STREAM_PREMATURE_CLOSE") print(error);
      outgoing.destroy();
    });
  };
}

/**
 * Nothing else shows what a handler or the body of its answer threw. Members of an error may hold a
 * request with its token, so they are not printed.
 */
function print(error: unknown): void {
  console.error("bivariant/backend, toNodeHandler:", Object(error).stack ?? typeof error);
}

const addresses = new WeakMap<Request, string>();

/**
 * The address that a request made here came from, for `clientKey`; behind a proxy, the proxy's
 * address.
 *
 * @example
 * const launch = userInterfacePlugin({ clientId, privateKey });
 * const deployments = [
 *   { tenantId: "acme", baseUrl, hostOrigin: "https://customer.example", launch },
 * ];
 * const backend = createBackend({
 *   deployments,
 *   clientKey: (request) => remoteAddress(request) ?? "unknown",
 * });
 */
export function remoteAddress(request: Request): string | undefined {
  return addresses.get(request);
}

async function serve(
  handler: Handler,
  incoming: Incoming,
  outgoing: ServerResponse,
  limit: Limit,
): Promise<void> {
  const gone = new AbortController();
  let request: Request | undefined;
  outgoing.on("close", () => {
    if (!outgoing.writableFinished)
      gone.abort(new DOMException("The client went away.", "AbortError"));
    // The request is held until here, because its signal no longer follows `gone` after garbage
    // collection.
    request = undefined;
  });
  // After an error "close" follows, which handles it.
  outgoing.on("error", () => {});
  incoming.on("error", () => {});
  const failed = { status: 500, code: "backend_failed", message: "The backend failed." };
  let response: Response;
  try {
    request = makeRequest(incoming, limit, gone.signal);
    response = await handler(request);
    const isResponse =
      response?.status >= 200 && typeof response.headers?.getSetCookie === "function";
    if (!isResponse || response.bodyUsed) {
      const returned = isResponse
        ? "returned a Response whose body was read"
        : "did not return a Response";
      response = refusal({ ...failed, message: `The handler ${returned}.` });
    }
  } catch (error) {
    const isRefusal = error instanceof Refusal;
    if (!isRefusal && !gone.signal.aborted) print(error);
    response = refusal(isRefusal ? error.answer : failed);
  }
  await send(response, incoming, outgoing);
}

/**
 * Makes a web `Request` from a request of node:http, HTTP/2 or Express, for code that takes one.
 * Its URL is made as `toNodeHandler` makes it. The body is streamed, and nothing of it is read
 * before it is used. Its signal is never aborted, and its body has no time limit: where a client
 * that goes away or is slow must end the work, use `toNodeHandler`.
 *
 * @throws Error `request_invalid` for a Host, address or header that is not valid; `backend.answer`
 * answers with 400
 * @throws ConfigurationError `option_invalid` for anything but a request
 * @example
 * import express from "express";
 *
 * express().use("/import", async (req, res) => {
 *   const form = await toWebRequest(req).formData();
 *   res.json([...form.keys()]);
 * });
 */
export function toWebRequest(request: NodeRequest): Request {
  if (!Array.isArray(request?.rawHeaders))
    throw invalidOption("request", "must be a request of node:http");
  return makeRequest(request as Incoming);
}

function makeRequest(incoming: Incoming, limit?: Limit, signal?: AbortSignal): Request {
  const { method = "GET", rawHeaders, socket } = incoming;
  const host = incoming.headers.host ?? incoming.headers[":authority"];
  const target = pathOf(incoming.originalUrl ?? incoming.url ?? "");
  // The value is a host with an optional port (RFC 9110 section 7.2).
  const isHost = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(String(host));
  if (typeof host !== "string" || !isHost || target === undefined) throw invalidAddress();
  const protocol = socket && "encrypted" in socket && socket.encrypted ? "https" : "http";
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
      // HTTP/2 lists the request line among the headers.
      if (!name.startsWith(":")) headers.append(name, value);
    }
    const body = method === "GET" || method === "HEAD" ? undefined : bodyOf(incoming, limit);
    const init = { method, headers, signal, body, duplex: "half" };
    // The URL is not resolved, because a path that begins with two slashes would replace the host.
    const request = new Request(`${protocol}://${host}${target}`, init as RequestInit);
    if (socket?.remoteAddress !== undefined) addresses.set(request, socket.remoteAddress);
    return request;
  } catch {
    throw invalidAddress();
  }
}

function invalidAddress(): Refusal {
  return new Refusal("request_invalid", {
    message: "The request has no valid address, or a header that is not valid.",
  });
}

/**
 * Returns path and query. If the target is a whole URL (RFC 9112 section 3.2.2), its host is
 * ignored.
 */
function pathOf(target: string): string | undefined {
  if (target.startsWith("/")) return target;
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return undefined;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

/**
 * Reads nothing before the body is used, so that a request may also be made for its headers alone.
 */
function bodyOf(incoming: Incoming, limit: Limit | undefined): ReadableStream<Uint8Array> {
  let leftMs = limit?.timeoutMs ?? 0;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      reader ??= (await streamOf(incoming)).getReader();
      const reading = reader.read();
      const left = limit && deadlineIn(leftMs, limit.clock);
      // After a timeout it reads on: to stop would close the connection before the answer.
      const late = () => new Refusal("body_timeout");
      const { done, value } = await (limit ? inTime(reading, leftMs, limit.clock, late) : reading);
      // The time that the reader itself takes does not count.
      if (left) leftMs = left();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader?.cancel(reason),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

async function streamOf(incoming: Incoming): Promise<ReadableStream<Uint8Array>> {
  const { body, headers, readableDidRead } = incoming;
  const isEmpty = headers["transfer-encoding"] === undefined && !Number(headers["content-length"]);
  if (!readableDidRead || (body === undefined && isEmpty)) {
    // It is imported here so that the rest of this entry also loads without Node.
    const { Readable } = await import("node:stream");
    return Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
  }
  const isText = typeof body === "string" || body instanceof Uint8Array;
  // JSON would be read as a form with one odd field.
  const isForm = !isText && /urlencoded/i.test(`${headers["content-type"]}`);
  if (body === undefined || isForm)
    throw invalidOption(
      "request",
      "has a body that a parser has read before",
      "Add the route before the parser, or pass what it made of the body (of a form the text) as " +
        "`body`: with Fastify `Object.assign(request.raw, { body: request.body })`.",
    );
  return new Blob([isText ? (body as BlobPart) : JSON.stringify(body)]).stream();
}

/** Without `zstd`, which is not asked for, and which some versions of Node do not decode. */
const decodedByFetch = /^(?:(?:x-)?gzip|deflate|br)$/i;
/**
 * The headers of one connection (RFC 9110 section 7.6.1). HTTP/2 refuses them, and a fetched
 * response has those of the connection that it came by.
 */
const ofConnection = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/;

async function send(
  response: Response,
  incoming: Incoming,
  outgoing: ServerResponse,
): Promise<void> {
  const { body, headers } = response;
  if (outgoing.destroyed) return body?.cancel();
  const { stream } = outgoing as { readonly stream?: ServerHttp2Stream };
  // The body of a fetched response is decoded, but its headers are those of the encoded one.
  const isDecoded = response.url && decodedByFetch.test(headers.get("content-encoding") ?? "");
  for (const [name, value] of headers) {
    if (isDecoded && /^content-(?:encoding|length)$/.test(name)) continue;
    if ((stream || response.url) && ofConnection.test(name)) continue;
    // Middleware may have set other cookies before.
    if (name === "set-cookie") outgoing.appendHeader(name, value);
    else outgoing.setHeader(name, value);
  }
  // Otherwise the unread rest of the body would be read as the next request. HTTP/2 closes only its
  // stream.
  if (!incoming.complete) {
    if (stream) stream.once("finish", () => stream.close());
    else outgoing.setHeader("connection", "close");
  }
  outgoing.writeHead(response.status);
  if (body === null || incoming.method === "HEAD") {
    await body?.cancel();
    return void outgoing.end();
  }
  // The first chunk of an event stream may come much later.
  outgoing.flushHeaders();
  const { Readable, promises } = await import("node:stream");
  // This waits for a slow client, and stops the source when the client goes away.
  await promises.pipeline(Readable.fromWeb(body as NodeReadableStream), outgoing);
}

function refusal({ status, code, message }: ErrorAnswer): Response {
  const headers = { "cache-control": "no-store", connection: "close" };
  return Response.json({ error: code, message }, { status, headers });
}
