// Serving over HTTP: the public URL, malformed requests, closing, and lazy loading.
import { once } from "node:events";
import { Agent, request as httpRequest, Server } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { accessTokenIn, PluginClient, REJECTED, service } from "./deployment.js";
import { newSigningKey } from "./signing-key.js";

const TOKEN = "/api/v1/acme/external-plugin/oauth/token";
const FORM = "Content-Type: application/x-www-form-urlencoded";

async function listening(plugin: PluginClient, options: { host?: string } = {}): Promise<string> {
  const { url, close } = await plugin.emulator.listen(options);
  onTestFinished(close);
  return url;
}

async function connected(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Unlike `once`, this does not reject when the connection was reset. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

/** Writes bytes to the server and reads until it closes the connection. */
async function raw(url: string, text: string): Promise<string> {
  const socket = await connected(url);
  socket.setEncoding("latin1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(text);
  await closed(socket);
  return answer;
}

function postRaw(url: string, form: URLSearchParams, headers: readonly string[]): Promise<string> {
  const head = [`POST ${TOKEN} HTTP/1.1`, ...headers, FORM, "Connection: close"].join("\r\n");
  const body = String(form);
  return raw(url, `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

/** Closes the server, and checks that it does not need to end connections by force. */
async function closesAtOnce(close: () => Promise<void>): Promise<void> {
  const force = vi.spyOn(Server.prototype, "closeAllConnections");
  onTestFinished(() => force.mockRestore());
  await close();
  expect(force).not.toHaveBeenCalled();
}

describe("the public URL", () => {
  const forwarded = ["Host: h", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: http"];
  test.each([
    { name: "Host", headers: ["Host: evil.example"] },
    { name: "X-Forwarded-Host", headers: forwarded },
    { name: "Forwarded", headers: ["Host: h", "Forwarded: host=evil.example;proto=http"] },
  ])("is required as aud, whatever $name says", async ({ headers }) => {
    const plugin = new PluginClient();
    const url = await listening(plugin);
    const post = (form: URLSearchParams) => postRaw(url, form, headers);
    const refused = await post(plugin.form({ claims: { aud: `http://evil.example${TOKEN}` } }));
    expect(refused).toMatch(/^HTTP\/1\.1 400 .*"error":"invalid_client"/s);
    expect(plugin.lastRule()).toBe("assertion.audience");
    expect(await post(plugin.form())).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("without the option is the URL of the server while it listens", async () => {
    const { emulator } = new PluginClient();
    const { url, close } = await emulator.listen();
    expect([emulator.publicUrl, emulator.url]).toEqual([url, url]);
    await close();
    expect([emulator.publicUrl, emulator.url]).toEqual(["http://emulator.localhost", undefined]);
  });

  test("is the value of the option, and the URL of the server has the same path", async () => {
    const plugin = new PluginClient({ publicUrl: "https://customer.example/site" });
    const url = await listening(plugin);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/site$/);
    const post = (aud: string) =>
      fetch(url + TOKEN, { method: "POST", body: plugin.form({ claims: { aud } }) });
    expect((await post(url + TOKEN)).status).toBe(400);
    expect((await post(`https://customer.example/site${TOKEN}`)).status).toBe(200);
  });

  test.each([
    { path: "/a/b/", spelled: "/a/b" },
    { path: "/%7Euser", spelled: "/~user" },
    { path: "/a%2Fb", spelled: "/a%2Fb" },
    { path: "/:a{.+}", spelled: "/:a%7B.+%7D" },
  ])("may have the path $path, and everything is under it", async ({ path, spelled }) => {
    const plugin = new PluginClient({ publicUrl: `https://customer.example${path}` });
    const { emulator } = plugin;
    const base = new URL(await listening(plugin)).origin + spelled;
    for (const page of ["/_emulator", "/host/acme"])
      expect((await fetch(`${base}${page}`)).status).toBe(200);
    expect((await fetch(`${base}/v1/devices`)).status).toBe(401);
    for (const other of ["", "/other", `${spelled}x`, `${spelled}/more`])
      for (const at of [`${other}/v1/devices`, `${other}/_emulator`])
        expect((await emulator.fetch(at)).status).toBe(404);
    expect((await emulator.fetch("v1/devices")).status).toBe(401);
    expect((await emulator.fetch("devices")).status).toBe(404);
    expect(plugin.lastRule()).toBe("path.version");
  });
});

test("with the option refusedPluginError a missing plugin, a wrong key and a disabled plugin are answered alike byte for byte", async () => {
  const plugin = new PluginClient({ refusedPluginError: "invalid_client" });
  const disabled = { ...service, clientId: "off", tenantId: "acme", enabled: false };
  plugin.emulator.registerPlugin(disabled);
  const url = await listening(plugin);
  const answers: string[] = [];
  const wrongKey = { key: newSigningKey("key-1") };
  for (const changed of [{ clientId: "unknown" }, wrongKey, { clientId: "off" }])
    answers.push(await postRaw(url, plugin.form(changed), ["Host: h"]));
  expect(new Set(answers).size).toBe(1);
  const body = `{"error":"invalid_client","error_description":"${REJECTED}"}`;
  const head = `^HTTP/1.1 400 .*content-length: ${body.length}`;
  expect(answers[0]).toMatch(new RegExp(`${head}\r\n.*${body}$`, "is"));
});

test("a 403 has no content on the wire, and Date is the emulator's time", async () => {
  const plugin = new PluginClient({}, { devices: ["device-1"] });
  const url = await listening(plugin);
  const response = await fetch(plugin.tokenUrl(), { method: "POST", body: plugin.form() });
  expect(response.headers.get("date")).toBe("Thu, 01 Jan 2026 12:00:00 GMT");
  const lines = ["GET /api/v1/acme/devices/device-2 HTTP/1.1", "Host: h", "Connection: close"];
  const authorization = `Authorization: Bearer ${await accessTokenIn(response)}`;
  const answer = await raw(url, `${[...lines, authorization].join("\r\n")}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
  expect(answer).toMatch(/\r\ncontent-length: 0\r\n/i);
  expect(answer).not.toMatch(/content-type/i);
  expect(answer).toMatch(/\r\n\r\n$/);
});

describe("a malformed request", () => {
  const close = "Connection: close\r\n\r\n";
  const chunked = `POST ${TOKEN} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${FORM}\r\n`;
  const get = (url: string, more = "") => `GET ${url} HTTP/1.1\r\nHost: h\r\n${more}${close}`;
  const rows: [name: string, text: string, status: number][] = [
    ["with a bad Host", `GET /v1/devices HTTP/1.1\r\nHost: a b/c\r\n${close}`, 400],
    ["with a bad path", get("//["), 404],
    ["with the URL of another host", get("http://evil.example/v1/devices"), 401],
    ["with TRACE", `TRACE ${TOKEN} HTTP/1.1\r\nHost: h\r\n${close}`, 405],
    ["with headers of 64 KiB", get("/", `X: ${"x".repeat(65_536)}\r\n`), 431],
    ["with a bad chunk", `${chunked}${close}zz\r\n`, 400],
  ];
  test.each(rows)("%s is answered, and the server goes on serving", async (_, text, status) => {
    const url = await listening(new PluginClient());
    expect(Number((await raw(url, text)).split(" ")[1])).toBe(status);
    expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
  });

  test("that breaks off in its body leaves the server running", async () => {
    const url = await listening(new PluginClient());
    const socket = await connected(url);
    socket.write(
      `POST ${TOKEN} HTTP/1.1\r\nHost: h\r\n${FORM}\r\nContent-Length: 100\r\n\r\ngrant`,
    );
    socket.destroy();
    expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
  });
});

describe("a body that is too large", () => {
  const mebibyte = "x".repeat(1_048_576);
  const chunk = `100000\r\n${mebibyte}\r\n`;
  const chunked = { framing: "Transfer-Encoding: chunked", part: chunk, end: "0\r\n\r\n" };
  const measured = { framing: "Content-Length: 8388608", part: mebibyte, end: "" };
  const ofA = { variant: "A", path: TOKEN, status: 400 };
  const ofB = { variant: "B", path: "/v1/auth/token", status: 413 };
  test.each([
    { ...ofA, ...chunked },
    { ...ofB, ...chunked },
    { ...ofB, ...measured },
  ])(
    "for a token of Variant $variant is refused while it is sent, and the client may send all of it: $framing",
    async ({ variant, path, status, framing, part, end }) => {
      const url = await listening(new PluginClient());
      const socket = await connected(url);
      const faults: unknown[] = [];
      socket.on("error", (error) => faults.push(error));
      socket.setEncoding("latin1");
      const type = variant === "A" ? FORM : "Content-Type: application/json";
      socket.write(`POST ${path} HTTP/1.1\r\nHost: h\r\n${type}\r\n${framing}\r\n\r\n`);
      socket.write(part);
      const [answer] = await once(socket, "data");
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*\r\nConnection: close\r\n`, "is"));
      for (let sent = 1; sent < 8; sent += 1) socket.write(part);
      socket.write(end);
      const [wasReset] = await once(socket, "close");
      expect([wasReset, faults]).toEqual([false, []]);
    },
  );

  test("ends the connection when the client gives up after the refusal", async () => {
    const { url, close } = await new PluginClient().emulator.listen();
    const socket = await connected(url);
    socket.write(
      `POST /v1/auth/token HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    );
    await once(socket, "data");
    socket.destroy();
    await closesAtOnce(close);
  });
});

describe("close", () => {
  test("ends idle keep-alive connections at once and frees the port", async () => {
    const { emulator } = new PluginClient();
    const { url, close } = await emulator.listen();
    const agent = new Agent({ keepAlive: true });
    const [response] = await once(httpRequest(`${url}/v1/devices`, { agent }).end(), "response");
    response.resume();
    await once(response, "end");
    await closesAtOnce(close);
    agent.destroy();
    await (await emulator.listen({ port: Number(new URL(url).port) })).close();
  });

  test("at once ends a connection that never sent a request", async () => {
    const { url, close } = await new PluginClient().emulator.listen();
    const ended = closed(await connected(url));
    // The server has accepted the silent connection before it answers on a later one.
    await fetch(`${url}/v1/devices`);
    await closesAtOnce(close);
    await ended;
  });

  test("ends a connection that never finishes its request, and may be called twice", async () => {
    const { url, close } = await new PluginClient().emulator.listen();
    const socket = await connected(url);
    const ended = closed(socket);
    socket.write("POST /v1/auth/token HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n");
    await close();
    await close();
    await ended;
  });
});

describe("listen", () => {
  test("is refused while listening, and on a port that is taken", async () => {
    const plugin = new PluginClient();
    const port = Number(new URL(await listening(plugin)).port);
    await expect(plugin.emulator.listen()).rejects.toMatchObject({ code: "already_listening" });
    const other = new PluginClient().emulator;
    const refused = { name: "EmulatorError", code: "listen_failed" };
    await expect(other.listen({ port })).rejects.toMatchObject(refused);
    await expect(other.listen({ port })).rejects.toThrow("Pass another port");
    await (await other.listen()).close();
  });

  test("on an address that is not of this machine says to pass one", async () => {
    // An address for documentation (RFC 5737).
    const refused = new PluginClient().emulator.listen({ host: "192.0.2.1" });
    await expect(refused).rejects.toThrow(
      "192.0.2.1:0. Pass an address of this machine, such as 127.0.0.1.",
    );
  });

  test("on every interface returns the loopback URL", async () => {
    const url = await listening(new PluginClient(), { host: "0.0.0.0" });
    expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
  });
});
