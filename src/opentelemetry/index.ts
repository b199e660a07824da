/**
 * `bivariant/opentelemetry`: spans and metrics for OpenTelemetry, by its semantic conventions for
 * HTTP clients. @packageDocumentation
 */
import {
  type Attributes,
  context,
  createContextKey,
  type Histogram,
  type Meter,
  metrics,
  propagation,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { isBivariantError } from "../errors.js";
import { type Intercept, type InterceptedRequest, systemCode } from "../http/exchange.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireOptions } from "../options.js";
import { tokenEndpointOfA } from "../variants/target.js";
import { version } from "../version.js";

/** The options of {@link telemetry}. */
export interface TelemetryOptions {
  /** Default: that of the global provider. */
  readonly tracer?: Tracer | undefined;
  /** Default: that of the global provider. */
  readonly meter?: Meter | undefined;
}

/**
 * Makes the option that reports each HTTP request, of calls, tokens and detections, as a span of
 * the kind CLIENT and in the histogram `http.client.request.duration`, and sends the trace's
 * context along.
 *
 * @throws ConfigurationError `option_invalid`
 * @see the semantic conventions of OpenTelemetry for HTTP clients
 * @example
 * const service = await connect({ baseUrl, tenantId, credentials, ...telemetry() });
 */
export function telemetry(options: TelemetryOptions = {}): { readonly intercept: Intercept } {
  const names: NamesOf<TelemetryOptions> = { tracer: true, meter: true };
  const { tracer: ownTracer, meter: ownMeter } = requireOptions("telemetry", options, names);
  if (ownTracer !== undefined && typeof ownTracer?.startSpan !== "function")
    throw invalidOption("tracer", "must be a Tracer", "Take one from the getTracer of a provider.");
  if (ownMeter !== undefined && typeof ownMeter?.createHistogram !== "function")
    throw invalidOption("meter", "must be a Meter", "Take one from the getMeter of a provider.");
  let known: Meter | undefined;
  let durations: Histogram;
  const intercept: Intercept = async (request, send) => {
    // The global providers are looked up late, so that they may be registered after this option was
    // made.
    const tracer = ownTracer ?? trace.getTracer("bivariant", version);
    const meter = ownMeter ?? metrics.getMeter("bivariant", version);
    if (meter !== known) durations = histogramOf(meter);
    known = meter;
    const common = commonAttributes(request);
    const attributes = { ...common, ...spanAttributes(request, common) };
    const span = tracer.startSpan(nameOf(common), { kind: SpanKind.CLIENT, attributes });
    const inSpan = trace.setSpan(context.active(), span);
    const headers: Record<string, string> = {};
    propagation.inject(inSpan, headers);
    const startedAt = performance.now();
    let outcome: Attributes = {};
    try {
      const response = await context.with(inSpan.setValue(suppressed, true), () => send(headers));
      const { status } = response;
      // The status of a redirect that a browser hides is 0.
      if (status > 0) outcome = { "http.response.status_code": status };
      // A detection asks what is there, so any answer is its finding. The conventions leave this to
      // instrumentations.
      if (status >= 400 && request.purpose !== "detection") outcome["error.type"] = String(status);
      return response;
    } catch (fault) {
      outcome = { "error.type": faultType(fault) };
      throw fault;
    } finally {
      durations.record((performance.now() - startedAt) / 1_000, { ...common, ...outcome });
      if ("error.type" in outcome) span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttributes(outcome).end();
    }
  };
  return { intercept };
}

/**
 * The key of OpenTelemetry's SDK under which a context says that instrumentations below, such as
 * undici's, make no span.
 */
const suppressed = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** Those that the conventions advise for this histogram. */
const explicitBucketBoundaries = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

function histogramOf(meter: Meter): Histogram {
  return meter.createHistogram("http.client.request.duration", {
    description: "Duration of HTTP client requests.",
    unit: "s",
    advice: { explicitBucketBoundaries },
  });
}

/**
 * Others are `_OTHER`, since a metric must not get a series for each method that a caller makes up.
 */
const knownMethods = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|TRACE)$/;

/** The attributes that spans and metrics share. None of them has a value of a parameter. */
function commonAttributes(request: InterceptedRequest): Attributes {
  const { method } = request;
  const template = templateOf(request);
  const { protocol, hostname, port } = new URL(request.url);
  return {
    "http.request.method": knownMethods.test(method) ? method : "_OTHER",
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
    // A metric would have a series for `undefined`.
    ...(template !== undefined && { "url.template": template }),
  };
}

/**
 * A token endpoint has no parameter but the tenant of Variant A. A `service.fetch` or a redirect
 * has no template.
 */
function templateOf({
  purpose,
  variant,
  url,
  baseUrl,
  path,
}: InterceptedRequest): string | undefined {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, "");
  if (purpose === "call") return path === undefined ? undefined : prefix + path;
  if (variant === "A") return tokenEndpointOfA({ baseUrl: prefix, tenantId: "{tenantId}" });
  // A `refreshPath` may have a query, with a key of a gateway for example.
  return new URL(url).pathname;
}

function spanAttributes(request: InterceptedRequest, common: Attributes): Attributes {
  const { method, url, resend, purpose, variant, tenantId, operationId } = request;
  const template = common["url.template"];
  const isOther = common["http.request.method"] === "_OTHER";
  return {
    // The values of parameters may be secret.
    "url.full":
      template && new URL(url).origin + String(template).replace(/\{[^{}]*\}/g, "REDACTED"),
    "http.request.method_original": isOther ? method : undefined,
    "http.request.resend_count": resend || undefined,
    "bivariant.purpose": purpose,
    "bivariant.variant": variant,
    "bivariant.tenant_id": tenantId || undefined,
    "bivariant.operation_id": operationId,
  };
}

function nameOf({ "http.request.method": method, "url.template": template }: Attributes): string {
  const name = method === "_OTHER" ? "HTTP" : String(method);
  return template === undefined ? name : `${name} ${template}`;
}

/** A word for a fault, without its message, which may say anything. */
function faultType(fault: unknown): string {
  if (isBivariantError(fault)) return fault.code;
  const { name } = Object(fault);
  return (
    systemCode(fault) ?? (typeof name === "string" && /^\w{1,40}$/.test(name) ? name : "_OTHER")
  );
}
