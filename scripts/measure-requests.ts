// Prints the processor time of one anonymous request to the backend, by route and by the way it
// comes in: the least of several runs, in milliseconds. Over HTTP the time of the client in this
// process is included.
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, request as http1 } from "node:http";
import { connect, createServer as createServer2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { createBackend, toNodeHandler } from "../src/backend/index.js";
import { apiClient, memoryStore, userInterfacePlugin } from "../src/index.js";

const OWN = "https://planner.example";
const login = "__Host-bivariant-login-AAAAAAAA=";
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const backend = createBackend({
  deployments: [
    {
      tenantId: "acme",
      baseUrl: "https://service.example",
      hostOrigin: "https://host.example",
      launch: userInterfacePlugin({
        clientId: "planner",
        keyId: "key-1",
        privateKey: String(privateKey.export({ format: "pem", type: "pkcs8" })),
      }),
      login: apiClient({
        clientId: "portal",
        redirectUri: `${OWN}/auth/callback`,
        authorizationEndpoint: "https://service.example/authorize",
      }),
    },
  ],
  store: memoryStore(),
  session: { cookie: true },
  publicUrl: OWN,
  // The wait of a refusal is not processor time.
  clock: { now: Date.now, sleep: async () => {} },
  fetch: async () => Response.json({ error: "invalid_grant" }, { status: 400 }),
});

/** Some 60,000 bytes that a loop over spaces, cookies or characters would take long for. */
const SHAPES = ["usual", "spaces", "cookies", "one cookie many times"] as const;
const cookieOf = (shape: string, bytes: number) =>
  ({
    spaces: `${login}x${" ".repeat(bytes)}x`,
    cookies: Array.from(
      { length: bytes / 40 },
      (_, at) => `${login.replace("AAAAAAAA", `${at}`.padStart(8, "0"))}xxx`,
    ).join("; "),
    "one cookie many times": `${login}x; `.repeat(bytes / 36),
  })[shape] ?? `${login}x`;

const form = {
  code: "c",
  state: "s",
  tenantId: "acme",
  codeVerifier: "v".repeat(43),
  hostOrigin: "https://host.example",
};
const ROUTES = [
  { method: "GET", path: "/auth/me" },
  { method: "GET", path: "/auth/login" },
  { method: "GET", path: "/auth/callback?code=x&state=y" },
  { method: "POST", path: "/auth/session", body: "{}" },
  {
    method: "POST",
    path: "/auth/launch",
    body: JSON.stringify({ ...form, code: "c".repeat(60_000) }),
  },
  { method: "POST", path: "/auth/logout", body: "{}" },
];
type Route = { readonly method: string; readonly path: string; readonly body?: string };
type Send = (route: Route, headers: Record<string, string>) => Promise<unknown>;

const handler = toNodeHandler(backend);
// The client keeps its connection for longer than the usual 5 s, while other ways are measured.
const one = createServer({ keepAliveTimeout: 0 }, handler).listen(0, "127.0.0.1");
const two = createServer2(handler as never).listen(0, "127.0.0.1");
await Promise.all([once(one, "listening"), once(two, "listening")]);
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
const client = connect(`http://127.0.0.1:${portOf(two)}`);

/**
 * The largest cookie header that reaches the backend: Node's limit for HTTP/1.1 is 16 KiB of
 * headers.
 */
const WAYS: readonly { readonly name: string; readonly bytes: number; readonly send: Send }[] = [
  {
    name: "Request",
    bytes: 60_000,
    send: async ({ method, path, body }: Route, headers) =>
      (await backend(new Request(OWN + path, { method, headers, body: body ?? null }))).text(),
  },
  {
    name: "HTTP/1.1",
    bytes: 15_000,
    send: async ({ method, path, body }, headers) => {
      const sent = http1({ port: portOf(one), method, path, headers }).end(body);
      const [answer] = await once(sent, "response");
      await once(answer.resume(), "end");
    },
  },
  {
    name: "HTTP/2",
    bytes: 56_000,
    send: async ({ method, path, body }, headers) => {
      const stream = client.request({ ":method": method, ":path": path, ...headers });
      await once(stream.end(body).resume(), "close");
    },
  },
];

async function leastTime(run: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let runs = 0; runs < 25; runs++) {
    const start = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least / 1_000;
}

console.log(`| Route | Way | ${SHAPES.join(" | ")} |\n|${"---|".repeat(SHAPES.length + 2)}`);
for (const route of ROUTES)
  for (const { name, bytes, send } of WAYS) {
    const times: string[] = [];
    for (const shape of SHAPES) {
      const headers = {
        cookie: cookieOf(shape, bytes),
        origin: OWN,
        "content-type": "application/json",
      };
      times.push((await leastTime(() => send(route, headers))).toFixed(2));
    }
    console.log(
      `| ${route.method} ${route.path.replace(/\?.*/, "")} | ${name} | ${times.join(" | ")} |`,
    );
  }
client.close();
one.close();
two.close();
