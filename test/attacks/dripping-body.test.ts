// A client sends a body a byte at a time and holds a connection and a request each time, with almost no
// traffic: the slow POST of 2009 (R-U-Dead-Yet, slowhttptest; CWE-400). Node's own `requestTimeout` ends it
// after five minutes.
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { OWN, rig } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";
import { servingOn } from "../support/recording-server.js";

const timeoutMs = 400;

/** A request whose body arrives a byte every 20 ms. Without a text it never ends. */
function dripping(text?: string): RequestInit {
  let sent = 0;
  const body = new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (sent === text?.length) return controller.close();
      controller.enqueue(new TextEncoder().encode(text?.[sent++] ?? " "));
    },
  });
  const headers = { "content-type": "application/json", origin: OWN };
  return { method: "POST", headers, body, duplex: "half" } as RequestInit;
}

/** Sends a byte of a body every 20 ms until the server closes the connection, and returns its answer. */
async function drip(url: string): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  const headers = `Host: a\r\nOrigin: ${OWN}\r\nContent-Type: application/json\r\nContent-Length: 50000`;
  socket.write(`POST ${pathname} HTTP/1.1\r\n${headers}\r\n\r\n`);
  const timer = setInterval(() => socket.write(" "), 20);
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  clearInterval(timer);
  return answer;
}

describe("a backend", () => {
  const url = `${OWN}/auth/session`;

  test("answers 408 when a body has not arrived after timeoutMs", async () => {
    const { backend } = rig({ timeoutMs });
    for (const body of [dripping().body, new ReadableStream()]) {
      const answer = await backend(new Request(url, { ...dripping(), body: body as ReadableStream }));
      expect(await refusalOf(answer)).toBe("408 body_timeout");
      expect(answer.headers.get("connection")).toBe("close");
    }
  });

  test("reads a slow body that arrives in time", async () => {
    const slow = new Request(url, dripping('{"tenant":"acme"}'));
    expect((await rig().backend(slow)).status).toBe(204);
  });
});

describe("behind toNodeHandler", () => {
  const longer = 60_000;
  const backend = (limit: number) => rig({ publicUrl: OWN, timeoutMs: limit }).backend;
  const reading = async (request: Request) => new Response(await request.text());
  const serving = async (...given: Parameters<typeof toNodeHandler>) =>
    `http://127.0.0.1:${await servingOn(createServer(toNodeHandler(...given)))}/auth/session`;

  test.each([
    { name: "a backend", handler: backend(timeoutMs), limit: longer },
    { name: "toNodeHandler, for a backend", handler: backend(longer), limit: timeoutMs },
    { name: "toNodeHandler, for another handler", handler: reading, limit: timeoutMs },
  ])("the answer is 408, and the connection is closed, after the time limit of $name", async (row) => {
    const url = await serving(row.handler, { timeoutMs: row.limit });
    const startedAt = performance.now();
    expect(await drip(url)).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"body_timeout"/);
    expect(performance.now() - startedAt).toBeGreaterThan(timeoutMs - 50);
  });

  test("over HTTP/2 the answer is 408, and the stream is closed", async () => {
    const server = createHttp2Server(toNodeHandler(reading, { timeoutMs }) as never);
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":method": "POST" }).setEncoding("utf8");
    stream.write(" ");
    const [headers] = await once(stream, "response");
    const [[text]] = await Promise.all([once(stream, "data"), once(stream, "close")]);
    expect([headers[":status"], JSON.parse(text).error]).toEqual([408, "body_timeout"]);
  });

  test("a slow body that arrives in time is read to its end", async () => {
    const answer = await fetch(await serving(reading), dripping("a slow body"));
    expect(await answer.text()).toBe("a slow body");
  });

  test("the time that a handler takes between two parts of a body does not count", async () => {
    const slowly = async ({ body }: Request) => {
      for await (const _ of body ?? []) await new Promise((resolve) => setTimeout(resolve, timeoutMs));
      return new Response("read");
    };
    const url = await serving(slowly, { timeoutMs });
    const answer = await fetch(url, { method: "POST", body: new Uint8Array(150_000) });
    expect(await answer.text()).toBe("read");
  });
});
