/**
 * `service.fetch`: any request under the base URL with the bearer, for routes that no document
 * describes.
 */
import type { Auth } from "../auth/auth.js";
import { type ConfigurationError, locate } from "../errors.js";
import { idempotentMethods, whenAborted } from "../http/exchange.js";
import { headerRecord, httpToken, invalidOption } from "../options.js";
import { isUnderBase } from "../variants/target.js";
import { type BearerFetchContext, bearerFetch, CallReport } from "./bearer-fetch.js";
import { requireFetchInit } from "./init.js";

/**
 * Like the global fetch, relative to the base URL. The bearer is added, renewed if it is refused,
 * and sent nowhere else. Any response is returned as it is: the option `maxRetries` has no effect.
 * `timeoutMs` limits the wait for the response's head; the caller reads the body.
 *
 * @throws ConfigurationError `option_invalid` for a URL that is not under the base URL, and for
 * what no fetch accepts
 */
export type ServiceFetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

export async function serviceFetch(
  context: BearerFetchContext,
  auth: Auth,
  input: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  let report: CallReport | undefined;
  try {
    const url = resolveUnderBase(input, auth);
    const method = requestMethod(requireFetchInit(init));
    const headers = headerRecord(context.options.headers, init.headers);
    // `redirect` is read by name, since `init` may be a Request, whose members are not its own.
    const { body, redirect = "follow", ...others } = init;
    const signal = init.signal ?? undefined;
    const request = {
      auth,
      url,
      method,
      headers,
      body,
      signal,
      isIdempotent: idempotentMethods.includes(method),
      init: { ...others, redirect },
      signalOf: (limit: AbortSignal) => signalOf(limit, signal),
    };
    report = new CallReport(request, context.options);
    const read = async () => undefined;
    const { response } = await bearerFetch(request, { events: report, read }, context);
    report.status = response.status;
    return response;
  } catch (fault) {
    // What is refused before the request begins has no requestId.
    throw report?.failed(fault) ?? locate(fault, auth);
  } finally {
    report?.finished();
  }
}

/** The Fetch standard forbids these methods. */
const forbiddenMethods: readonly string[] = ["CONNECT", "TRACE", "TRACK"];

/**
 * Rejects a method for which fetch throws a TypeError, which would be mistaken for a network fault.
 */
function requestMethod(init: RequestInit): string {
  const method = String(init.method ?? "GET").toUpperCase();
  if (!httpToken.test(method) || forbiddenMethods.includes(method))
    throw invalidOption("method", "must be a method that fetch accepts");
  const hasBody = init.body !== undefined && init.body !== null;
  if (hasBody && (method === "GET" || method === "HEAD"))
    throw invalidOption(
      "body",
      `must not be sent with ${method}`,
      'Set the method, such as "POST".',
    );
  return method;
}

function resolveUnderBase(input: unknown, { baseUrl }: Auth): string {
  const refused = (problem: string): ConfigurationError =>
    invalidOption("input", problem, 'Pass a path relative to baseUrl, such as "v1/devices".');
  if (typeof input !== "string" && !(input instanceof URL))
    throw refused("must be a string or a URL");
  const text = String(input);
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(text);
  let url: URL;
  try {
    url = new URL(isAbsolute ? text : `${baseUrl}/${text.replace(/^[/\\]+/, "")}`);
  } catch {
    throw refused("is not a valid URL");
  }
  if (!isUnderBase(url, baseUrl))
    throw refused("is not under baseUrl, and the bearer must not leave that");
  return url.href;
}

/**
 * A signal does not hold its controller, and the code that reads the body holds only the signal.
 */
const controllers = /* @__PURE__ */ new WeakMap<AbortSignal, AbortController>();
/**
 * Cloudflare Workers with a compatibility date before 2025-05-05 have neither FinalizationRegistry
 * nor WeakRef.
 */
const collected =
  typeof FinalizationRegistry === "undefined"
    ? undefined
    : /* @__PURE__ */ new FinalizationRegistry<() => void>((forget) => forget());

/**
 * Makes the signal of one request. The time limit may abort it until the head arrives, the caller
 * even after that.
 */
export function signalOf(limit: AbortSignal, signal: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController();
  limit.addEventListener("abort", () => controller.abort(limit.reason), { once: true });
  controllers.set(controller.signal, controller);
  if (signal !== undefined) follow(signal, controller);
  return controller.signal;
}

/**
 * The signal may outlive its requests, so it must not hold them: no closure here may hold the
 * controller.
 */
function follow(signal: AbortSignal, controller: AbortController): void {
  const request = referenceTo(controller);
  const forget = whenAborted(signal, () => request.deref()?.abort(signal.reason));
  collected?.register(controller, forget);
}

function referenceTo(controller: AbortController) {
  return collected === undefined ? { deref: () => controller } : new WeakRef(controller);
}
