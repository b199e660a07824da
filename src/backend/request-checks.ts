/**
 * Reads and checks the origin, the session token, the cookies and the body of a request, and makes
 * cookies.
 */
import type { z } from "zod";
import { isConfigurationError } from "../errors.js";
import { parseJson } from "../http/exchange.js";
import { invalidOption } from "../options.js";
import type { Settings } from "./backend-options.js";
import { originOf } from "./deployments.js";
import { Refusal, SessionError } from "./error-answer.js";
import { areEqual, csrfTokenOf } from "./records.js";

export function ownOrigin(request: Request, { publicOrigin }: Settings): string {
  return publicOrigin ?? new URL(request.url).origin;
}

export function isAllowedOrigin(origin: string, request: Request, options: Settings): boolean {
  return origin === ownOrigin(request, options) || options.origins.includes(origin);
}

export function crossOriginHeaders(request: Request, options: Settings): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null || origin === ownOrigin(request, options)) return {};
  if (!isAllowedOrigin(origin, request, options)) return { vary: "origin" };
  return {
    vary: "origin",
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "retry-after",
  };
}

/**
 * Whether browsers use https. Refuses plain http from another machine, where cookies could be read.
 */
export function isSecure(request: Request, options: Settings): boolean {
  const origin = ownOrigin(request, options);
  if (originOf(origin, options.allowInsecureHttp) !== undefined) return origin.startsWith("https:");
  throw invalidOption(
    "publicUrl",
    "must be set, because a request came over plain http from another machine",
    "If a proxy ends TLS, use the https address that browsers use.",
  );
}

/**
 * Browsers accept the prefix `__Host-` only over https, so a backend on http (loopback) leaves it
 * out. With the prefix every cookie has the path `/`, so the name has that of the backend.
 */
export function cookieName(use: string, request: Request, options: Settings): string {
  const path = options.path === "/auth" ? "" : options.path.replaceAll("/", "!");
  return `${isSecure(request, options) ? "__Host-" : ""}bivariant-${use}${path}`;
}

/** Browsers keep far less. Node accepts 64 KiB of headers over HTTP/2, and 16 KiB over HTTP/1.1. */
const longestCookies = 65_536;
const parsedCookies = new WeakMap<Request, ReadonlyMap<string, string | undefined>>();

/**
 * Returns the cookies by name, in the order of the header, which is split once for each request.
 * The value is `undefined` if several cookies have that name, because one may be planted.
 */
function cookiesOf(request: Request): ReadonlyMap<string, string | undefined> {
  const parsed = parsedCookies.get(request);
  if (parsed !== undefined) return parsed;
  const header = request.headers.get("cookie") ?? "";
  if (header.length > longestCookies) throw new Refusal("cookies_too_large");
  const cookies = new Map<string, string | undefined>();
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at < 0) continue;
    // Names must be equal byte for byte. `trim()` would accept a planted name after a no-break
    // space.
    const name = pair.slice(0, at).replace(/^[ \t]+/, "");
    cookies.set(name, cookies.has(name) ? undefined : pair.slice(at + 1));
  }
  parsedCookies.set(request, cookies);
  return cookies;
}

export function cookieNames(request: Request): readonly string[] {
  return [...cookiesOf(request).keys()];
}

/** Returns `undefined` if the cookie is missing or empty, or if several have that name. */
export function readCookie(request: Request, name: string): string | undefined {
  return cookiesOf(request).get(name)?.trimEnd() || undefined;
}

/**
 * Makes a value for `Set-Cookie` (RFC 6265bis section 4.1). With the value "" the browser removes
 * the cookie.
 */
export function cookieHeader(
  name: string,
  value: string,
  lifetimeMs: number,
  attributes: string,
): string {
  const maxAge = value === "" ? 0 : Math.floor(lifetimeMs / 1_000);
  return `${name}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly${attributes}`;
}

/**
 * Whether the person or an allowed page led the browser here (W3C Fetch Metadata). Old browsers do
 * not say. Another origin of the same site must be in `origins`: a navigation has no `Origin`, so
 * `Referer` names the page.
 */
export function isOwnNavigation({ headers }: Request, { origins }: Settings): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== "same-site") return site === null || site === "same-origin" || site === "none";
  const referrer = headers.get("referer") ?? "";
  return URL.canParse(referrer) && origins.includes(new URL(referrer).origin);
}

/**
 * For sessions in cookies, which browsers add to requests of any site. Bearer tokens need no such
 * check.
 */
export function refuseCrossSite({ headers }: Request): void {
  if (headers.get("sec-fetch-site") === "cross-site")
    throw new SessionError("origin_refused", "Requests from another site are not accepted.");
}

/**
 * A code, a verifier and a state have some kB at most. Each of 256 exchanges may hold a body in
 * memory.
 */
const longestBodyBytes = 65_536;

export const csrfHeader = "x-bivariant-csrf";

export function bearerToken(request: Request): string {
  const [, token] = /^bearer +(\S.*)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (token === undefined)
    throw new SessionError(
      "session_missing",
      "The request names no session. Send it as a bearer token.",
    );
  return token;
}

export function cookieToken(request: Request, settings: Settings): string | undefined {
  if (!settings.session.cookie) return undefined;
  return readCookie(request, cookieName("session", request, settings));
}

/**
 * Accepts only requests from our own pages, because browsers add the cookie to requests from any
 * site.
 */
export async function guardedCookieToken(request: Request, settings: Settings): Promise<string> {
  refuseCrossSite(request);
  const origin = request.headers.get("origin");
  // These methods change nothing (RFC 9110 section 9.2.1).
  const isSafe = ["GET", "HEAD", "OPTIONS"].includes(request.method);
  if (origin === null ? !isSafe : !isAllowedOrigin(origin, request, settings))
    throw new SessionError("origin_refused", "Requests from this origin are not accepted.");
  const token = cookieToken(request, settings);
  if (token === undefined)
    throw new SessionError(
      "session_missing",
      "The request names no session: its cookie is missing.",
    );
  const csrf = request.headers.get(csrfHeader);
  if (isSafe && csrf === null) return token;
  if (areEqual(csrf ?? "", await csrfTokenOf(token))) return token;
  // All tabs share the cookie. If another tab replaced the session, this tab must not read the new
  // one.
  if (isSafe)
    throw new SessionError(
      "session_unknown",
      "Another session has replaced this one. Start a new session.",
    );
  throw new SessionError(
    "csrf_refused",
    `Send the session's CSRF token in the header ${csrfHeader}.`,
  );
}

export async function readJson<S extends z.ZodObject>(
  request: Request,
  schema: S,
  settings: Settings,
): Promise<z.infer<S>> {
  // A form on another site can send text/plain or form data without a CORS preflight, but not
  // application/json.
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal("type_not_supported");
  const text = await readText(request, settings);
  const parsed = schema.safeParse(text === "" ? {} : parseJson(text));
  if (parsed.success) return parsed.data;
  const fields = Object.keys(schema.shape);
  // These are names from the schema, so that the answer repeats nothing that was sent.
  const wrong = fields.filter((field) => parsed.error.issues.some(({ path }) => path[0] === field));
  if (wrong.length === 0) throw new Refusal("request_invalid");
  const message =
    `Missing or invalid: ${wrong.join(", ")}. ` + `The body must hold ${fields.join(", ")}.`;
  throw new Refusal("request_invalid", { message });
}

async function readText(
  { headers, body, bodyUsed, signal }: Request,
  { timeoutMs, clock }: Settings,
): Promise<string> {
  if (bodyUsed)
    throw invalidOption(
      "request",
      "has a body that was read before",
      "Add the backend's route before the middleware that reads it, or read a `clone()` there.",
    );
  if (Number(headers.get("content-length") ?? 0) > longestBodyBytes)
    throw new Refusal("body_too_large");
  // The rest of the body stays unread, and would be taken for the next request.
  const closing = { headers: { connection: "close" } };
  let size = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, sink) {
      size += chunk.byteLength;
      if (size > longestBodyBytes) throw new Refusal("body_too_large", closing);
      sink.enqueue(chunk);
    },
  });
  // The body of a client that went away, or that sends a byte now and then, may never end.
  const end = new AbortController();
  const timer = clock.setTimeout(() => end.abort(new Refusal("body_timeout", closing)), timeoutMs);
  const leave = () => end.abort(new Refusal("client_gone"));
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  try {
    // The rest is not cancelled, because node:http would then close the connection before the
    // answer.
    const limited = body?.pipeThrough(limit, { signal: end.signal, preventCancel: true });
    return new TextDecoder("utf-8", { fatal: true }).decode(
      await new Response(limited).arrayBuffer(),
    );
  } catch (error) {
    if (error instanceof Refusal || isConfigurationError(error)) throw error;
    // The body broke off, or is not UTF-8.
    throw new Refusal(signal.aborted ? "client_gone" : "request_invalid");
  } finally {
    clock.clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}
