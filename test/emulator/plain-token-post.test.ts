// A plain post to a token endpoint is answered without being routed: whatever is not quite that, is answered as well.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Fault } from "../../src/emulator/index.js";
import { collectGarbage } from "../support/wait.js";
import { passingCallers } from "./passing-callers.js";
import { PluginClient, REJECTED } from "./plugin-client.js";

const PATH = "/api/v1/acme/external-plugin/oauth/token";
const TYPED = "Content-Type: application/x-www-form-urlencoded";
const UNREADABLE = { status: 400, rule: "token-request.media-type" };
const GRANTED = { status: 200, rule: undefined };
const REFUSED_UNSEEN = { status: 400, rule: undefined };
const NOT_FOUND = { status: 404, rule: undefined };

interface Post {
  readonly name: string;
  readonly target?: string;
  readonly host?: string;
  readonly headers?: readonly string[];
  /** What is sent of the form. */
  readonly send?: (form: string) => string;
  readonly told: {
    readonly status: number;
    readonly rule?: string | undefined;
  };
}

const posts: Post[] = [
  { name: "as clients send it", told: GRANTED },
  { name: "with a query", target: `${PATH}?x=1`, told: GRANTED },
  { name: "with an empty query", target: `${PATH}?`, told: GRANTED },
  {
    name: "to a tenant that is written with an escape",
    target: PATH.replace("acme", "%61cme"),
    told: GRANTED,
  },
  { name: "to the absolute form of the target", target: `http://127.0.0.1${PATH}`, told: GRANTED },
  { name: "to another host's absolute form", target: `http://other.example${PATH}`, told: GRANTED },
  { name: "with another Host", host: "other.example:81", told: GRANTED },
  { name: "with a Host that is an address of IPv6", host: "[::1]", told: GRANTED },
  { name: "with a Host that is none", host: "h/x", told: REFUSED_UNSEEN },
  { name: "with a Host that is an address of five parts", host: "1.2.3.4.5", told: REFUSED_UNSEEN },
  { name: "with a Host that is no name in Punycode", host: "xn--a", told: REFUSED_UNSEEN },
  { name: "with a Host whose port is beyond 65535", host: "h:99999", told: REFUSED_UNSEEN },
  {
    name: "of more than 65536 bytes",
    send: (form) => `${form}&x=${"x".repeat(65_536)}`,
    told: { status: 400, rule: "token-request.body-size" },
  },
  { name: "over a dot segment", target: `/x/..${PATH}`, told: GRANTED },
  { name: "to a tenant that is a dot segment", target: PATH.replace("acme", ".."), told: NOT_FOUND },
  { name: "with a slash behind it", target: `${PATH}/`, told: NOT_FOUND },
  { name: "with two slashes before it", target: `/${PATH}`, told: NOT_FOUND },
  { name: "to the path in capitals", target: PATH.toUpperCase(), told: NOT_FOUND },
  {
    name: "with the Content-Type twice",
    headers: [TYPED, "Content-Type: application/json"],
    told: UNREADABLE,
  },
  { name: "with its header names in capitals", headers: [TYPED.toUpperCase()], told: GRANTED },
  { name: "without a Content-Type", headers: [], told: UNREADABLE },
  {
    name: "with an Authorization header",
    headers: [TYPED, "AUTHORIZATION: Basic eDp5"],
    told: { status: 400, rule: "token-request.one-authentication" },
  },
  {
    name: "with an empty Authorization header",
    headers: [TYPED, "Authorization:"],
    told: { status: 400, rule: "token-request.one-authentication" },
  },
  {
    name: "in chunks",
    headers: [TYPED, "Transfer-Encoding: chunked"],
    send: (form) => `${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`,
    told: GRANTED,
  },
  {
    name: "without a body",
    send: () => "",
    told: { status: 400, rule: "token-request.grant-type" },
  },
  { name: "in bytes that are no UTF-8", send: (form) => `${form}&x=\xff`, told: UNREADABLE },
];

/** While one waits for somebody else, no request is plain. */
const waiting: Fault = { name: "status", at: "before-token", status: 500, match: { tenantId: "nobody" } };
const ways = [
  { name: "plain", faults: [] },
  { name: "while a fault waits", faults: [waiting] },
];

describe.each(ways)("$name", ({ faults }) => {
  test.each(posts)("one $name", async ({ target = PATH, host = "h", headers = [TYPED], send, told }) => {
    const plugin = new PluginClient();
    for (const fault of faults) plugin.emulator.faults.add(fault);
    const connection = await open(plugin);
    const body = (send ?? String)(String(plugin.form()));
    const isChunked = headers.some((line) => line.startsWith("Transfer-Encoding"));
    const length = isChunked ? [] : [`Content-Length: ${body.length}`];
    const head = [`POST ${target} HTTP/1.1`, `Host: ${host}`, ...headers, ...length];
    connection.write(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1");
    const answer = await readAnswer(connection);
    expect({ status: answer.status, rule: plugin.emulator.journal.last()?.rule }).toEqual(told);
    if (told.rule !== undefined) expect(answer.body.error_description).toBe(REJECTED);
  });

  test("three on one connection are answered in their order, also while none is read", async () => {
    const plugin = new PluginClient({ rateLimit: { requests: 1, windowSeconds: 60 } });
    for (const fault of faults) plugin.emulator.faults.add(fault);
    const connection = await open(plugin);
    const post = () => {
      const body = String(plugin.form());
      const head = [`POST ${PATH} HTTP/1.1`, "Host: h", TYPED, `Content-Length: ${body.length}`];
      return `${head.join("\r\n")}\r\n\r\n${body}`;
    };
    connection.write(post() + post() + post());
    const statuses = [
      await readAnswer(connection),
      await readAnswer(connection),
      await readAnswer(connection),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([200, 429, 429]);
  });
});

test("one whose body breaks off is refused, and spends nothing", async () => {
  const plugin = new PluginClient();
  const connection = await open(plugin);
  const body = String(plugin.form());
  const head = [`POST ${PATH} HTTP/1.1`, "Host: h", TYPED, `Content-Length: ${body.length}`];
  connection.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, -1)}`);
  // Else the head may not have been read when the connection ends.
  await new Promise(setImmediate);
  connection.resetAndDestroy();
  const [entry] = await plugin.emulator.journal.waitFor({ endpoint: "token" });
  expect(entry).toMatchObject({ status: 400, rule: "token-request.media-type" });
  expect((await plugin.requestToken()).status).toBe(200);
});

test("one that waits for its body when the emulator is reset ends on what it began with", async () => {
  const plugin = new PluginClient();
  const connection = await open(plugin);
  const body = String(plugin.form());
  const head = [`POST ${PATH} HTTP/1.1`, "Host: h", TYPED, `Content-Length: ${body.length}`];
  connection.write(`${head.join("\r\n")}\r\nExpect: 100-continue\r\n\r\n`);
  // Node says so once the handler has the request.
  expect(await readHead(connection)).toContain("HTTP/1.1 100 Continue");
  plugin.emulator.reset();
  connection.write(body);
  expect((await readAnswer(connection)).status).toBe(200);
  expect(plugin.emulator.journal.entries()).toEqual([]);
});

const FORM = { "content-type": "application/x-www-form-urlencoded" };
test.each(passingCallers)(
  "in-process, one that waits for its body ends with the abort of $name",
  async ({ send }) => {
    const { emulator } = new PluginClient();
    const controller = new AbortController();
    const pipe = new TransformStream();
    const writer = pipe.writable.getWriter();
    const sent = { method: "POST", headers: FORM, body: pipe.readable, signal: controller.signal };
    const init = { ...sent, duplex: "half" } as RequestInit;
    const rejection = send(emulator, `${emulator.publicUrl}${PATH}`, init).catch((reason) => reason);
    // Past this the engine keeps no more of what was sent than what is in use.
    await new Promise(setImmediate);
    collectGarbage();
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    await writer.abort();
  },
);

async function open({ emulator }: PluginClient): Promise<Socket> {
  const { url, close } = await emulator.listen();
  onTestFinished(close);
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Up to and with the empty line; what came after it is left to be read. */
async function readHead(socket: Socket): Promise<string> {
  let received = "";
  while (!received.includes("\r\n\r\n")) {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) await once(socket, "readable");
    else received += chunk.toString("latin1");
  }
  const end = received.indexOf("\r\n\r\n") + 4;
  if (received.length > end) socket.unshift(Buffer.from(received.slice(end), "latin1"));
  return received.slice(0, end);
}

async function readAnswer(socket: Socket): Promise<{ status: number; body: Record<string, unknown> }> {
  const head = await readHead(socket);
  const length = Number(/content-length: *(\d+)/i.exec(head)?.[1]);
  let text = "";
  while (text.length < length) {
    const chunk: Buffer | null = socket.read(
      Math.min(length - text.length, socket.readableLength) || undefined,
    );
    if (chunk === null) await once(socket, "readable");
    else text += chunk.toString("latin1");
  }
  return {
    status: Number(head.split(" ")[1]),
    body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}
