// A scripted HTTP server on loopback that records all requests.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface RecordedRequest {
  readonly method: string;
  /** The path and query as they were sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The request line, headers and body as one string, in which a test can search for secrets. */
  readonly raw: string;
}

export interface ScriptedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function jsonAnswer(status: number, body: unknown): ScriptedAnswer {
  const headers = { "content-type": "application/json; charset=utf-8" };
  return { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}

export function pageAnswer(status: number): ScriptedAnswer {
  return {
    status,
    headers: { "content-type": "text/html" },
    body: "<!doctype html><title>Gateway</title>",
  };
}

/**
 * `silence` never answers and `reset` closes the connection. A function writes the answer itself.
 */
export type Script = (
  request: RecordedRequest,
) => ScriptedAnswer | "silence" | "reset" | ((response: ServerResponse) => void);

export interface RecordingServer {
  readonly url: string;
  readonly requests: RecordedRequest[];
}

/** Starts a server that closes itself when the test ends. */
export async function recordingServer(script: Script): Promise<RecordingServer> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await record(incoming);
    requests.push(request);
    const answer = script(request);
    if (answer === "silence") return;
    if (answer === "reset") return void incoming.socket.destroy();
    if (typeof answer === "function") return answer(response);
    response.writeHead(answer.status, { connection: "close", ...answer.headers });
    response.end(answer.body);
  });
  return { url: `http://127.0.0.1:${await servingOn(server)}`, requests };
}

/** Listens on a free port of this machine until the test ends, and returns the port. */
export async function servingOn(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

let ports = 0;

/**
 * A port that is free and stays so: the system gives none below 32,768, and each process of a test
 * tries others.
 */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  const port = 11_000 + ((31 * process.pid + ports++) % 9_000);
  const server = createServer().listen(port, host);
  const isFree = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort(host);
  server.close();
  await once(server, "close");
  return port;
}

async function record(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) chunks.push(chunk);
  } catch {
    // The client closed the connection. The bytes until then are recorded.
  }
  const { method = "", url = "", rawHeaders } = incoming;
  const body = Buffer.concat(chunks).toString("latin1");
  return {
    method,
    path: url,
    headers: incoming.headers as Record<string, string>,
    body,
    raw: [`${method} ${url}`, ...rawHeaders, "", body].join("\n"),
  };
}
