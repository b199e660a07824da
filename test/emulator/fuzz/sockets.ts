// Sends mutated bytes in pieces and cut short. The server must answer below 500 or close, and go on serving.
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { World } from "../negative/world.js";

const TOGETHER = 20;
/** Real time without a byte that ends an exchange. It doubles with each further seed, for a busy machine. */
const SILENCE_MS = 50;
const LIMIT_MS = 20_000;

const HEADERS = [
  ...["application/json", "application/x-www-form-urlencoded; charset=utf-16"].map(
    (type) => `Content-Type: ${type}`,
  ),
  ...["0", "5", "99999999", "-1"].map((length) => `Content-Length: ${length}`),
  ...["chunked", "identity"].map((encoding) => `Transfer-Encoding: ${encoding}`),
  ...["other.example", "[::1", ""].map((host) => `Host: ${host}`),
  ...[
    "Expect: 100-continue",
    "Authorization: Basic eDp5",
    "Upgrade: websocket",
    "Connection: keep-alive, upgrade",
  ],
  `X-Long: ${"x".repeat(20_000)}`,
];
const LINES = [
  ...["GET /v1/devices HTTP/1.1", "OPTIONS * HTTP/1.1", "CONNECT h:1 HTTP/1.1", "PRI * HTTP/2.0"],
  ...[
    "POST /v1/auth/token HTTP/1.0",
    "POST //v1/auth/token HTTP/1.1",
    "POST http://h/v1/auth/token HTTP/1.1",
  ],
  "POST /api/v1/../external-plugin/oauth/token HTTP/1.1",
  "POST /api/v1/%61cme/external-plugin/oauth/token HTTP/1.1",
];

/** `at` is a fraction of the request's length. */
type Change = { at: number; count: number; put: Uint8Array } | { header: string } | { line: string };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ at: share, count: fc.nat({ max: 40 }), put: fc.uint8Array({ maxLength: 8 }) }),
  },
  { weight: 1, arbitrary: fc.record({ header: fc.constantFrom(...HEADERS) }) },
  { weight: 1, arbitrary: fc.record({ line: fc.constantFrom(...LINES) }) },
);
const sending = fc.record({
  which: fc.nat({ max: 3 }),
  changes: fc.array(change, { maxLength: 3 }),
  /** Where the request is cut into pieces. */
  cuts: fc.array(share, { maxLength: 3 }),
  /** Whether the request is sent twice on one connection, without waiting. */
  isTwice: fc.boolean(),
  isReset: fc.boolean(),
});

/** Returns the statuses of all answers. Tries up to ten seeds, because one may miss an `expected` status. */
export async function fuzzSockets(requests: number, expected: readonly number[]): Promise<Set<number>> {
  const world = new World();
  const { url, close } = await world.emulator.listen();
  const statuses = new Set<number>();
  let silenceMs = SILENCE_MS;
  const together = fc.array(sending, { minLength: TOGETHER, maxLength: TOGETHER });
  const property = fc.asyncProperty(together, async (all) => {
    const valid = validRequests(world);
    const sent = all.map(async ({ which, changes, cuts, isTwice, isReset }) => {
      const once = changes.reduce(changed, valid[which] ?? Buffer.of());
      const bytes = isTwice ? Buffer.concat([once, once]) : once;
      const ends = [...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].sort((a, b) => a - b);
      const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      const received = await exchange(Number(new URL(url).port), pieces, isReset, silenceMs);
      for (const [, status] of received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) statuses.add(Number(status));
    });
    await Promise.all(sent);
    const broken = [...statuses].filter((status) => status >= 500);
    if (broken.length > 0) throw new Error(`answered ${broken}`);
  });
  const first = Number(process.env.FUZZ_SEED ?? 20_260_101);
  try {
    for (let seed = first; seed < first + 10; seed += 1, silenceMs *= 2) {
      await fc.assert(property, { seed, numRuns: requests / TOGETHER });
      if (expected.every((status) => statuses.has(status))) break;
    }
    const { status } = await fetch(`${url}/v1/devices`);
    if (status !== 401) throw new Error(`afterwards a call without a token is answered ${status}`);
  } finally {
    await close();
  }
  return statuses;
}

function validRequests(world: World): Buffer[] {
  const form = String(world.form());
  const code = JSON.stringify({ code: world.loginCode().code, client_id: "portal" });
  return [
    raw("POST /api/v1/acme/external-plugin/oauth/token", "application/x-www-form-urlencoded", form),
    raw("POST /v1/auth/token", "application/json", code),
    raw("GET /v1/devices", "text/plain", ""),
    raw("PUT /v1/auth/token", "application/json", "{}"),
  ];
}

function raw(target: string, type: string, body: string): Buffer {
  const length = body === "" ? "" : `Content-Length: ${body.length}\r\n`;
  return Buffer.from(`${target} HTTP/1.1\r\nHost: h\r\nContent-Type: ${type}\r\n${length}\r\n${body}`);
}

function changed(request: Buffer, change: Change): Buffer {
  const end = Math.max(0, request.indexOf("\r\n"));
  if ("line" in change) return Buffer.concat([Buffer.from(change.line), request.subarray(end)]);
  const isHeader = "header" in change;
  const start = isHeader ? end : Math.floor(change.at * request.length);
  const put = isHeader ? Buffer.from(`\r\n${change.header}`) : change.put;
  const rest = request.subarray(start + (isHeader ? 0 : change.count));
  return Buffer.concat([request.subarray(0, start), put, rest]);
}

/** Resolves with all that came back until the server closed or was silent. */
async function exchange(port: number, pieces: readonly Buffer[], isReset: boolean, silenceMs: number) {
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true);
  let received = "";
  let silence: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => socket.destroy(), silenceMs);
  };
  const limit = setTimeout(() => socket.destroy(new Error("neither answered nor closed")), LIMIT_MS);
  // The server may close while a piece is being written. Such an error has a code.
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
  for (const piece of pieces) {
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
