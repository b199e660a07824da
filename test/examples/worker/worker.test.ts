// The recipe for workers in src/client/workers-and-shutdown.md, run in workerd, the runtime of
// Cloudflare Workers, against an emulator.
import { build } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import { entriesFromSources } from "../../../scripts/build.js";
import { createEmulator } from "../../../src/emulator/index.js";
import { blockWith, root } from "../../readme/pages.js";

const minuteMs = 60_000;
const runtime = { modules: true, compatibilityDate: "2026-04-01" } as const;
/** Before 2025-05-05 workers have neither WeakRef nor FinalizationRegistry. */
const compatibilityDates = [runtime.compatibilityDate, "2024-01-01"];

/**
 * Loads miniflare and starts an empty worker. workerd is a program that there is for some systems
 * only.
 */
async function startMiniflare(): Promise<typeof import("miniflare")> {
  const loaded = await import("miniflare");
  const miniflare = new loaded.Miniflare({ ...runtime, script: "export default {}" });
  await miniflare.ready.finally(() => miniflare.dispose());
  return loaded;
}

const loaded = await startMiniflare().catch((error: unknown) => {
  console.warn(`skipped: the recipe for workers needs workerd, which does not start. ${error}`);
});

/**
 * Around the recipe: a header moves its clock, the answer has the last bearer that it sent, and a
 * request can be answered before the recipe has answered it.
 */
const ENTRY = `
import worker from "./worker.js";
const { now } = Date;
const { fetch } = globalThis;
let offsetMs = 0;
let bearer = "";
let isReleased = false;
Date.now = () => now() + offsetMs;
globalThis.fetch = (url, init) => {
  bearer = new Headers(init?.headers).get("authorization") ?? bearer;
  return fetch(url, init);
};
export default { async fetch(request, env, context) {
  const { pathname } = new URL(request.url);
  if (pathname === "/release") isReleased = true;
  offsetMs = Number(request.headers.get("offset-ms"));
  const answer = worker.fetch(request, env, context);
  if (pathname !== "/until-released") return new Response((await answer).ok && bearer);
  while (!isReleased) await scheduler.wait(5);
  return new Response("answered early");
} };`;

async function bundledRecipe(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: blockWith("ts", "cloudflare:workers"), loader: "ts", resolveDir: root },
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:workers"],
    plugins: [entriesFromSources(root)],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

/** The recipe in workerd, and the deployment that it calls. */
async function deploy(compatibilityDate: string = runtime.compatibilityDate) {
  const plugin = { tenantId: "acme", clientId: "reports" };
  const plugins = [{ ...plugin, type: "service" as const, scopes: ["devices:read"] }];
  const emulator = createEmulator({ variants: ["A"], seed: { plugins } });
  const { url, close } = await emulator.listen();
  if (loaded === undefined) throw new Error("workerd does not start");
  const miniflare = new loaded.Miniflare({
    ...runtime,
    compatibilityDate,
    modules: [
      { type: "ESModule", path: "entry.js", contents: ENTRY },
      { type: "ESModule", path: "worker.js", contents: await bundledRecipe() },
    ],
    bindings: {
      TENANTS: { acme: { baseUrl: url, clientId: "reports" } },
      PRIVATE_KEY: emulator.testKey(plugin),
    },
  });
  onTestFinished(async () => {
    await miniflare.dispose();
    await close();
  });
  const started = emulator.clock.now();
  /**
   * Sends a request, so many minutes after the start. Returns the bearer of a call that succeeded.
   */
  const send = async (path: string, minutes = 0, tenant = "acme") => {
    emulator.clock.set(started + minutes * minuteMs);
    const headers = { "offset-ms": String(minutes * minuteMs) };
    const response = await miniflare.dispatchFetch(
      `https://worker.example${path}?tenant=${tenant}`,
      { headers },
    );
    return response.text();
  };
  return { emulator, send };
}

describe.skipIf(loaded === undefined)("a worker with one connector in each isolate", () => {
  const paths = Array.from({ length: 12 }, (_, index) => `/${index}`);

  test("loads as a single module too, whose imports miniflare follows before it starts", async () => {
    if (loaded === undefined) throw new Error("workerd does not start");
    const miniflare = new loaded.Miniflare({ ...runtime, script: await bundledRecipe() });
    onTestFinished(() => miniflare.dispose());
    await expect(miniflare.ready).resolves.toBeInstanceOf(URL);
  });

  test.each(compatibilityDates)(
    "answers all requests that arrive before its first token, and then holds one, as of %s",
    async (date) => {
      const { emulator, send } = await deploy(date);
      for (const bearer of await Promise.all(paths.map((path) => send(path))))
        expect(bearer).toMatch(/^Bearer /);
      const { length } = emulator.journal.tokenRequests();
      expect(length).toBeLessThanOrEqual(paths.length);
      const bearer = await send("/");
      expect(await Promise.all(paths.map((path) => send(path)))).toEqual(paths.map(() => bearer));
      expect(await send("/", 0, "unknown")).toBe("false");
      expect(emulator.journal.tokenRequests()).toHaveLength(length);
    },
  );

  test("ends a renewal in the background after the answer was sent, by waitUntil", async () => {
    const { emulator, send } = await deploy();
    const first = await send("/");
    emulator.faults.add({ name: "slow", delayMs: 300, match: { grant: "client_credentials" } });
    expect(await send("/", 59)).toBe(first);
    await expect.poll(() => send("/", 59)).not.toBe(first);
    expect(emulator.journal.tokenRequests()).toHaveLength(2);
  });

  test("does not wait for the token of a request that has ended, by shareInFlight", async () => {
    const { emulator, send } = await deploy();
    const match = { grant: "client_credentials" } as const;
    const neverAnswered = emulator.faults.add({ name: "slow", delayMs: 60 * minuteMs, match });
    const early = send("/until-released");
    await expect.poll(() => neverAnswered.fired).toBe(1);
    expect(await send("/release")).toMatch(/^Bearer /);
    expect(await early).toBe("answered early");
    expect(emulator.journal.tokenRequests({ status: 200 })).toHaveLength(1);
  });
});
