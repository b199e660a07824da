// Mutated bytes on a socket, in pieces and cut short: the server answers below 500 or closes, and goes on serving.
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { World } from "./world.js";

const REQUESTS = 5000;
const TOGETHER = 20;
/** Of real time without a byte: what the server still waits for does not come. */
const SILENCE_MS = 50;
/** Of real time; far above what a busy machine delays. */
const LIMIT_MS = 20_000;

const HEADERS = [
  "Content-Type: application/json",
  "Content-Type: application/x-www-form-urlencoded; charset=utf-16",
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: 99999999",
  "Content-Length: -1",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: identity",
  "Expect: 100-continue",
  "Host: other.example",
  "Host: [::1",
  "Host:",
  "Authorization: Basic eDp5",
  "Upgrade: websocket",
  "Connection: keep-alive, upgrade",
  `X-Long: ${"x".repeat(20_000)}`,
];
const LINES = [
  "GET /v1/devices HTTP/1.1",
  "POST /v1/auth/token HTTP/1.0",
  "POST /base/v1/auth/token?x HTTP/1.1",
  "POST //base/v1/auth/token HTTP/1.1",
  "POST http://h/base/v1/auth/token HTTP/1.1",
  "POST /base/api/v1/../external-plugin/oauth/token HTTP/1.1",
  "POST /base/api/v1/%61cme/external-plugin/oauth/token HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "CONNECT h:1 HTTP/1.1",
  "PRI * HTTP/2.0",
];

type Change = (request: Buffer) => Buffer;

const place = fc.double({ min: 0, max: 1, noNaN: true });
const bytes = fc.uint8Array({ minLength: 1, maxLength: 8 });
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, bytes).map(
    ([at, added]): Change =>
      (request) =>
        spliced(request, at, 0, added),
  ),
  fc.tuple(place, bytes).map(
    ([at, put]): Change =>
      (request) =>
        spliced(request, at, put.length, put),
  ),
  fc.tuple(place, fc.nat({ max: 40 })).map(
    ([at, count]): Change =>
      (request) =>
        spliced(request, at, count),
  ),
  fc.constantFrom(...HEADERS).map(
    (header): Change =>
      (request) =>
        withHeader(request, header),
  ),
  fc.constantFrom(...LINES).map(
    (line): Change =>
      (request) =>
        withLine(request, line),
  ),
);

interface Sending {
  readonly which: number;
  readonly changes: readonly Change[];
  /** Where it is cut into pieces. */
  readonly cuts: readonly number[];
  /** Sent twice on one connection, without waiting. */
  readonly isTwice: boolean;
  readonly isReset: boolean;
}

const sending: fc.Arbitrary<Sending> = fc.record({
  which: fc.nat({ max: 3 }),
  changes: fc.array(change, { maxLength: 3 }),
  cuts: fc.array(place, { maxLength: 3 }),
  isTwice: fc.boolean(),
  isReset: fc.boolean(),
});

test(`${REQUESTS} of them`, { timeout: 300_000 }, async () => {
  const world = new World();
  world.begin();
  const { url, close } = await world.emulator.listen();
  onTestFinished(close);
  const port = Number(new URL(url).port);
  const statuses = new Set<number>();
  const sendOne = async ({ which, changes, cuts, isTwice, isReset }: Sending): Promise<void> => {
    const request = changes.reduce((changed, apply) => apply(changed), requests(world)[which] ?? Buffer.of());
    const sent = isTwice ? Buffer.concat([request, request]) : request;
    const received = await exchange(port, pieces(sent, cuts), isReset);
    for (const [, status] of received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) {
      expect(Number(status)).toBeLessThan(500);
      statuses.add(Number(status));
    }
  };
  const together = fc.array(sending, { minLength: TOGETHER, maxLength: TOGETHER });
  const property = fc.asyncProperty(together, async (all) => {
    await Promise.all(all.map(sendOne));
  });
  const seed = Number(process.env.FUZZ_SEED ?? 20_260_101);
  await fc.assert(property, { seed, numRuns: REQUESTS / TOGETHER });
  // Else nothing got past the parser, or everything did.
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 404, 405]));
  expect((await fetch(`${url}/v1/devices`)).status).toBe(401);
});

/** Valid ones, each a moment's own. */
function requests(world: World): Buffer[] {
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: "reporter",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: world.sign(world.assertion("reporter")),
  });
  const code = { code: world.loginCode("portal"), client_id: "portal" };
  return [
    raw(
      "POST",
      "/base/api/v1/acme/external-plugin/oauth/token",
      "application/x-www-form-urlencoded",
      String(form),
    ),
    raw("POST", "/base/v1/auth/token", "application/json", JSON.stringify(code)),
    raw("GET", "/base/v1/devices", "text/plain", ""),
    raw("PUT", "/base/v1/auth/token", "application/json", "{}"),
  ];
}

function raw(method: string, path: string, type: string, body: string): Buffer {
  const length = body.length === 0 ? "" : `Content-Length: ${body.length}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: h\r\nContent-Type: ${type}\r\n${length}\r\n${body}`,
  );
}

function spliced(request: Buffer, at: number, count: number, added: Uint8Array = new Uint8Array()): Buffer {
  const start = Math.floor(at * request.length);
  return Buffer.concat([request.subarray(0, start), added, request.subarray(start + count)]);
}

function withHeader(request: Buffer, header: string): Buffer {
  const end = request.indexOf("\r\n");
  return end < 0 ? request : spliced(request, end / request.length, 0, Buffer.from(`\r\n${header}`));
}

function withLine(request: Buffer, line: string): Buffer {
  return Buffer.concat([Buffer.from(line), request.subarray(Math.max(0, request.indexOf("\r\n")))]);
}

function pieces(request: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * request.length)), request.length].sort(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, index) => request.subarray(places[index], end));
}

/** What came back until the server closed, or was silent. */
async function exchange(port: number, sent: readonly Buffer[], isReset: boolean): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true);
  let received = "";
  let silence: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => socket.destroy(), SILENCE_MS);
  };
  const limit = setTimeout(() => socket.destroy(new Error("neither answered nor closed")), LIMIT_MS);
  // The server may close while something is still being written.
  const failed = new Promise<never>((_, reject) => {
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === undefined) reject(error);
    });
  });
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    wait();
  });
  const closed = once(socket, "close").catch(() => {});
  await once(socket, "connect");
  for (const piece of sent) {
    if (piece.length > 0) socket.write(piece);
    await new Promise(setImmediate);
  }
  if (isReset) socket.resetAndDestroy();
  else wait();
  await Promise.race([closed, failed]);
  clearTimeout(silence);
  clearTimeout(limit);
  return received;
}
