// A client sends a body a byte at a time and holds a connection and a request each time, with
// almost no traffic: the slow POST of 2009 (R-U-Dead-Yet, slowhttptest; CWE-400). Node's own
// `requestTimeout` ends it after five minutes.
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { toNodeHandler } from "../../src/backend/index.js";
import { OWN, rig } from "../backend/rig.js";
import { refusalOf } from "../backend/test-browser.js";
import { START, type SteppedClock, steppedClock } from "../support/clock.js";
import { servingOn } from "../support/recording-server.js";

const timeoutMs = 400;
const everyMs = 20;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A request whose body arrives a byte every 20 ms. Without a text it never ends. */
function dripping(clock: SteppedClock, text?: string): RequestInit {
  let sent = 0;
  const body = new ReadableStream({
    async pull(controller) {
      await turn();
      clock.advance(everyMs);
      if (sent === text?.length) return controller.close();
      controller.enqueue(new TextEncoder().encode(text?.[sent++] ?? " "));
    },
  });
  return { method: "POST", headers, body, duplex: "half" } as RequestInit;
}
const headers = { "content-type": "application/json", origin: OWN };

/**
 * Sends a byte of a body every 20 ms until the server closes the connection, and returns its
 * answer.
 */
async function drip(url: string, clock: SteppedClock): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  const head = `Host: a\r\nOrigin: ${OWN}\r\nContent-Type: application/json\r\nContent-Length: 50000`;
  socket.write(`POST ${pathname} HTTP/1.1\r\n${head}\r\n\r\n`);
  let answer = "";
  const closed = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      answer += String(chunk);
    });
    // A byte that is written after the server has closed is an error in some versions of Node.
    socket.on("close", () => resolve());
  });
  for (let isOpen = true; isOpen; ) {
    if (socket.writable) socket.write(" ");
    // Time begins when the server reads.
    if (clock.timerCount() > 0) clock.advance(everyMs);
    isOpen = await Promise.race([closed.then(() => false), turn().then(() => true)]);
  }
  return answer;
}

describe("a backend", () => {
  const url = `${OWN}/auth/session`;

  test("answers 408 when a body has not arrived after timeoutMs", async () => {
    const clock = steppedClock();
    const { backend } = rig({ timeoutMs, clock });
    for (const body of [dripping(clock).body, new ReadableStream()]) {
      const request = new Request(url, {
        method: "POST",
        headers,
        body,
        duplex: "half",
      } as RequestInit);
      const answer = await clock.through(backend(request));
      expect(await refusalOf(answer)).toBe("408 body_timeout");
      expect(answer.headers.get("connection")).toBe("close");
    }
  });

  test("reads a slow body that arrives in time", async () => {
    const clock = steppedClock();
    const slow = new Request(url, dripping(clock, '{"tenant":"acme"}'));
    expect((await rig({ timeoutMs, clock }).backend(slow)).status).toBe(204);
  });
});

describe("behind toNodeHandler", () => {
  const longer = 60_000;
  const reading = async (request: Request) => new Response(await request.text());
  const serving = async (...given: Parameters<typeof toNodeHandler>) =>
    `http://127.0.0.1:${await servingOn(createServer(toNodeHandler(...given)))}/auth/session`;

  test.each([
    { name: "a backend", backendMs: timeoutMs, limitMs: longer },
    { name: "toNodeHandler, for a backend", backendMs: longer, limitMs: timeoutMs },
    { name: "toNodeHandler, for another handler", backendMs: undefined, limitMs: timeoutMs },
  ])(
    "the answer is 408, and the connection is closed, after the time limit of $name",
    async (row) => {
      const clock = steppedClock();
      const { backendMs, limitMs } = row;
      const handler = backendMs
        ? rig({ publicUrl: OWN, timeoutMs: backendMs, clock }).backend
        : reading;
      const url = await serving(handler, { timeoutMs: limitMs, clock });
      expect(await drip(url, clock)).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"body_timeout"/);
      expect(clock.now() - START).toBeGreaterThanOrEqual(timeoutMs);
      expect(clock.now() - START).toBeLessThan(longer);
    },
  );

  test("over HTTP/2 the answer is 408, and the stream is closed", async () => {
    const clock = steppedClock();
    const server = createHttp2Server(toNodeHandler(reading, { timeoutMs, clock }) as never);
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":method": "POST" }).setEncoding("utf8");
    stream.write(" ");
    const response = once(stream, "response");
    await expect.poll(clock.timerCount).toBe(1);
    clock.advance(timeoutMs);
    const [answered] = await response;
    const [[text]] = await Promise.all([once(stream, "data"), once(stream, "close")]);
    expect([answered[":status"], JSON.parse(text).error]).toEqual([408, "body_timeout"]);
  });

  test("a slow body that arrives in time is read to its end", async () => {
    const clock = steppedClock();
    const url = await serving(reading, { timeoutMs, clock });
    const answer = await fetch(url, dripping(clock, "a slow body"));
    expect(await answer.text()).toBe("a slow body");
  });

  test("the time that a handler takes between two parts of a body does not count", async () => {
    const clock = steppedClock();
    let send: (part?: string) => void = () => {};
    const sent = new ReadableStream({
      start(controller) {
        send = (part) =>
          part ? controller.enqueue(new TextEncoder().encode(part)) : controller.close();
      },
    });
    const slowly = async ({ body }: Request) => {
      const reader = body?.getReader();
      await reader?.read();
      clock.advance(timeoutMs);
      const second = reader?.read();
      await expect.poll(clock.timerCount).toBe(1);
      clock.advance(timeoutMs - 1);
      send("second");
      await second;
      send();
      return new Response(`read ${(await reader?.read())?.done}`);
    };
    const url = await serving(slowly, { timeoutMs, clock });
    send("first");
    const answer = await fetch(url, { method: "POST", body: sent, duplex: "half" } as RequestInit);
    expect(await answer.text()).toBe("read true");
  });
});
