// telemetry() of bivariant/opentelemetry with OpenTelemetry's SDK, whose exporters keep spans and
// metrics in memory.
import {
  context,
  createNoopMeter,
  metrics,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import * as metricsSdk from "@opentelemetry/sdk-metrics";
import * as traceSdk from "@opentelemetry/sdk-trace-base";
import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import {
  apiClient,
  completeLogin,
  connect,
  createConnector,
  type Fetch,
  type ServiceEvent,
} from "../../src/index.js";
import { telemetry } from "../../src/opentelemetry/index.js";
import { version } from "../../src/version.js";
import { scriptedService } from "../client/scripted-service.js";
import { backFromLogin } from "../people/person.js";
import { importBlock } from "../readme/pages.js";
import { steppedClock } from "../support/clock.js";
import { ACCOUNT_SECRET, credentialOf, deployment } from "../support/deployment.js";
import { noAnswer } from "../support/fetch.js";
import { jsonAnswer, recordingServer } from "../support/recording-server.js";
import { shown } from "../support/shown.js";
import { rejectionOf } from "../support/wait.js";

const spanExporter = new traceSdk.InMemorySpanExporter();
const exporter = new metricsSdk.InMemoryMetricExporter(metricsSdk.AggregationTemporality.DELTA);
const reader = new metricsSdk.PeriodicExportingMetricReader({ exporter });
const spanProcessors = [new traceSdk.SimpleSpanProcessor(spanExporter)];
// What is made before the providers are registered works too.
const early = telemetry();
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new traceSdk.BasicTracerProvider({ spanProcessors }));
const meterProvider = new metricsSdk.MeterProvider({ readers: [reader] });
metrics.setGlobalMeterProvider(meterProvider);

beforeEach(async () => {
  await reader.forceFlush();
  exporter.reset();
  spanExporter.reset();
});

const spans = () => spanExporter.getFinishedSpans();
const named = () => spans().map(({ name }) => name);

/** The metrics since the test began. */
async function measured() {
  await reader.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
  return all.flatMap((scope) => scope.metrics);
}

/** Runs a task in a span of the program, as a server does with a request. */
async function inProgram<T>(task: () => Promise<T>): Promise<T> {
  return trace.getTracer("program").startActiveSpan("incoming", async (span) => {
    try {
      return await task();
    } finally {
      span.end();
    }
  });
}

const tokenPaths = { A: "/api/v1/{tenantId}/external-plugin/oauth/token", B: "/v1/auth/token" };
const callPaths = { A: "/api/v1/{tenantId}/devices", B: "/v1/devices" };
const common = {
  "server.address": "service.example",
  "server.port": 443,
  "http.response.status_code": 200,
};
const error = { code: SpanStatusCode.ERROR };
const unset = { code: SpanStatusCode.UNSET };

describe.each(["A", "B"] as const)("of Variant %s", (variant) => {
  const observed = (given: { fetch?: Fetch } = {}) => {
    const { fetch, publicUrl: baseUrl } = deployment({
      publicUrl: "https://service.example/prefix",
    });
    const credentials = [credentialOf(variant)];
    return connect({ baseUrl, tenantId: "acme", credentials, fetch, ...telemetry(), ...given });
  };

  test("a call and its token request are spans of clients below the span of the program", async () => {
    const service = await observed();
    expect(await inProgram(() => service.call("listDevices"))).toMatchObject({ ok: true });
    const [token, call, incoming] = spans();
    const [ofToken, ofCall] = [tokenPaths, callPaths].map((paths) => `/prefix${paths[variant]}`);
    expect(named()).toEqual([`POST ${ofToken}`, `GET ${ofCall}`, "incoming"]);
    const url = (path = "") => `https://service.example${path.replace("{tenantId}", "REDACTED")}`;
    const own = { "bivariant.variant": variant, "bivariant.tenant_id": "acme" };
    const about = {
      token: { ...own, "bivariant.purpose": "token" },
      call: { ...own, "bivariant.purpose": "call", "bivariant.operation_id": "listDevices" },
    };
    expect(token?.attributes).toEqual({
      ...common,
      ...about.token,
      "http.request.method": "POST",
      "url.template": ofToken,
      "url.full": url(ofToken),
    });
    expect(call?.attributes).toEqual({
      ...common,
      ...about.call,
      "http.request.method": "GET",
      "url.template": ofCall,
      "url.full": url(ofCall),
    });
    for (const span of [token, call]) {
      expect(span).toMatchObject({ kind: SpanKind.CLIENT, status: unset, events: [] });
      expect(span?.instrumentationScope).toMatchObject({ name: "bivariant", version });
      expect(span?.parentSpanContext?.spanId).toBe(incoming?.spanContext().spanId);
    }
  });

  test("both are in the histogram of durations in seconds, with the buckets of the conventions", async () => {
    const service = await observed();
    await service.call("listDevices");
    await service.call("listDevices");
    // Outside a span of the program, each request is a root.
    for (const span of spans()) expect(span.parentSpanContext).toBeUndefined();
    const [histogram, ...others] = await measured();
    expect(others).toEqual([]);
    const [metrics] = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    expect(metrics?.scope).toMatchObject({ name: "bivariant", version });
    expect(histogram?.descriptor).toMatchObject({
      name: "http.client.request.duration",
      unit: "s",
    });
    const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
    const point = (method: string, path: string, count: number) => ({
      attributes: { ...common, "http.request.method": method, "url.template": `/prefix${path}` },
      value: { count, buckets: { boundaries } },
    });
    const [token, calls] = histogram?.dataPoints ?? [];
    expect(token).toMatchObject(point("POST", tokenPaths[variant], 1));
    expect(calls).toMatchObject(point("GET", callPaths[variant], 2));
    expect(Object.keys(calls?.attributes ?? {})).toHaveLength(5);
    const [, ...ofCalls] = spans().map(({ duration: [seconds, nanos] }) => seconds + nanos / 1e9);
    const sum = ofCalls.reduce((all, one) => all + one);
    expect(Object(calls?.value).sum).toBeLessThanOrEqual(sum + 0.001);
  });

  test("spans and metrics show no secret", async () => {
    const sent: string[] = [];
    const { fetch } = deployment({ publicUrl: "https://service.example/prefix" });
    const service = await observed({
      async fetch(url, init = {}) {
        sent.push(String(init.body), String(new Headers(init.headers).get("authorization")));
        return fetch(url, init.body ? { ...init, body: String(init.body) } : init);
      },
    });
    await service.call("listDevices", { headers: { "x-key": "canary-of-a-header" } });
    await service.fetch("v1/canary-of-a-path?key=canary-of-a-query");
    const { value } = await service.auth.getAccessToken();
    expect(sent).toContain(`Bearer ${value}`);
    const text = shown([spans(), await measured()]);
    const assertion = /client_assertion=([\w.-]+)/.exec(sent.join(" "))?.[1] ?? ACCOUNT_SECRET;
    for (const secret of [value, assertion, ACCOUNT_SECRET, "canary"])
      expect(text).not.toContain(secret);
  });
});

test("a detection is spans too, and a refused probe is its finding and no error", async () => {
  const { fetch, publicUrl: baseUrl } = deployment({ variants: ["B"] });
  const credentials = [credentialOf("A"), credentialOf("B")];
  await connect({ baseUrl, tenantId: "acme", credentials, fetch, ...telemetry() });
  const detections = spans().filter((span) => span.attributes["bivariant.purpose"] === "detection");
  const attributes = { "bivariant.variant": "A", "http.response.status_code": 404 };
  expect(detections[0]).toMatchObject({ name: `POST ${tokenPaths.A}`, attributes });
  for (const span of detections) {
    expect(span.status).toEqual(unset);
    expect(span.attributes).not.toHaveProperty("error.type");
  }
  const [histogram] = await measured();
  for (const { attributes } of histogram?.dataPoints ?? [])
    expect(attributes).not.toHaveProperty("error.type");
});

test("a probe of a detection that the network fails is an error", async () => {
  const fetch = () => Promise.reject(withCause("ECONNREFUSED"));
  const credentials = [credentialOf("A"), credentialOf("B")];
  const options = { baseUrl: "https://service.example", tenantId: "acme", credentials, fetch };
  await rejectionOf(connect({ ...options, ...telemetry() }));
  expect(spans()[0]).toMatchObject({
    attributes: { "bivariant.purpose": "detection", "error.type": "ECONNREFUSED" },
    status: error,
  });
});

test("the request carries the context of its own span", async () => {
  const server = await recordingServer(({ path }) =>
    jsonAnswer(200, path.endsWith("/token") ? { access_token: "t" } : []),
  );
  const connector = createConnector({ credentials: [credentialOf("B")], ...early });
  const service = await connector.connect({ baseUrl: server.url, tenantId: "acme" });
  await inProgram(() => service.call("listDevices"));
  const parents = spans().map((span) => {
    const { traceId, spanId } = span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  });
  const sent = server.requests.map(({ headers }) => headers.traceparent);
  expect(sent).toEqual(parents.slice(0, 2));
  const { hostname, port } = new URL(server.url);
  expect(spans()[1]?.attributes).toMatchObject({
    "server.address": hostname,
    "server.port": Number(port),
  });
});

test("a span is current while its request is sent, and instrumentations below make none", async () => {
  let current: string | undefined;
  const script = () => {
    current = trace.getActiveSpan()?.spanContext().spanId;
    trace.getTracer("instrumentation-undici").startSpan("GET").end();
    return Response.json([]);
  };
  const { call } = scriptedService("B", script, telemetry());
  await inProgram(() => call("listDevices"));
  expect(named()).toEqual(["GET /prefix/v1/devices", "incoming"]);
  expect(current).toBe(spans()[0]?.spanContext().spanId);
});

test("each retry is a span of its own with its count, and a refusal is an error", async () => {
  const statuses = [503, 429, 403];
  const script = () => new Response(null, { status: statuses.shift() ?? 200 });
  const { call, clock } = scriptedService("B", script, { ...telemetry(), maxRetries: 2 });
  clock.skipSleeps();
  expect(await call("listDevices")).toMatchObject({ status: 403, retries: 2 });
  const shapes = spans().map(({ attributes, status }) => [
    attributes["http.request.resend_count"],
    attributes["http.response.status_code"],
    attributes["error.type"],
    status,
  ]);
  expect(shapes).toEqual([
    [undefined, 503, "503", error],
    [1, 429, "429", error],
    [2, 403, "403", error],
  ]);
  const [histogram] = await measured();
  const types = histogram?.dataPoints.map(({ attributes }) => attributes["error.type"]);
  expect(types).toEqual(["503", "429", "403"]);
});

test.each<{ name: string; fault: unknown; type: string }>([
  { name: "a refused connection", fault: withCause("ECONNREFUSED"), type: "ECONNREFUSED" },
  { name: "an error with a secret", fault: new TypeError("canary"), type: "TypeError" },
  { name: "an error named by a sentence", fault: { name: "canary of a name" }, type: "_OTHER" },
])("the error.type of $name is a word", async ({ fault, type }) => {
  const { call } = scriptedService("B", () => Promise.reject(fault), telemetry());
  await rejectionOf(call("listDevices"));
  const attributes = { "error.type": type };
  expect(spans()).toMatchObject([{ attributes, status: error, events: [] }]);
  expect(shown([spans(), await measured()])).not.toContain("canary");
});

test("a request that takes too long and one that the caller aborts have an error.type", async () => {
  const { call, clock } = scriptedService("B", noAnswer, telemetry());
  await rejectionOf(clock.through(call("listDevices")));
  const stopping = new AbortController();
  const stopped = rejectionOf(call("listDevices", { signal: stopping.signal }));
  await expect.poll(() => spans().length).toBe(1);
  stopping.abort();
  await stopped;
  const types = () => spans().map(({ attributes }) => attributes["error.type"]);
  await expect.poll(types).toEqual(["timed_out", "AbortError"]);
});

test("a service.fetch has no template, and a method of its own making is _OTHER", async () => {
  const { service } = scriptedService("B", undefined, telemetry());
  await service.fetch("v1/canary", { method: "PURGE" });
  await service.fetch("v1/canary");
  expect(named()).toEqual(["HTTP", "GET"]);
  const [other, get] = spans();
  const method = { "http.request.method": "_OTHER", "http.request.method_original": "PURGE" };
  expect(other?.attributes).toMatchObject(method);
  for (const name of ["url.template", "url.full"]) expect(get?.attributes).not.toHaveProperty(name);
  expect(shown([spans(), await measured()])).not.toContain("canary");
});

test("the query of a refreshPath is in no span and no metric", async () => {
  const clock = steppedClock();
  const credential = apiClient({
    clientId: "portal",
    redirectUri: "https://app.example/callback",
    authorizationEndpoint: "/login",
    refreshPath: "/v1/refresh?key=canary",
  });
  const options = {
    baseUrl: "https://service.example/prefix",
    credential,
    clock,
    fetch: async () => Response.json({ access_token: "token", refresh_token: "refresh" }),
    ...telemetry(),
  };
  const auth = await completeLogin({ ...options, ...(await backFromLogin(options)) });
  clock.advance(3_600_000);
  await auth.getAccessToken();
  const [, refresh] = spans();
  expect(refresh?.attributes["url.full"]).toBe("https://service.example/prefix/v1/refresh");
  expect(shown([spans(), await measured()])).not.toContain("canary");
});

test("a request before the provider of metrics is registered does not leave the later ones out", async () => {
  metrics.disable();
  const { call } = scriptedService("B", undefined, telemetry());
  await call("listDevices");
  metrics.setGlobalMeterProvider(meterProvider);
  await call("listDevices");
  expect(await measured()).toHaveLength(1);
});

test("another tracer and meter replace the global ones, for example to leave the metrics out", async () => {
  const ownExporter = new traceSdk.InMemorySpanExporter();
  const processor = new traceSdk.SimpleSpanProcessor(ownExporter);
  const tracer = new traceSdk.BasicTracerProvider({ spanProcessors: [processor] }).getTracer("own");
  const { call } = scriptedService("B", undefined, telemetry({ tracer, meter: createNoopMeter() }));
  await call("listDevices");
  expect(ownExporter.getFinishedSpans()).toHaveLength(1);
  expect(spans()).toEqual([]);
  expect(await measured()).toEqual([]);
});

test.each(["tracer", "meter"])("a %s of another type is refused", (option) => {
  for (const wrong of [{}, null, "bivariant"]) {
    const refusal = expect.objectContaining({ code: "option_invalid", option });
    expect(() => telemetry({ [option]: wrong } as never)).toThrow(refusal);
  }
});

test("the reporter of the page logs each event with the program's trace, and counts it by its type", async () => {
  const lines: Record<string, unknown>[] = [];
  type Recipe = { reporter(log: Pick<Console, "info" | "warn">): (event: ServiceEvent) => void };
  const { reporter } = await importBlock<Recipe>("function reporter");
  const onEvent = reporter(pino({}, { write: (line) => void lines.push(JSON.parse(line)) }));
  const { fetch, publicUrl: baseUrl } = deployment({ scopes: [] });
  const credentials = [credentialOf("A")];
  const target = { baseUrl, tenantId: "acme" };
  const service = await connect({ ...target, credentials, fetch, onEvent, ...telemetry() });
  const outcome = await inProgram(() => service.call("listDevices"));
  expect(outcome).toMatchObject({ status: 403 });
  const { traceId } = spans().at(-1)?.spanContext() ?? {};
  const context = { traceId, requestId: outcome.requestId, tenantId: "acme" };
  for (const line of lines) expect(line).toMatchObject({ ...context, msg: line.type });
  expect(lines.at(-1)).toMatchObject({ level: 40, msg: "call_finished", code: "api_forbidden" });
  const types = lines.map(({ type }) => type);
  const counter = (await measured()).find((one) => one.descriptor.name === "bivariant.events");
  expect(counter?.dataPoints.map(({ attributes }) => attributes.type)).toEqual([...new Set(types)]);
});

function withCause(code: string): Error {
  return new TypeError("fetch failed", { cause: Object.assign(new Error("canary"), { code }) });
}
