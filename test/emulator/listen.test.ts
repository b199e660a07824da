// Serving over HTTP, the base URL, and what is loaded when.
import { once } from "node:events";
import { Agent, request as httpRequest, Server } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createEmulator } from "../../src/emulator/index.js";
import { PluginClient } from "./plugin-client.js";

describe("listen", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function listening(plugin: PluginClient, options: { host?: string } = {}): Promise<string> {
    const { url, close } = await plugin.emulator.listen(options);
    closing.push(close);
    return url;
  }

  /** Writes bytes to the server and reads until it closes the connection. */
  async function raw(url: string, text: string): Promise<string> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.setEncoding("latin1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("error", () => {});
    socket.write(text);
    await once(socket, "close");
    return answer;
  }

  function postRaw(url: string, body: string, headers: string[]): Promise<string> {
    const path = "/api/v1/acme/external-plugin/oauth/token";
    const head = [`POST ${path} HTTP/1.1`, ...headers, "Connection: close", `Content-Length: ${body.length}`];
    return raw(url, `${head.join("\r\n")}\r\n\r\n${body}`);
  }

  const FORM = "Content-Type: application/x-www-form-urlencoded";

  describe("aud is held against the public URL, whatever a request says of its host", () => {
    const spoofs = [
      { name: "Host", headers: ["Host: evil.example"] },
      { name: "X-Forwarded-Host", headers: ["Host: evil.example", "X-Forwarded-Host: evil.example"] },
      {
        name: "X-Forwarded-Host and -Proto",
        headers: ["Host: h", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: http"],
      },
      { name: "Forwarded", headers: ["Host: h", "Forwarded: host=evil.example;proto=http"] },
    ];
    test.each(spoofs)(
      "$name does not make its own audience right, nor the true one wrong",
      async ({ headers }) => {
        const plugin = new PluginClient();
        const url = await listening(plugin);
        const evil = plugin.tokenUrl().replace(plugin.emulator.publicUrl, "http://evil.example");
        const refused = await postRaw(url, String(plugin.form({ claims: { aud: evil } })), [
          ...headers,
          FORM,
        ]);
        expect(refused).toMatch(/^HTTP\/1\.1 400 .*"error":"invalid_client"/s);
        expect(plugin.lastRule()).toBe("assertion.audience");
        expect(await postRaw(url, String(plugin.form()), [...headers, FORM])).toMatch(/^HTTP\/1\.1 200 /);
      },
    );

    test("without the option it is the URL listened at, while listening", async () => {
      const plugin = new PluginClient();
      expect(plugin.emulator.publicUrl).toBe("http://emulator.localhost");
      const { url, close } = await plugin.emulator.listen();
      expect([plugin.emulator.publicUrl, plugin.emulator.url]).toEqual([url, url]);
      expect((await plugin.requestToken()).status).toBe(200);
      await close();
      expect([plugin.emulator.publicUrl, plugin.emulator.url]).toEqual([
        "http://emulator.localhost",
        undefined,
      ]);
    });

    test("with the option it is the option; the URL listened at keeps its path", async () => {
      const plugin = new PluginClient({ publicUrl: "https://customer.example/site" });
      const url = await listening(plugin);
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/site$/);
      const path = "/api/v1/acme/external-plugin/oauth/token";
      const post = (aud: string) =>
        fetch(url + path, { method: "POST", body: plugin.form({ claims: { aud } }) });
      expect((await post(url + path)).status).toBe(400);
      expect((await post(`https://customer.example/site${path}`)).status).toBe(200);
    });
  });

  test("a token is had and used over HTTP; the 403 is empty on the wire", async () => {
    const plugin = new PluginClient({}, { devices: ["device-1"] });
    const url = await listening(plugin);
    const response = await fetch(plugin.tokenUrl(), { method: "POST", body: plugin.form() });
    expect(response.headers.get("date")).toBe("Thu, 01 Jan 2026 12:00:00 GMT");
    const { access_token: token } = (await response.json()) as { access_token: string };
    const answer = await raw(
      url,
      `GET /api/v1/acme/devices/device-2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(answer).toMatch(/\r\ncontent-length: 0\r\n/i);
    expect(answer).not.toMatch(/content-type/i);
    expect(answer).toMatch(/\r\n\r\n$/);
  });

  describe("a malformed request over the wire is answered a defined 4xx", () => {
    const token = "/api/v1/acme/external-plugin/oauth/token";
    const close = "Connection: close\r\n\r\n";
    const rows = [
      { name: "no HTTP at all", text: "hello\r\n\r\n", status: 400 },
      { name: "HTTP/1.1 without Host", text: `GET / HTTP/1.1\r\n${close}`, status: 400 },
      {
        name: "an invalid Host",
        text: `GET /v1/devices HTTP/1.1\r\nHost: a b/c\r\n${close}`,
        status: 400,
      },
      {
        name: "a path without a leading slash",
        text: `GET //[ HTTP/1.1\r\nHost: h\r\n${close}`,
        status: 404,
      },
      {
        name: "an absolute URL of another host",
        text: `GET http://evil.example/v1/devices HTTP/1.1\r\nHost: h\r\n${close}`,
        status: 401,
      },
      { name: "TRACE", text: `TRACE ${token} HTTP/1.1\r\nHost: h\r\n${close}`, status: 405 },
      { name: "an unknown method", text: `BREW ${token} HTTP/1.1\r\nHost: h\r\n${close}`, status: 400 },
      {
        name: "headers of 64 KiB",
        text: `GET / HTTP/1.1\r\nHost: h\r\nX: ${"x".repeat(65_536)}\r\n${close}`,
        status: 431,
      },
      {
        name: "a bad chunk",
        text: `POST ${token} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${FORM}\r\n${close}zz\r\n`,
        status: 400,
      },
      {
        name: "a negative length",
        text: `POST ${token} HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n${close}`,
        status: 400,
      },
    ];
    test.each(rows)("$name: $status", async ({ text, status }) => {
      const url = await listening(new PluginClient());
      expect(Number((await raw(url, text)).split(" ")[1])).toBe(status);
      expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
    });

    test("a body of one megabyte: 400 at the token endpoint", async () => {
      const plugin = new PluginClient();
      await listening(plugin);
      const init = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" } };
      const response = await fetch(plugin.tokenUrl(), { ...init, body: "x".repeat(1_000_000) });
      expect([response.status, await response.json()]).toEqual([
        400,
        expect.objectContaining({ error: "invalid_request" }),
      ]);
    });

    test("a sender that goes away in the middle of its body leaves the server standing", async () => {
      const plugin = new PluginClient();
      const url = await listening(plugin);
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      socket.write(`POST ${token} HTTP/1.1\r\nHost: h\r\n${FORM}\r\nContent-Length: 100\r\n\r\ngrant`);
      await once(socket, "connect");
      socket.destroy();
      expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
    });
  });

  describe("close", () => {
    test("ends idle keep-alive connections at once and frees the port", async () => {
      const plugin = new PluginClient();
      const { url, close } = await plugin.emulator.listen();
      const agent = new Agent({ keepAlive: true });
      const request = httpRequest(`${url}/v1/devices`, { agent }).end();
      const [response] = await once(request, "response");
      response.resume();
      await once(response, "end");
      const force = vi.spyOn(Server.prototype, "closeAllConnections");
      onTestFinished(() => force.mockRestore());
      await close();
      expect(force).not.toHaveBeenCalled();
      agent.destroy();
      const again = await plugin.emulator.listen({ port: Number(new URL(url).port) });
      await again.close();
    });

    test("ends a connection that never sent a request at once", async () => {
      const { url, close } = await new PluginClient().emulator.listen();
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      const ended = once(socket, "close");
      socket.on("error", () => {});
      await once(socket, "connect");
      // The server has accepted the silent connection before it answers on a later one.
      await fetch(`${url}/v1/devices`);
      const force = vi.spyOn(Server.prototype, "closeAllConnections");
      onTestFinished(() => force.mockRestore());
      await close();
      await ended;
      expect(force).not.toHaveBeenCalled();
    });

    test("ends a connection that never finishes its request", async () => {
      const plugin = new PluginClient();
      const { url, close } = await plugin.emulator.listen();
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write("POST /v1/auth/token HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n");
      const startedAt = performance.now();
      await close();
      await close();
      expect(performance.now() - startedAt).toBeLessThan(2000);
    });

    test("listening twice at once, or on a taken port, is refused typed", async () => {
      const plugin = new PluginClient();
      const url = await listening(plugin);
      await expect(plugin.emulator.listen()).rejects.toMatchObject({ code: "already_listening" });
      const other = new PluginClient().emulator;
      const taken = other.listen({ port: Number(new URL(url).port) });
      await expect(taken).rejects.toMatchObject({ name: "EmulatorError", code: "listen_failed" });
      await (await other.listen()).close();
    });
  });

  test("on every interface the URL is the loopback's", async () => {
    const url = await listening(new PluginClient(), { host: "0.0.0.0" });
    expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
  });
});

describe("the public URL", () => {
  const paths = [
    { name: "that is plain", path: "/site", spelled: "/site" },
    { name: "of more than one segment", path: "/a/b/", spelled: "/a/b" },
    { name: "that is not ASCII", path: "/café", spelled: "/caf%C3%A9" },
    { name: "with an escaped space", path: "/my%20app", spelled: "/my%20app" },
    { name: "with an escape that needs none", path: "/%7Euser", spelled: "/~user" },
    { name: "with an escaped slash", path: "/a%2Fb", spelled: "/a%2Fb" },
    { name: "with an escaped percent sign", path: "/100%25", spelled: "/100%25" },
    { name: "that looks like a parameter", path: "/:tenant", spelled: "/:tenant" },
    { name: "that looks like a wildcard", path: "/*", spelled: "/*" },
    { name: "that looks like an expression", path: "/:a{.+}", spelled: "/:a%7B.+%7D" },
  ];

  describe.each(paths)("under a path $name", ({ path, spelled }) => {
    test("tokens are had and used, and the pages are there", async () => {
      const plugin = new PluginClient({ publicUrl: `https://customer.example${path}` });
      const { url, close } = await plugin.emulator.listen();
      onTestFinished(close);
      expect(new URL(`${plugin.emulator.publicUrl}/`).origin).toBe("https://customer.example");
      const token = await plugin.accessToken();
      const base = new URL(url).origin + spelled;
      const headers = { authorization: `Bearer ${token}` };
      expect((await fetch(`${base}/api/v1/acme/devices`, { headers })).status).toBe(200);
      expect((await fetch(`${base}/_emulator`)).status).toBe(200);
      expect((await fetch(`${base}/host/acme`)).status).toBe(200);
    });

    test("what is not under it is not there", async () => {
      const emulator = createEmulator({ publicUrl: `https://customer.example${path}` });
      for (const other of ["", "/other", "/other/more", `${spelled}x`, `${spelled}/more`]) {
        const answers = [`${other}/v1/devices`, `${other}/_emulator`].map((at) => emulator.fetch(at));
        expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404]);
      }
    });

    test("a relative URL is relative to it", async () => {
      const emulator = createEmulator({ publicUrl: `https://customer.example${path}` });
      expect((await emulator.fetch("v1/devices")).status).toBe(401);
      expect(await emulator.fetch("devices").then(({ status }) => status)).toBe(404);
      expect(emulator.customerLog.last()).toMatchObject({ rule: "path.version" });
    });
  });
});
