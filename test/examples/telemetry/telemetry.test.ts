// The telemetry of src/client/README.md, run with pino and OpenTelemetry's SDK, whose exporters keep spans and metrics in memory.
import { context, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import * as metricsSdk from "@opentelemetry/sdk-metrics";
import * as traceSdk from "@opentelemetry/sdk-trace-base";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createEmulator } from "../../../src/emulator/index.js";
import { connect, type ServiceEvent, serviceAccount } from "../../../src/index.js";
import { importBlock } from "../../readme/pages.js";
import { shown } from "../../support/shown.js";

const spanExporter = new traceSdk.InMemorySpanExporter();
const exporter = new metricsSdk.InMemoryMetricExporter(metricsSdk.AggregationTemporality.DELTA);
const reader = new metricsSdk.PeriodicExportingMetricReader({ exporter });
const spanProcessors = [new traceSdk.SimpleSpanProcessor(spanExporter)];
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
trace.setGlobalTracerProvider(new traceSdk.BasicTracerProvider({ spanProcessors }));
metrics.setGlobalMeterProvider(new metricsSdk.MeterProvider({ readers: [reader] }));

const account = { clientId: "reports", clientSecret: "the-secret-of-the-account" };

/** A service with telemetry over the emulator. The API gives the `answers` before it serves. */
async function observed(answers: number[] = [], clientSecret = account.clientSecret) {
  spanExporter.reset();
  const seed = { serviceAccounts: [{ tenantId: "acme", ...account }] };
  const { publicUrl: baseUrl, fetch, clock } = createEmulator({ variants: ["B"], seed });
  const lines: string[] = [];
  const secrets = [account.clientSecret, clientSecret];
  type Recipe = { telemetry(log: Pick<Console, "info" | "warn">): (event: ServiceEvent) => void };
  const { telemetry } = await importBlock<Recipe>("@opentelemetry/api");
  const onEvent = telemetry(pino({}, { write: (line) => void lines.push(line) }));
  const service = await connect({
    ...{ baseUrl, tenantId: "acme", credentials: [serviceAccount({ ...account, clientSecret })] },
    ...{ onEvent, clock },
    async fetch(url, init) {
      secrets.push(new Headers(init?.headers).get("authorization")?.slice("Bearer ".length) ?? clientSecret);
      const status = url.endsWith("/devices") ? answers.shift() : undefined;
      return status === undefined ? fetch(url, init) : new Response("", { status });
    },
  });
  /** Returns the log, the ended spans, and the points of both metrics, none of which shows a secret. */
  const outputs = async () => {
    await reader.forceFlush();
    const [last] = exporter.getMetrics().slice(-1);
    const all = last?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    const points = (metric: string) => all.find((one) => one.descriptor.name === metric)?.dataPoints ?? [];
    const spans = spanExporter.getFinishedSpans();
    for (const secret of secrets) expect(shown([lines, spans, all]).includes(secret)).toBe(false);
    const counts = points("bivariant.events").map(({ attributes, value }) => [attributes.type, value]);
    const logs: Record<string, unknown>[] = lines.map((line) => JSON.parse(line));
    return { logs, spans, calls: points("bivariant.call.duration"), counts: Object.fromEntries(counts) };
  };
  return { service, clock, outputs };
}

test("a call is a span below that of the program, with its token request below it, and each took its time", async () => {
  const { service, clock, outputs } = await observed();
  clock.advance(86_400_000); // spans are in real time
  await trace.getTracer("program").startActiveSpan("incoming", async (incoming) => {
    await Promise.all([service.call("listDevices"), service.call("listDevices")]);
    incoming.end();
  });
  const { spans, logs, calls } = await outputs();
  const nameOf = (id?: string) => spans.find((span) => span.spanContext().spanId === id)?.name;
  const tree = spans.map(({ name, parentSpanContext }) => [name, nameOf(parentSpanContext?.spanId)]);
  const call = ["listDevices", "incoming"];
  expect(tree).toEqual([["token_renewed", "listDevices"], call, call, ["incoming", undefined]]);
  const attributes = { "http.request.method": "GET", "http.response.status_code": 200 };
  expect(spans[1]).toMatchObject({ attributes, status: { code: SpanStatusCode.UNSET } });
  for (const { startTime } of spans) expect(startTime[0]).toBeLessThanOrEqual(Date.now() / 1e3);
  const ids = { requestId: logs[0]?.requestId, tenantId: "acme", clientId: account.clientId };
  expect(spans[0]).toMatchObject({ attributes: ids, kind: SpanKind.CLIENT });
  for (const line of logs) expect(line.traceId).toBe(spans[0]?.spanContext().traceId);
  const ended = logs.flatMap(({ durationMs }) => (durationMs === undefined ? [] : [Number(durationMs)]));
  const [token, first = 0, second = 0] = ended;
  expect((spans[0]?.duration[1] ?? 0) / 1e6 - (token ?? 0)).toBeCloseTo(0, -2);
  const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
  const value = { count: 2, sum: expect.closeTo((first + second) / 1e3), buckets: { boundaries } };
  expect(calls).toMatchObject([{ attributes: { operation: "listDevices" }, value }]);
});

const status = { code: SpanStatusCode.ERROR };

test("a service.fetch has a span named by its method and a duration, and a refusal of it is a failure", async () => {
  const { service, outputs } = await observed();
  expect(await service.fetch("v1/unknown")).toMatchObject({ status: 404 });
  const { spans, calls } = await outputs();
  const attributes = { "http.response.status_code": 404, "error.type": "404" };
  expect(spans.at(-1)).toMatchObject({ name: "GET", attributes, status });
  expect(calls).toMatchObject([{ attributes }]);
});

test("token requests and retries are counted, and the logs of a call that is refused have one requestId", async () => {
  const { service, clock, outputs } = await observed([503, 403]);
  const outcome = service.call("listDevices");
  await clock.skipSleep();
  expect(await outcome).toMatchObject({ status: 403, retries: 1 });
  const { logs, spans, calls, counts } = await outputs();
  expect(counts).toMatchObject({ token_requested: 1, token_renewed: 1, call_retried: 1, call_finished: 1 });
  const attributes = { "http.response.status_code": 403, "error.type": "api_forbidden" };
  expect(spans.at(-1)).toMatchObject({ name: "listDevices", attributes, status });
  expect(calls).toMatchObject([{ attributes }]);
  const { requestId } = logs[0] ?? {};
  expect(requestId).toEqual(expect.any(String));
  for (const line of logs) expect(line).toMatchObject({ requestId, tenantId: "acme", msg: line.type });
  expect(logs.at(-1)).toMatchObject({ msg: "call_finished", status: 403, code: "api_forbidden", retries: 1 });
});

test("a refused token request is the error of its own span and of the call's", async () => {
  const { service, outputs } = await observed([], "a-wrong-secret-of-the-account");
  await expect(service.call("listDevices")).rejects.toMatchObject({ code: "token_refused" });
  const { spans, logs } = await outputs();
  expect(logs.map(({ level }) => level)).toEqual([30, 30, 40, 40, 40]); // closed_after_refusal and so on warn
  const failed = { attributes: { "error.type": "token_refused" }, status };
  expect(spans).toMatchObject(["token_failed", "listDevices"].map((name) => ({ name, ...failed })));
});
