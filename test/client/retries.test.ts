// The option maxRetries: which calls are sent again, after which wait, and when that ends.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAuth, createService } from "../../src/index.js";
import { account } from "../support/deployment.js";
import { noAnswer } from "../support/fetch.js";
import { rejectionOf, settle } from "../support/wait.js";
import { scriptedService } from "./scripted-service.js";

const methods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH"];
const operation = (method: string) => ({ method, path: "/things", success: [200], failure: [] });
const operations = Object.fromEntries(methods.map((method) => [method, operation(method)]));
const api = { operations: { A: operations, B: operations } } as never;

type Limit = { status: number; after?: string; location?: string };
type Answer = number | keyof typeof faultCodes | "cut" | Limit;
const faultCodes = {
  reset: "ECONNRESET",
  tls: "CERT_HAS_EXPIRED",
  alert: "EPROTO",
  refused: "ECONNREFUSED",
};

/** A service whose API gives these answers, and then 200. The waits are skipped on its clock. */
function troubledService(answers: Answer[], options: object = {}) {
  const answer = (_call: unknown, index: number): Response => {
    const next = answers[index] ?? 200;
    if (next === "cut")
      return new Response(new ReadableStream({ pull: (body) => body.error(new Error()) }));
    if (typeof next === "string") throw Object.assign(new TypeError(), { code: faultCodes[next] });
    if (typeof next === "number") return Response.json([1], { status: next });
    const { status, after = "", location = "" } = next;
    return new Response("", { status, headers: { "retry-after": after, location } });
  };
  const scripted = scriptedService("A", answer, { maxRetries: 2, api, ...options });
  scripted.clock.skipSleeps();
  return scripted;
}

const troubles: readonly Answer[] = [429, 502, 503, 504, "reset"];
const rows = methods.flatMap((method) => troubles.map((trouble) => ({ method, trouble })));
test.each(rows)(
  "a $method that fails twice by $trouble is sent again if that is safe",
  async (row) => {
    const { method, trouble } = row;
    const isRetried = trouble === 429 || (method !== "POST" && method !== "PATCH");
    const { call, fetch, events } = troubledService([trouble, trouble]);
    const why = trouble === "reset" ? { code: "network_failed" } : { status: trouble };
    const outcome = await call(method).catch((error) => error);
    expect(outcome).toMatchObject(isRetried ? { ok: true, status: 200, retries: 2 } : why);
    expect(fetch.calls).toHaveLength(isRetried ? 3 : 1);
    const of = { operationId: method, method, waitMs: expect.any(Number) };
    const retried = { type: "call_retried", ...of, ...why };
    const reported = isRetried ? [1, 2].map((retry) => ({ ...retried, retry })) : [];
    expect(events.filter(({ type }) => type === "call_retried")).toMatchObject(reported);
    expect(events.at(-1)).toMatchObject({ type: "call_finished", retries: reported.length });
  },
);

const mayBe = /^The POST may have been processed: look before you send it again\. The/;
const probably =
  /^The POST was answered 200, so it was probably processed: look before you send it again\./;
test.each<{ name: string; answers: Answer[]; retryable?: boolean; message: RegExp }>([
  { name: "a reset", answers: ["reset"], message: mayBe },
  { name: "a broken TLS record", answers: ["alert"], message: mayBe },
  { name: "a body that breaks off", answers: ["cut"], message: probably },
  {
    name: "a redirect to nowhere",
    answers: [{ status: 303, location: "x" }, "refused"],
    message: mayBe,
  },
  { name: "a refused connection", answers: ["refused"], retryable: true, message: /^The request/ },
  { name: "a refused certificate", answers: ["tls"], message: /^The secure connection/ },
])("the error of a POST that ends in $name says whether it may be sent again", async (row) => {
  const { answers, retryable = false, message } = row;
  const failure = { name: "TransportError", retryable, message: expect.stringMatching(message) };
  expect(await rejectionOf(troubledService(answers).call("POST"))).toMatchObject(failure);
  // service.fetch leaves the reading of the body to its caller.
  const fetched = troubledService(answers).service.fetch("v1/x", { method: "POST" });
  if (message !== probably) expect(await rejectionOf(fetched)).toMatchObject(failure);
});

test("the error of a POST without an answer in time is not retryable", async () => {
  const { call, clock } = scriptedService("A", noAnswer, { api });
  const message = expect.stringMatching(/^The POST may/);
  const failure = { code: "timed_out", retryable: false, message };
  expect(await rejectionOf(clock.through(call("POST")))).toMatchObject(failure);
});

test.each([500, 503])("the error of a POST answered %i advises to look first", async (status) => {
  const message = expect.stringContaining(
    "may have been processed: look before you send it again.",
  );
  expect(await troubledService([status]).call("POST")).toMatchObject({ error: { message } });
});

test.each([
  { name: "2 by default", service: undefined, sent: 3 },
  { name: "that of the service", service: 1, sent: 2 },
  { name: "that of the call, if it has one", service: 0, call: 4, sent: 5 },
  { name: "none with 0 for the call", service: 3, call: 0, sent: 1 },
])("the number of retries is $name", async ({ service, call: maxRetries, sent }) => {
  const { call, fetch } = troubledService(Array(9).fill(503), { maxRetries: service });
  expect(await call("GET", { maxRetries })).toMatchObject({ status: 503, retries: sent - 1 });
  expect(fetch.calls).toHaveLength(sent);
});

test.each([400, 404, 408, 500, 501])("a call answered %d is sent once", async (status) => {
  const { call, fetch } = troubledService([status]);
  expect(await call("GET")).toMatchObject({ status, retries: 0 });
  expect(fetch.calls).toHaveLength(1);
});

test("a call whose certificate is refused is sent once", async () => {
  const { call, fetch } = troubledService(["tls"]);
  expect(await rejectionOf(call("GET"))).toMatchObject({ code: "tls_failed" });
  expect(fetch.calls).toHaveLength(1);
});

test.each([429, 401])(
  "a POST that was redirected to a page by 303 is not sent again for the page's %d",
  async (status) => {
    const location = "https://service.example/prefix/v1/page";
    const seeOther = () => new Response(null, { status: 303, headers: { location } });
    const options = { maxRetries: 2, api };
    const answer = (call: { init?: RequestInit | undefined }) =>
      call.init?.method === "POST" ? seeOther() : new Response("", { status });
    const { call, auth, clock, fetch } = scriptedService("A", answer as never, options);
    clock.skipSleeps();
    await auth.getAccessToken();
    clock.advance(60_000);
    expect(await call("POST", { body: {} })).toMatchObject({ status, retries: 0 });
    expect(fetch.calls.map(({ init }) => init?.method)).toEqual(["POST", "GET"]);
  },
);

test("a call accepts the signal null, as fetch does, also when it waits", async () => {
  const { call } = troubledService([503]);
  expect(await call("GET", { signal: null })).toMatchObject({ status: 200, retries: 1 });
});

test("a header that the caller's own fetch adds is not in the headers of the next attempt", async () => {
  const seen: object[] = [];
  const adding = async (_url: string, { headers }: RequestInit = {}) => {
    seen.push({ ...headers });
    Object.assign(headers as object, { "x-trace": "added" });
    return seen.length === 1 ? new Response("", { status: 503 }) : Response.json([]);
  };
  const { call } = troubledService([], { fetch: adding });
  expect(await call("GET")).toMatchObject({ ok: true, retries: 1 });
  expect(seen[1]).toEqual(seen[0]);
});

test("service.fetch returns a 503 as it is", async () => {
  expect((await troubledService([503]).service.fetch("v1/x")).status).toBe(503);
});

test("a token request that fails is not retried as a call", async () => {
  const fetch = vi.fn(() => Promise.reject(new TypeError("fetch failed")));
  const options = { baseUrl: "https://service.example", credential: account(), retryDeadlineMs: 0 };
  const service = createService(createAuth({ ...options, fetch }), { retryDeadlineMs: 60_000 });
  expect(await rejectionOf(service.call("listDevices"))).toMatchObject({ code: "network_failed" });
  expect(fetch).toHaveBeenCalledTimes(1);
});

describe("the wait before a retry", () => {
  test.each<{ name: string; answers: Answer[]; least: number; most: number }>([
    { name: "2 s and then 4 s, with jitter", answers: [503, 503], least: 6_000, most: 7_500 },
    { name: "that of a 429", answers: [{ status: 429, after: "7" }], least: 7_000, most: 7_700 },
    { name: "that of a 503", answers: [{ status: 503, after: "7" }], least: 7_000, most: 7_700 },
  ])("is $name", async ({ answers, least, most }) => {
    const { call, clock } = troubledService(answers);
    const began = clock.now();
    expect(await call("GET")).toMatchObject({ ok: true });
    expect(clock.now() - began).toBeGreaterThanOrEqual(least);
    expect(clock.now() - began).toBeLessThanOrEqual(most);
  });

  test("ends at the deadline by real time, although now stands still", async () => {
    const options = { api, maxRetries: 1_000, clock: { now: () => 0 }, retryDeadlineMs: 10_000 };
    const { call } = scriptedService("A", () => new Response("", { status: 503 }), options);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const outcome = call("GET");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await outcome).toMatchObject({ status: 503, retries: 2 });
  });

  test("ends with the reason of the caller's signal", async () => {
    const answer = () => new Response("", { status: 503 });
    const { call, fetch } = scriptedService("A", answer, { api, maxRetries: 2 });
    const leaving = new AbortController();
    const outcome = rejectionOf(call("GET", { signal: leaving.signal }));
    await settle();
    expect(fetch.calls).toHaveLength(1);
    leaving.abort("enough");
    expect(await outcome).toBe("enough");
  });

  test("after a 429 holds back the next call of that operation, and no other", async () => {
    const { call, clock } = troubledService([{ status: 429, after: "50" }]);
    await call("POST", { maxRetries: 0 });
    const began = clock.now();
    await call("GET");
    expect(clock.now() - began).toBe(0);
    await call("POST");
    expect(clock.now() - began).toBeGreaterThan(49_000);
  });
});
