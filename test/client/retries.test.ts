// The option retries: which calls are sent again, after which wait, and when that ends.
import { describe, expect, test, vi } from "vitest";
import { createAuth, createService } from "../../src/index.js";
import { LIMIT_MS, skippedWaits } from "../support/clock.js";
import { account } from "../support/deployment.js";
import { rejectionOf } from "../support/wait.js";
import { scriptedService } from "./scripted-service.js";

const methods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH"] as const;
const idempotent: readonly string[] = methods.slice(0, 6);
const operations = Object.fromEntries(
  methods.map((method) => [method, { method, path: "/things", success: [200], failure: [] }]),
);
const upload = { method: "PUT", path: "/things", contentType: "image/png", success: [200], failure: [] };
const table = { ...operations, upload };
const api = { operations: { A: table, B: table } } as never;

type Answer = number | "reset" | "tls" | { status: number; after: string };
const reset = () => Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET" } });
const tls = () => Object.assign(new TypeError("fetch failed"), { cause: { code: "CERT_HAS_EXPIRED" } });

const limits = { retries: 2, timeoutMs: LIMIT_MS };

/** A service whose API gives these answers, and then 200; the waits are skipped on its clock. */
function troubledService(answers: Answer[], options: object = {}) {
  const answer = (index: number): Response => {
    const next = answers[index] ?? 200;
    if (next === "reset") throw reset();
    if (next === "tls") throw tls();
    if (typeof next === "number") return Response.json([1], { status: next });
    return new Response("", { status: next.status, headers: { "retry-after": next.after } });
  };
  const scripted = scriptedService("A", (_call, index) => answer(index), { ...limits, api, ...options });
  skippedWaits(scripted.clock);
  return scripted;
}

const troubles: readonly Answer[] = [429, 502, 503, 504, "reset"];
const rows = methods.flatMap((method) => troubles.map((trouble) => ({ method, trouble })));

describe("a call that fails twice", () => {
  test.each(rows)("by $trouble to a $method", async ({ method, trouble }) => {
    const isRetried = trouble === 429 || idempotent.includes(method);
    const { call, fetch, events } = troubledService([trouble, trouble]);
    const outcome = (await call(method, {}).catch((error) => error)) as { status?: number; code?: string };
    expect(fetch.calls).toHaveLength(isRetried ? 3 : 1);
    const failed = trouble === "reset" ? { code: "network_failed" } : { status: trouble, retries: 0 };
    expect(outcome).toMatchObject(isRetried ? { ok: true, status: 200, retries: 2 } : failed);
    const status = trouble === "reset" ? undefined : trouble;
    const code = trouble === "reset" ? "network_failed" : undefined;
    const retried = { type: "call_retried", operationId: method, method, status, code };
    const told = [1, 2].map((retry) => ({ ...retried, retry, waitMs: expect.any(Number) }));
    expect(events.filter(({ type }) => type === "call_retried")).toMatchObject(isRetried ? told : []);
    expect(events.at(-1)).toMatchObject({ type: "call_finished", retries: isRetried ? 2 : 0 });
  });
});

describe("the number of retries", () => {
  test.each([
    { name: "is 2 by default", service: undefined, sent: 3 },
    { name: "is that of the service", service: 1, sent: 2 },
    { name: "is none with 0", service: 0, sent: 1 },
    { name: "is that of the call, if it has one", service: 0, call: 4, sent: 5 },
    { name: "is none with 0 for the call", service: 3, call: 0, sent: 1 },
  ])("$name", async ({ service, call, sent }) => {
    const { call: send, fetch } = troubledService(Array(9).fill(503), { retries: service });
    expect(await send("GET", { retries: call })).toMatchObject({ status: 503, retries: sent - 1 });
    expect(fetch.calls).toHaveLength(sent);
  });

  test.each([-1, 1.5, "2", null])(
    "is rejected if it is %s, for a service and for a call",
    async (retries) => {
      const refusal = expect.objectContaining({ code: "option_invalid", option: "retries" });
      expect(() => scriptedService("A", undefined, { retries } as never)).toThrow(refusal);
      const { call, fetch } = scriptedService("A");
      expect(await rejectionOf(call("listDevices", { retries }))).toEqual(refusal);
      expect(fetch.calls).toHaveLength(0);
    },
  );
});

test.each<{ name: string; answers: Answer[]; id?: string; init?: object; code?: string }>([
  ...[400, 404, 408, 425, 500, 501].map((status) => ({ name: `${status}`, answers: [status] })),
  { name: "a refused certificate", answers: ["tls"], code: "tls_failed" },
  { name: "a stream as its body", answers: [429], id: "upload", init: { body: new ReadableStream() } },
])("a call with $name is sent once", async ({ answers, id = "GET", init = {}, code }) => {
  const { call, fetch } = troubledService(answers);
  const outcome = await call(id, init).catch((error) => error);
  expect(outcome).toMatchObject(code === undefined ? { ok: false, retries: 0 } : { code });
  expect(fetch.calls).toHaveLength(1);
});

test("service.fetch returns a 503 and a 429 as they are", async () => {
  const { service, fetch } = troubledService([503, 429]);
  for (const status of [503, 429]) expect((await service.fetch("v1/x")).status).toBe(status);
  expect(fetch.calls).toHaveLength(2);
});

test("a token request that fails is not retried as a call", async () => {
  const tried: string[] = [];
  const fetch = async (url: string): Promise<Response> => {
    tried.push(url);
    throw reset();
  };
  const credential = account();
  const auth = createAuth({ baseUrl: "https://service.example", credential, fetch, rateLimitDeadlineMs: 0 });
  const service = createService(auth, { rateLimitDeadlineMs: 60_000 });
  expect(await rejectionOf(service.call("listDevices"))).toMatchObject({ code: "network_failed" });
  expect(tried).toHaveLength(1);
});

describe("the wait before a retry", () => {
  const waitsOf = async (answers: Answer[], options: object = {}) => {
    const { call, clock, fetch } = troubledService(answers, options);
    const began = clock.now();
    const outcome = await call("GET");
    return { outcome, waitedMs: clock.now() - began, sent: fetch.calls.length };
  };

  test("is 2 s and then 4 s, each with up to a quarter of jitter", async () => {
    const { waitedMs } = await waitsOf([503, 503]);
    expect(waitedMs).toBeGreaterThanOrEqual(6_000);
    expect(waitedMs).toBeLessThanOrEqual(7_502);
  });

  test.each([429, 503])("is at least what Retry-After of a %s asks for", async (status) => {
    const { waitedMs } = await waitsOf([{ status, after: "7" }]);
    expect(waitedMs).toBeGreaterThanOrEqual(7_000);
    expect(waitedMs).toBeLessThanOrEqual(7_701);
  });

  test.each([
    { name: "Retry-After beyond rateLimitDeadlineMs", after: "61", options: {} },
    { name: "a rateLimitDeadlineMs of 0", after: "1", options: { rateLimitDeadlineMs: 0 } },
  ])("is not begun with $name", async ({ after, options }) => {
    const { outcome, sent } = await waitsOf([{ status: 429, after }], options);
    expect(sent).toBe(1);
    expect(outcome).toMatchObject({ status: 429, retries: 0, error: { retryAt: expect.any(Number) } });
  });

  test("ends at the deadline by real time, although now stands still", async () => {
    const { call, fetch } = scriptedService("A", () => new Response("", { status: 503 }), {
      ...{ api, retries: 1_000, now: () => 0, rateLimitDeadlineMs: 10_000 },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const outcome = call("GET");
      await vi.advanceTimersByTimeAsync(20_000);
      expect(await outcome).toMatchObject({ status: 503, retries: 2 });
      expect(fetch.calls).toHaveLength(3);
    } finally {
      vi.useRealTimers();
    }
  });

  test("ends with the reason of the caller's signal", async () => {
    const { call, fetch } = scriptedService("A", () => new Response("", { status: 503 }), {
      api,
      retries: 2,
    });
    const leaving = new AbortController();
    const outcome = rejectionOf(call("GET", { signal: leaving.signal }));
    await expect.poll(() => fetch.calls.length).toBe(1);
    leaving.abort("enough");
    expect(await outcome).toBe("enough");
  });

  test("after a 429 holds back other calls of the operation, and no others", async () => {
    const { call, fetch, clock } = troubledService([{ status: 429, after: "50" }, 200, 200, 200]);
    await call("POST", { retries: 0 });
    const began = clock.now();
    await call("GET");
    expect([clock.now() - began, fetch.calls.length]).toEqual([0, 2]);
    await call("POST", { retries: 0 });
    expect([clock.now() - began, fetch.calls.length]).toEqual([0, 3]);
    expect(await call("POST")).toMatchObject({ ok: true });
    expect(clock.now() - began).toBeGreaterThan(49_000);
  });
});
