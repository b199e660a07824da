// toNodeHandler over real connections: mounts, bodies, disconnects and odd requests.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import {
  type Backend,
  remoteAddress,
  toNodeHandler,
  toWebRequest,
} from "../../src/backend/index.js";
import { csrfHeader } from "../../src/backend/request-checks.js";
import { latch } from "../people/person.js";
import { servingOn } from "../support/recording-server.js";
import { collectGarbage, rejectionOf } from "../support/wait.js";
import { bearer, OWN, rig } from "./rig.js";

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

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** A handler that answers with the request it received. */
async function echo(request: Request): Promise<Response> {
  const { url, method, headers } = request;
  return Response.json({
    url,
    method,
    body: await request.text(),
    headers: Object.fromEntries(headers),
  });
}

describe.each([
  { by: "toNodeHandler", echoing: toNodeHandler(echo) as RequestListener },
  {
    by: "toWebRequest",
    echoing: (async (incoming, outgoing) => {
      outgoing.end(await (await echo(toWebRequest(incoming))).text());
    }) as RequestListener,
  },
])("a request that $by converts", ({ echoing }) => {
  test("has its method, address, headers and body", async () => {
    const { url } = await serving(echoing);
    const answer = await fetch(`${url}/a%20b/c?d=e&d=f`, {
      ...{ method: "PUT", body: "été" },
      headers: { "x-one": "1", "content-type": "text/plain" },
    });
    expect(await answer.json()).toMatchObject({
      ...{ url: `${url}/a%20b/c?d=e&d=f`, method: "PUT", body: "été" },
      headers: { "x-one": "1", "content-type": "text/plain" },
    });
  });

  test("keeps the whole address when Express mounts it below a path", async () => {
    const { url } = await serving((incoming, outgoing) => {
      // `app.use("/auth", handler)` does this.
      Object.assign(incoming, {
        originalUrl: incoming.url,
        url: (incoming.url ?? "").slice("/auth".length),
      });
      echoing(incoming, outgoing);
    });
    expect(((await (await fetch(`${url}/auth/me?x=1`)).json()) as Seen).url).toBe(
      `${url}/auth/me?x=1`,
    );
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
    expect(((await answer.json()) as Seen).body).toBe(passed);
  });
});

describe("a request", () => {
  const get = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const odd: { name: string; bytes: string }[] = [
    { name: "no Host", bytes: "GET /auth/me HTTP/1.0\r\n\r\n" },
    { name: "an empty Host", bytes: get("") },
    { name: "a Host with a path", bytes: get("a.example/auth/me?") },
    { name: "a Host with credentials", bytes: get("a@b.example") },
    { name: "a Host with spaces", bytes: get("a b") },
    { name: "a Host with an invalid port", bytes: get("a:99999") },
    { name: "a Host of broken brackets", bytes: get("[::1") },
    { name: "an asterisk as target", bytes: get("a").replace("GET /", "OPTIONS *") },
    { name: "a target of another scheme", bytes: get("a").replace("/", "ftp://a/") },
    { name: "the method TRACE", bytes: get("a").replace("GET", "TRACE") },
  ];
  test.each(odd)("with $name is answered 400, and the server continues", async ({ bytes }) => {
    const { url, port } = await serving(toNodeHandler(echo));
    expect(await raw(port, bytes)).toMatch(/^HTTP\/1\.1 400 /);
    expect((await fetch(url)).status).toBe(200);
  });

  test("whose target is a whole URL or begins with two slashes gets its host from the Host header", async () => {
    const { port } = await serving(toNodeHandler(echo));
    const asked = async (target: string) => {
      const text = await raw(
        port,
        `GET ${target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`,
      );
      return /"url":"([^"]*)"/.exec(text)?.[1];
    };
    expect(await asked("http://evil.example/auth/me?x")).toBe("http://a.example/auth/me?x");
    expect(await asked("//evil.example/x")).toBe("http://a.example//evil.example/x");
  });

  test("is not treated as https because of X-Forwarded headers", async () => {
    const { url } = await serving(toNodeHandler(echo));
    const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" };
    const headers = { ...forwarded, forwarded: "proto=https" };
    expect(((await (await fetch(`${url}/x`, { headers })).json()) as Seen).url).toBe(`${url}/x`);
  });

  test("aborts its signal even if the handler keeps only the signal", async () => {
    let told: (signal: AbortSignal) => void = () => {};
    const isTold = new Promise<AbortSignal>((resolve) => {
      told = resolve;
    });
    const { url } = await serving(
      toNodeHandler(({ signal }) => {
        told(signal);
        return new Promise<never>(() => {});
      }),
    );
    const leaving = new AbortController();
    const asked = fetch(url, { signal: leaving.signal }).catch(() => "gone");
    const signal = await isTold;
    const aborted = once(signal, "abort");
    // After this, the engine keeps only the parts of the request that are in use.
    await new Promise(setImmediate);
    collectGarbage();
    leaving.abort();
    await aborted;
    expect([signal.reason.name, await asked]).toEqual(["AbortError", "gone"]);
  });

  test("that breaks off in its body does not disturb the server", async () => {
    let hasBegun = () => {};
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve;
    });
    const reading = async ({ body }: Request) => {
      for await (const _ of body ?? []) hasBegun();
      return new Response("read");
    };
    const { url, port } = await serving(toNodeHandler(reading));
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    await begun;
    socket.destroy();
    expect((await fetch(url)).status).toBe(200);
  });
});

test("a request that was made here has the address that it came from, and no other request has one", async () => {
  const { url } = await serving(toNodeHandler((request) => new Response(remoteAddress(request))));
  expect(await (await fetch(url)).text()).toBe("127.0.0.1");
  expect(remoteAddress(new Request(url))).toBeUndefined();
});

describe("a response", () => {
  test("keeps its status, its headers and each of its cookies", async () => {
    const headers = new Headers({ location: "/x", "x-one": "1" });
    headers.append("set-cookie", "a=1; Path=/");
    headers.append("set-cookie", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT");
    const { url } = await serving(
      toNodeHandler(() => new Response(null, { status: 303, headers })),
    );
    const answer = await fetch(url, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location"), answer.headers.getSetCookie()]).toEqual([
      303,
      "/x",
      ["a=1; Path=/", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT"],
    ]);
  });

  test("is streamed, and its source stops when the client goes away", async () => {
    const stopped = latch();
    const body = () =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: stopped.release,
      });
    const { url } = await serving(toNodeHandler(() => new Response(body())));
    const leaving = new AbortController();
    const answer = await fetch(url, { signal: leaving.signal });
    const reader = answer.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    leaving.abort();
    await stopped.promise;
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
    const { url } = await serving(
      toNodeHandler(() => new Response("body", { headers: { "x-one": "1" } })),
    );
    const answer = await fetch(url, { method: "HEAD" });
    expect([answer.status, answer.headers.get("x-one"), await answer.text()]).toEqual([
      200,
      "1",
      "",
    ]);
  });

  test("is a 500 without the error's text if the handler throws, and a broken connection if its body breaks", async () => {
    const { url } = await serving(
      toNodeHandler(async (request) => {
        if (request.url.endsWith("/throws")) throw new Error("canary");
        return new Response(
          new ReadableStream({ start: (controller) => controller.error(new Error("canary")) }),
        );
      }),
    );
    const answer = await fetch(`${url}/throws`);
    expect([answer.status, await answer.text()]).toEqual([
      500,
      expect.not.stringContaining("canary"),
    ]);
    await expect(fetch(`${url}/breaks`).then((broken) => broken.text())).rejects.toThrow();
    expect((await fetch(`${url}/throws`)).status).toBe(500);
  });
});

test.each([undefined, null, "text", {}])(
  "a handler that resolves with %j instead of a Response is answered 500 backend_failed",
  async (answer) => {
    const { url } = await serving(toNodeHandler(async () => answer as never));
    const response = await fetch(url);
    const message = "The handler did not return a Response.";
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: "backend_failed", message },
    ]);
  },
);

describe("connect and session take a request of node:http", () => {
  /** Like a route of an Express app: below a mount, with a body that a parser has read. */
  async function app(backend: Backend): Promise<{ url: string; port: number }> {
    return serving(async (incoming, outgoing) => {
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
  }
  const shown = { status: 200, operator: { userId: "ada" } };

  test("with the session of a bearer token, and without its body", async () => {
    const parts = rig();
    const { session } = await parts.launch();
    const { url } = await app(parts.backend);
    for (const method of ["GET", "POST"])
      expect(
        await (await fetch(`${url}/api`, { method, headers: bearer(session) })).json(),
      ).toMatchObject(shown);
    expect((await fetch(`${url}/api`)).status).toBe(401);
  });

  test("with the session of a cookie, and the checks of its origin", async () => {
    const parts = rig({ session: { cookie: true }, publicUrl: OWN });
    const { csrf = "" } = await parts.launch();
    const { url } = await app(parts.backend);
    const cookie = [...parts.browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    expect(await (await fetch(`${url}/api`, { headers: { cookie } })).json()).toMatchObject(shown);
    const post = (headers: Record<string, string>) =>
      fetch(`${url}/api`, { method: "POST", headers });
    expect((await post({ cookie })).status).toBe(403);
    expect(
      (await post({ cookie, origin: "https://evil.example", [csrfHeader]: csrf })).status,
    ).toBe(403);
    expect((await post({ cookie, origin: OWN, [csrfHeader]: csrf })).status).toBe(200);
  });

  test("and refuse one with an invalid Host, which backend.answer answers with 400", async () => {
    const { port } = await app(rig().backend);
    const answer = await raw(port, "GET /api HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"request_invalid"/);
  });
});

test("a backend on node:http answers a body of 10 MB with 413 without reading it", async () => {
  const { url } = await serving(toNodeHandler(rig().backend));
  const headers = { "content-type": "application/json", origin: url };
  const large = await fetch(`${url}/auth/launch`, {
    ...{ method: "POST", headers, body: "x".repeat(10_000_000) },
  }).catch((error) => error.cause?.code);
  // A client that is still writing may see the connection close before it reads the answer.
  expect(large instanceof Response ? large.status : large).toSatisfy((seen) =>
    [413, "EPIPE", "ECONNRESET", "UND_ERR_SOCKET"].includes(seen as string),
  );
});

test.each([
  { name: "a Host that is not one", request: { headers: { host: "a b" }, rawHeaders: [] } },
  {
    name: "a header name that HTTP does not allow",
    request: { headers: { host: "a" }, rawHeaders: ["a b", "c"] },
  },
])("toWebRequest and connect reject $name with request_invalid", async ({ request }) => {
  const given = { method: "GET", url: "/", ...request };
  expect(() => toWebRequest(given)).toThrow(expect.objectContaining({ code: "request_invalid" }));
  expect(await rejectionOf(rig().backend.connect(given))).toMatchObject({
    code: "request_invalid",
  });
});

test("toWebRequest rejects anything but a request with option_invalid", () => {
  const refusal = expect.objectContaining({ code: "option_invalid", option: "request" });
  for (const given of [undefined, null, {}, "GET /"])
    expect(() => toWebRequest(given as never)).toThrow(refusal);
});
