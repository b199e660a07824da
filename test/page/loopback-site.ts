// A web site of its own on loopback: a name below localhost is another site to the browser, and a secure context.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface SiteRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SiteAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

export interface Site {
  readonly origin: string;
  readonly requests: SiteRequest[];
}

/** An object is JSON, a text is a page. */
export function answerWith(body: string | object, status = 200): SiteAnswer {
  const isPage = typeof body === "string";
  const type = isPage ? "text/html" : "application/json";
  return { status, headers: { "content-type": type }, body: isPage ? body : JSON.stringify(body) };
}

export async function loopbackSite(
  name: string,
  answer: (request: SiteRequest) => SiteAnswer | Promise<SiteAnswer>,
): Promise<Site> {
  const requests: SiteRequest[] = [];
  let origin = "";
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming, origin);
    requests.push(request);
    const { status = 200, headers = {}, body } = await answer(request);
    response.writeHead(status, { connection: "close", ...headers }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://${name}.localhost:${(server.address() as AddressInfo).port}`;
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { origin, requests };
}

async function read(incoming: IncomingMessage, origin: string): Promise<SiteRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return {
    method: incoming.method ?? "",
    url: new URL(origin + incoming.url),
    headers: incoming.headers as Record<string, string>,
    body: Buffer.concat(chunks).toString(),
  };
}
