// The recipes of the page for Express, Fastify, NestJS and Next, as printed, with the package as it
// is packed.
import { once } from "node:events";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bundleEntries } from "../../scripts/build.js";
import type { Backend, toNodeHandler } from "../../src/backend/index.js";
import { blockWith, makeCacheFolder, root } from "../readme/pages.js";
import { pkcs8, rsaKey } from "../support/keys.js";
import { servingOn } from "../support/recording-server.js";
import { bearer, HOST, type Rig, rig, type SessionAnswer } from "./rig.js";
import { refusalOf } from "./test-browser.js";

const folder = makeCacheFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Packed = typeof import("../../src/backend/index.js") & typeof import("../../src/index.js");
let packed: Packed;

/** Runs a block of the page as a module that finds the packed package. */
async function importBlock<Module>(name: string, text: string): Promise<Module> {
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } };
  const { code } = await transform(blockWith("ts", text), {
    loader: "ts",
    format: "esm",
    tsconfigRaw,
  });
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, code);
  return import(pathToFileURL(file).href);
}

beforeAll(async () => {
  const own = join(folder, "node_modules/bivariant");
  mkdirSync(own, { recursive: true });
  cpSync(join(root, "package.json"), join(own, "package.json"));
  await bundleEntries(root, join(own, "dist"));
  const all = 'export * from "bivariant"; export * from "bivariant/backend";';
  writeFileSync(join(folder, "packed.mjs"), all);
  packed = await import(pathToFileURL(join(folder, "packed.mjs")).href);
}, 60_000);

/** A backend of the packed package in front of the emulated deployment. */
function packedBackend(): { backend: Backend; parts: Rig } {
  const parts = rig();
  const { createBackend, userInterfacePlugin } = packed;
  const privateKey = pkcs8(rsaKey());
  const launch = userInterfacePlugin({ clientId: "planner", privateKey, keyId: "key-1" });
  const deployments = [
    { tenantId: "acme", baseUrl: parts.emulator.publicUrl, hostOrigin: HOST, launch },
  ];
  const { emulator, clock } = parts;
  const backend = createBackend({ deployments, fetch: emulator.fetch, clock, onError: () => {} });
  return { backend, parts };
}

interface Served {
  readonly url: string;
  readonly close: () => Promise<unknown>;
}

/**
 * A server of Next's shape: a handler for each method gets a request and a context with `params`.
 */
async function serveLikeNext(backend: Backend): Promise<Served> {
  type Handle = (request: Request, context: { params: Promise<object> }) => Promise<Response>;
  const { authRoutes, devicesRoute } = await importBlock<{
    authRoutes: (backend: Backend) => Readonly<Record<string, Handle>>;
    devicesRoute: (backend: Backend) => Handle;
  }>("next", "app/auth/[...route]/route.ts");
  const [auth, devices] = [authRoutes(backend), devicesRoute(backend)];
  const toHandler: typeof toNodeHandler = packed.toNodeHandler;
  const server = createServer(
    toHandler((request) => {
      const isAuth = new URL(request.url).pathname.startsWith("/auth/");
      const handle = isAuth ? auth[request.method] : devices;
      if (handle === undefined) return new Response(null, { status: 405 });
      return handle(request, { params: Promise.resolve({}) });
    }),
  );
  const port = await servingOn(server);
  return { url: `http://127.0.0.1:${port}`, close: async () => {} };
}

const frameworks: { name: string; serve: (backend: Backend) => Promise<Served> }[] = [
  {
    name: "Fastify",
    serve: async (backend) => {
      const { serveWithFastify } = await importBlock<{
        serveWithFastify: (backend: Backend) => import("fastify").FastifyInstance;
      }>("fastify", "serveWithFastify");
      const app = serveWithFastify(backend);
      return { url: await app.listen({ port: 0, host: "127.0.0.1" }), close: () => app.close() };
    },
  },
  {
    name: "NestJS",
    serve: async (backend) => {
      const { serveWithNest } = await importBlock<{
        serveWithNest: (backend: Backend) => Promise<import("@nestjs/common").INestApplication>;
      }>("nest", "serveWithNest");
      const app = await serveWithNest(backend);
      await app.listen(0, "127.0.0.1");
      return { url: await app.getUrl(), close: () => app.close() };
    },
  },
  {
    // NestJS brings it.
    name: "Express",
    serve: async (backend) => {
      const { serveWithExpress } = await importBlock<{
        serveWithExpress: (backend: Backend, port: number) => import("node:http").Server;
      }>("express", "serveWithExpress");
      const server = serveWithExpress(backend, 0);
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      return { url: `http://127.0.0.1:${port}`, close: async () => void server.close() };
    },
  },
  { name: "a route handler of Next's shape", serve: serveLikeNext },
];

describe.each(frameworks)("with $name", ({ serve }) => {
  test("a launch opens a session, which lists the devices and logs out, and errors have their codes", async () => {
    const { backend, parts } = packedBackend();
    const { url, close } = await serve(backend);
    onTestFinished(async () => void (await close()));
    const headers = { "content-type": "application/json", origin: url };
    const post = (path: string, body: unknown, more: Record<string, string> = {}) =>
      fetch(url + path, {
        method: "POST",
        headers: { ...headers, ...more },
        body: JSON.stringify(body),
      });

    expect(await refusalOf(fetch(`${url}/api/devices`))).toBe("401 session_missing");
    const invalid = post("/auth/launch", { code: "made up" });
    expect(await refusalOf(invalid)).toBe("400 request_invalid");
    const launched = await post("/auth/launch", parts.launchBody());
    const { session, operator } = (await launched.json()) as SessionAnswer;
    expect([launched.status, operator?.userId]).toEqual([200, "ada"]);
    const devices = await fetch(`${url}/api/devices`, { headers: bearer(session) });
    expect(await devices.json()).toHaveLength(3);
    expect((await post("/auth/logout", {}, bearer(session))).status).toBe(204);
    expect((await fetch(`${url}/auth/me`, { headers: bearer(session) })).status).toBe(401);
  });
});

test("a body that Fastify's parser has read, and that was not handed over, is reported with what to do", async () => {
  const { fastify } = await import("fastify");
  const reports: unknown[] = [];
  const parts = rig({ onError: (error) => void reports.push(error) });
  const app = fastify();
  onTestFinished(async () => void (await app.close()));
  app.all("/auth/*", (request, reply) => {
    reply.hijack();
    (packed.toNodeHandler as typeof toNodeHandler)(parts.backend)(request.raw, reply.raw);
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const headers = { "content-type": "application/json", origin: url };
  const answer = fetch(`${url}/auth/launch`, { method: "POST", headers, body: '{"code":"c"}' });
  expect(await refusalOf(answer)).toBe("500 backend_failed");
  expect(String(reports)).toContain("{ body: request.body }");
});
