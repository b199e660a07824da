// toNodeHandler over real connections: mounts, bodies, disconnects and odd requests.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { remoteAddress, toNodeHandler, toWebRequest } from "../../src/backend/index.js";
import { csrfHeader } from "../../src/backend/request-checks.js";
import { latch } from "../people/person.js";
import { servingOn } from "../support/recording-server.js";
import { collectGarbage, rejectionOf, settle } from "../support/wait.js";
import { bearer, OWN, type Rig, rig } from "./rig.js";

async function serving(listener: RequestListener): Promise<{ url: string; port: number }> {
  const port = await servingOn(createServer(listener));
  return { url: `http://127.0.0.1:${port}`, port };
}

/** Sends raw bytes, and returns the server's answer up to the end of the connection. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(bytes);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

const get = (host: string, target = "/") =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** A handler that answers with the request it received. */
async function echo(request: Request): Promise<Response> {
  const { url, method, headers } = request;
  const body = await request.text();
  return Response.json({ url, method, body, headers: Object.fromEntries(headers) });
}

describe.each<{ by: string; echoing: RequestListener }>([
  { by: "toNodeHandler", echoing: toNodeHandler(echo) as RequestListener },
  {
    by: "toWebRequest",
    echoing: async (incoming, outgoing) => {
      outgoing.end(await (await echo(toWebRequest(incoming))).text());
    },
  },
])("a request that $by converts", ({ echoing }) => {
  test("has its method, address, headers and body, and the whole address below a mount of Express", async () => {
    const { url } = await serving((incoming, outgoing) => {
      // `app.use("/auth", handler)` does this.
      if (incoming.url?.startsWith("/auth"))
        Object.assign(incoming, { originalUrl: incoming.url, url: incoming.url.slice(5) });
      echoing(incoming, outgoing);
    });
    const headers = { "x-one": "1", "content-type": "text/plain" };
    for (const path of ["/a%20b/c?d=e&d=f", "/auth/me?x=1"]) {
      const answer = await fetch(url + path, { method: "PUT", body: "été", headers });
      const sent = { url: url + path, method: "PUT", body: "été", headers };
      expect(await answer.json()).toMatchObject(sent);
    }
  });

  test.each([
    { name: "parsed JSON", body: { code: "c" }, passed: '{"code":"c"}' },
    { name: "a string", body: "a text", passed: "a text" },
    { name: "bytes", body: Buffer.from("bytes"), passed: "bytes" },
  ])("whose body a parser has read passes it on as $name", async ({ body, passed }) => {
    const { url } = await serving(async (incoming, outgoing) => {
      for await (const _ of incoming);
      Object.assign(incoming, { body });
      echoing(incoming, outgoing);
    });
    const answer = await fetch(`${url}/x`, { method: "POST", body: "what was sent" });
    expect(await answer.json()).toMatchObject({ body: passed });
  });
});

test("toWebRequest refuses a form that a parser has read, unless it has its text", async () => {
  const { url } = await serving(async (incoming, outgoing) => {
    for await (const _ of incoming);
    const read = async (body: unknown) => {
      const form = await toWebRequest(Object.assign(incoming, { body })).formData();
      return [...form.keys()];
    };
    outgoing.end(JSON.stringify([await read("a=1"), String(await rejectionOf(read({ a: "1" })))]));
  });
  const answer = await fetch(url, { method: "POST", body: new URLSearchParams("a=1") });
  expect(await answer.json()).toEqual([["a"], expect.stringContaining("before the parser")]);
});

describe("a request", () => {
  test.each([
    { name: "no Host", bytes: "GET /auth/me HTTP/1.0\r\n\r\n" },
    { name: "a Host with a path", bytes: get("a.example/auth/me?") },
    { name: "a Host with an invalid port", bytes: get("a:99999") },
    { name: "a Host of broken brackets", bytes: get("[::1") },
    { name: "an asterisk as target", bytes: get("a", "*").replace("GET", "OPTIONS") },
    { name: "a target of another scheme", bytes: get("a", "ftp://a/") },
    { name: "the method TRACE", bytes: get("a").replace("GET", "TRACE") },
  ])("with $name is answered 400, and the server continues", async ({ bytes }) => {
    const { url, port } = await serving(toNodeHandler(echo));
    expect(await raw(port, bytes)).toMatch(/^HTTP\/1\.1 400 /);
    expect((await fetch(url)).status).toBe(200);
  });

  test.each([
    { target: "http://evil.example/auth/me?x", url: "http://a.example/auth/me?x" },
    { target: "//evil.example/x", url: "http://a.example//evil.example/x" },
  ])("for $target gets its host from the Host header", async ({ target, url }) => {
    const { port } = await serving(toNodeHandler(echo));
    expect(await raw(port, get("a.example", target))).toContain(`"url":"${url}"`);
  });

  test("is not treated as https because of X-Forwarded headers", async () => {
    const { url } = await serving(toNodeHandler(echo));
    const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" };
    const headers = { ...forwarded, forwarded: "proto=https" };
    expect(await (await fetch(`${url}/x`, { headers })).json()).toMatchObject({ url: `${url}/x` });
  });

  test("aborts its signal even if the handler keeps only the signal", async () => {
    const begun = latch();
    let signal = new AbortController().signal;
    const { url } = await serving(
      toNodeHandler((request) => {
        signal = request.signal;
        begun.release();
        return new Promise<never>(() => {});
      }),
    );
    const leaving = new AbortController();
    const asked = fetch(url, { signal: leaving.signal }).catch(() => "gone");
    await begun.promise;
    const aborted = once(signal, "abort");
    // After this, the engine keeps only the parts of the request that are in use.
    await new Promise(setImmediate);
    collectGarbage();
    leaving.abort();
    await aborted;
    expect([signal.reason.name, await asked]).toEqual(["AbortError", "gone"]);
  });

  test("that breaks off in its body does not disturb the server", async () => {
    const begun = latch();
    const { url, port } = await serving(
      toNodeHandler(async ({ body }) => {
        for await (const _ of body ?? []) begun.release();
        return new Response("read");
      }),
    );
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    await begun.promise;
    socket.destroy();
    expect((await fetch(url)).status).toBe(200);
  });

  test("that was made here has the address that it came from, and no other request has one", async () => {
    const { url } = await serving(toNodeHandler((one) => new Response(remoteAddress(one))));
    expect(await (await fetch(url)).text()).toBe("127.0.0.1");
    expect(remoteAddress(new Request(url))).toBeUndefined();
  });
});

describe("a response", () => {
  test("keeps its status, its headers and each of its cookies", async () => {
    const cookies = ["a=1; Path=/", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT"];
    const headers = new Headers({ location: "/x" });
    for (const cookie of cookies) headers.append("set-cookie", cookie);
    const handler = toNodeHandler(() => new Response(null, { status: 303, headers }));
    const { url } = await serving((incoming, outgoing) => {
      outgoing.setHeader("set-cookie", "ofMiddleware=1");
      handler(incoming, outgoing);
    });
    const answer = await fetch(url, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/x"]);
    expect(answer.headers.getSetCookie()).toEqual(["ofMiddleware=1", ...cookies]);
  });

  test("of a fetch arrives as it was, although it was compressed on its way", async () => {
    const source = await serving((_, outgoing) => {
      const body = gzipSync("a long text ".repeat(100));
      outgoing.writeHead(200, { "content-encoding": "gzip", "content-length": body.length });
      outgoing.end(body);
    });
    const { url } = await serving(toNodeHandler(() => fetch(source.url)));
    expect(await (await fetch(url)).text()).toBe("a long text ".repeat(100));
  });

  test("of a fetch has no header of the connection that it came by", async () => {
    const source = await serving((_, outgoing) => {
      outgoing.setHeader("connection", "close");
      outgoing.flushHeaders();
      outgoing.end("a text");
    });
    const handler = toNodeHandler(() => fetch(source.url)) as RequestListener;
    const { headers } = await fetch((await serving(handler)).url);
    expect(headers.get("connection")).toBe("keep-alive");
    const http2 = createHttp2Server(handler as never).listen(0, "127.0.0.1");
    await once(http2, "listening");
    const client = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
    onTestFinished(() => {
      client.destroy();
      http2.close();
    });
    const answer = client.request().setEncoding("utf8");
    expect(await answer.toArray()).toEqual(["a text"]);
  });

  test("keeps the encoding that the handler chose", async () => {
    const body = () => new Response(gzipSync("text"), { headers: { "content-encoding": "gzip" } });
    const answer = await fetch((await serving(toNodeHandler(body))).url);
    expect([answer.headers.get("content-encoding"), await answer.text()]).toEqual(["gzip", "text"]);
  });

  test("has a head that does not wait for the first chunk, as of an event stream", async () => {
    const first = latch();
    const pull = async (controller: ReadableStreamDefaultController) => {
      await first.promise;
      controller.close();
    };
    const { url } = await serving(toNodeHandler(() => new Response(new ReadableStream({ pull }))));
    const answer = await fetch(url);
    first.release();
    expect(await answer.text()).toBe("");
  });

  test("is streamed, and its source stops when the client goes away", async () => {
    const stopped = latch();
    const body = () =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: stopped.release,
      });
    const { url } = await serving(toNodeHandler(() => new Response(body())));
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    const leaving = new AbortController();
    const answer = await fetch(url, { signal: leaving.signal });
    expect((await answer.body?.getReader().read())?.value?.length).toBeGreaterThan(0);
    leaving.abort();
    await stopped.promise;
    await settle();
    expect(printed).not.toHaveBeenCalled();
  });

  test("closes the connection if the request's body was not read to its end", async () => {
    const { port } = await serving(toNodeHandler(() => new Response("early")));
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^connection: close\r$/im);
    socket.destroy();
  });

  test("to HEAD has no body, and its source is cancelled", async () => {
    const cancelled = latch();
    const body = () => new ReadableStream({ cancel: cancelled.release });
    const { url } = await serving(
      toNodeHandler(() => new Response(body(), { headers: { etag: "1" } })),
    );
    const answer = await fetch(url, { method: "HEAD" });
    expect([answer.status, answer.headers.get("etag"), await answer.text()]).toEqual([
      200,
      "1",
      "",
    ]);
    await cancelled.promise;
  });

  test("is a 500 without the error's text if the handler throws or returns no unread Response, and a broken connection if its body breaks; both are printed", async () => {
    const fail = () => {
      throw Object.assign(new Error("failing"), { config: { token: "canary" } });
    };
    const { url } = await serving(
      toNodeHandler(async ({ url }) => {
        if (url.endsWith("/throws")) return fail();
        const read = new Response("a text");
        await read.text();
        if (url.endsWith("/read")) return read;
        if (url.endsWith("/breaks")) return new Response(new ReadableStream({ pull: fail }));
        return {} as never;
      }),
    );
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    await expect(fetch(`${url}/breaks`).then((broken) => broken.text())).rejects.toThrow();
    for (const [path, message] of [
      ["/throws", "The backend failed."],
      ["/none", "The handler did not return a Response."],
      ["/read", "The handler returned a Response whose body was read."],
    ]) {
      const answer = await fetch(url + path);
      const body = { error: "backend_failed", message };
      expect([answer.status, await answer.json()]).toEqual([500, body]);
    }
    const stack = expect.stringMatching(/^Error: failing\n +at /);
    const line = ["bivariant/backend, toNodeHandler:", stack];
    expect(printed.mock.calls).toEqual([line, line]);
    expect(String(printed.mock.calls)).not.toContain("canary");
  });
});

describe("connect and session take a request of node:http", () => {
  /** Like a route of an Express app: below a mount, with a body that a parser has read. */
  async function app({ backend }: Rig) {
    const { url, port } = await serving(async (incoming, outgoing) => {
      for await (const _ of incoming);
      Object.assign(incoming, { originalUrl: incoming.url, url: "/", body: { big: 1n } });
      const answer = async () => {
        const { operator } = await backend.session(incoming);
        const { status } = await (await backend.connect(incoming)).call("listDevices");
        return Response.json({ status, operator });
      };
      const response = await answer().catch((error) => backend.answer(error));
      toNodeHandler(() => response)(incoming, outgoing);
    });
    const ask = async (method: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${url}/api`, { method, headers });
      return [answer.status, await answer.json()];
    };
    return { port, ask };
  }
  const shown = [200, { status: 200, operator: { userId: "ada" } }];

  test("with the session of a bearer token, and without its body", async () => {
    const parts = rig();
    const { session } = await parts.launch();
    const { ask } = await app(parts);
    for (const method of ["GET", "POST"])
      expect(await ask(method, bearer(session))).toMatchObject(shown);
    expect(await ask("GET")).toMatchObject([401, { error: "session_missing" }]);
  });

  test("with the session of a cookie, and the checks of its origin", async () => {
    const parts = rig({ session: { cookie: true }, publicUrl: OWN });
    const { csrf = "" } = await parts.launch();
    const { ask } = await app(parts);
    const cookie = [...parts.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    expect(await ask("GET", { cookie })).toMatchObject(shown);
    const evil = { cookie, origin: "https://evil.example", [csrfHeader]: csrf };
    for (const headers of [{ cookie }, evil]) expect((await ask("POST", headers))[0]).toBe(403);
    expect(await ask("POST", { ...evil, origin: OWN })).toMatchObject(shown);
  });

  test("and refuse one with an invalid Host, which backend.answer answers with 400", async () => {
    const { port } = await app(rig());
    expect(await raw(port, get("a b"))).toMatch(/^HTTP\/1\.1 400 [\s\S]*"request_invalid"/);
  });
});

test("toWebRequest and connect reject a header name that HTTP does not allow with request_invalid", async () => {
  const given = { method: "GET", url: "/", headers: { host: "a" }, rawHeaders: ["a b", "c"] };
  expect(() => toWebRequest(given)).toThrow(expect.objectContaining({ code: "request_invalid" }));
  const refusal = await rejectionOf(rig().backend.connect(given));
  expect(refusal).toMatchObject({ code: "request_invalid" });
});

test("toWebRequest rejects anything but a request with option_invalid", () => {
  const refusal = expect.objectContaining({ code: "option_invalid", option: "request" });
  for (const given of [undefined, null, {}, "GET /"])
    expect(() => toWebRequest(given as never)).toThrow(refusal);
});
