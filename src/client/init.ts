/**
 * What a call and `service.fetch` take beside the operation or the URL: the names, and what only
 * the fetch reads.
 */
import type { CallOptions as GeneratedOptions } from "../../generated/operations.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, isPlain, requireObject, requireOptions } from "../options.js";
import type { ParseAs } from "./outcome.js";
import type { CallParameters, RequestOptions } from "./request.js";

/**
 * The options of `call` and `paths` for any operation: those of openapi-fetch and a few more.
 * Others go to the fetch.
 */
export interface CallInit extends RequestOptions {
  readonly parseAs?: ParseAs | undefined;
  readonly maxResponseBytes?: number | undefined;
  readonly envelope?: string | undefined;
  readonly maxRetries?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly idempotent?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Members that a runtime's fetch knows beside those of the standard. They are not recommended. */
const runtimeNames = {
  // undici
  dispatcher: false,
  duplex: false,
  // Cloudflare Workers
  cf: false,
  fetcher: false,
  encodeResponseBody: false,
  // Next.js
  next: false,
  // Deno
  client: false,
  // Bun
  proxy: false,
  tls: false,
  unix: false,
  decompress: false,
  verbose: false,
  // the package node-fetch
  agent: false,
};

/** The members of a RequestInit. */
const fetchNames: NamesOf<RequestInit> = {
  ...runtimeNames,
  method: true,
  headers: true,
  body: true,
  signal: true,
  redirect: true,
  cache: true,
  credentials: true,
  integrity: true,
  keepalive: true,
  mode: true,
  priority: true,
  referrer: true,
  referrerPolicy: true,
  window: true,
};

/** @throws ConfigurationError `option_invalid` */
export function requireFetchInit(init: RequestInit): RequestInit {
  return requireOptions("service.fetch", requireObject("init", init), fetchNames);
}

const ownNames: NamesOf<
  CallInit & Omit<GeneratedOptions, Exclude<keyof RequestInit, keyof CallInit>>
> = {
  params: true,
  body: true,
  headers: true,
  envelope: true,
  maxRetries: true,
  timeoutMs: true,
  idempotent: true,
  signal: true,
  parseAs: true,
  maxResponseBytes: true,
  querySerializer: true,
  bodySerializer: true,
};
const { method: _ofTheOperation, ...passedOn } = fetchNames;
const callNames = { ...passedOn, ...ownNames };
const parameterNames: NamesOf<CallParameters> = {
  path: true,
  query: true,
  header: true,
  cookie: true,
};

function callAdvice(name: string): string | undefined {
  if (Object.hasOwn(parameterNames, name)) return "Pass it in params.";
  return name === "method" ? "The operation has its own." : undefined;
}

/**
 * Checks the names of a call's init, and returns the members that only the fetch reads, if there
 * are any.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function fetchInitOf(init: CallInit): RequestInit | undefined {
  requireOptions("call", requireObject("init", init), callNames, callAdvice);
  const params = requireObject("params", init.params ?? {});
  requireOptions("params", params, parameterNames);
  for (const place of ["path", "query", "cookie"] as const) {
    const values = params[place];
    // A Map or a URLSearchParams has no members, and would be left out of the request.
    if (values !== undefined && !isPlain(values))
      throw invalidOption(`params.${place}`, "must be an object of values by name");
  }
  let others: Record<string, unknown> | undefined;
  for (const name of Object.keys(init)) {
    if (name in ownNames) continue;
    others ??= {};
    others[name] = (init as Record<string, unknown>)[name];
  }
  return others;
}
