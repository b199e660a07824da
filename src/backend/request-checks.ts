/** What the backend reads and checks of a request: its origin, its cookies and its JSON body. */
import type { z } from "zod";
import { ConfigurationError, isConfigurationError } from "../errors.js";
import { parseBaseUrl } from "../variants/target.js";
import { Refusal } from "./error-answer.js";

export interface OriginOptions {
  /** The origin of the option `publicUrl`. */
  readonly publicOrigin: string | undefined;
  /** Other origins whose pages may use the backend. */
  readonly origins: readonly string[];
  readonly allowInsecureHttp: boolean;
}

/** The backend's own origin, as browsers see it. */
export function ownOrigin(request: Request, { publicOrigin }: OriginOptions): string {
  return publicOrigin ?? new URL(request.url).origin;
}

export function isAllowedOrigin(origin: string, request: Request, options: OriginOptions): boolean {
  return origin === ownOrigin(request, options) || options.origins.includes(origin);
}

/**
 * Browsers send `Origin` with every request that is neither GET nor HEAD (Fetch standard, section 3.2). A request
 * without one, or from a sandboxed page ("null"), is refused.
 */
export function requireAllowedOrigin(request: Request, options: OriginOptions): void {
  const origin = request.headers.get("origin");
  if (origin === null || !isAllowedOrigin(origin, request, options)) throw new Refusal("origin_refused");
}

/** The CORS headers that let pages of other allowed origins read the answer. */
export function crossOriginHeaders(
  request: Request,
  options: OriginOptions,
): Readonly<Record<string, string>> {
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
 * Whether browsers reach the backend over https.
 *
 * @throws ConfigurationError `option_invalid` for plain http to another machine, where cookies could be read on the way
 */
export function isSecure(request: Request, options: OriginOptions): boolean {
  const origin = ownOrigin(request, options);
  try {
    parseBaseUrl(origin, options.allowInsecureHttp);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    throw new ConfigurationError(
      "option_invalid",
      "The request came over plain http from another machine. If a proxy ends TLS, set publicUrl to the https address that browsers use.",
      { option: "publicUrl" },
    );
  }
  return origin.startsWith("https:");
}

/**
 * The name of a cookie of ours. Browsers accept the prefix `__Host-` only over https, and only from this very host; on
 * loopback over plain http, for development, the name has no prefix.
 */
export function cookieName(use: string, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}bivariant-${use}`;
}

/** `name=value` of each cookie of a request, in the order in which the browser sent them. */
function cookiePairs(request: Request): readonly string[] {
  return (request.headers.get("cookie") ?? "").split(/;[ \t]*/);
}

/** The names of a request's cookies. */
export function cookieNames(request: Request): readonly string[] {
  return [...new Set(cookiePairs(request).map((pair) => pair.slice(0, Math.max(0, pair.indexOf("=")))))];
}

/**
 * The value of a cookie; `undefined` if it is empty, or if there are several of that name, because then one is planted.
 *
 * Names are compared byte for byte. A browser lets another host of the site set a cookie whose name only looks like
 * ours, with a no-break space before it for instance. `trim()` would accept that cookie despite the prefix `__Host-`.
 */
export function readCookie(request: Request, name: string): string | undefined {
  const found = cookiePairs(request).filter((pair) => pair.startsWith(`${name}=`));
  if (found.length !== 1) return undefined;
  return found[0]?.slice(name.length + 1).replace(/[ \t]+$/, "") || undefined;
}

export interface CookieToSet {
  readonly name: string;
  readonly value: string;
  /** 0 removes the cookie. */
  readonly maxAgeSeconds: number;
  /** Whether pages in another site's iframe need the cookie, as the page of a plugin does. */
  readonly inIframes: boolean;
  readonly isSecure: boolean;
}

/** A value for `Set-Cookie` (RFC 6265bis section 4.1). */
export function cookieHeader({ name, value, maxAgeSeconds, inIframes, isSecure }: CookieToSet): string {
  const attributes = [`${name}=${value}`, `Max-Age=${maxAgeSeconds}`, "Path=/", "HttpOnly"];
  // Only a partitioned cookie reaches an iframe of another site. Browsers accept Secure from loopback over plain http
  // too, and refuse SameSite=None without it.
  if (inIframes) attributes.push("SameSite=None", "Secure", "Partitioned");
  else attributes.push("SameSite=Lax", ...(isSecure ? ["Secure"] : []));
  return attributes.join("; ");
}

/** A code, a verifier and two names take a few hundred bytes. */
const longestBodyBytes = 65_536;

/**
 * The JSON body of a request. An empty body is read as `{}`.
 *
 * @throws Refusal `type_not_supported`, `body_too_large`, `request_invalid`
 */
export async function readJson<S extends z.ZodObject>(request: Request, schema: S): Promise<z.infer<S>> {
  // A form on another site can send text/plain or form data without a CORS preflight, but not application/json.
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal("type_not_supported");
  const text = await readText(request);
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    throw new Refusal("request_invalid");
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = Object.keys(schema.shape);
  // Only the schema's own names: nothing that was sent goes into the answer.
  const wrong = fields.filter((field) => parsed.error.issues.some(({ path }) => path[0] === field));
  if (wrong.length === 0) throw new Refusal("request_invalid");
  const message = `Missing or invalid: ${wrong.join(", ")}. The body must hold ${fields.join(", ")}.`;
  throw new Refusal("request_invalid", { message });
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > longestBodyBytes)
    throw new Refusal("body_too_large");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const { signal } = request;
  let text = "";
  let size = 0;
  let cancel = () => {};
  try {
    const reader = request.body?.getReader();
    cancel = () => reader?.cancel().catch(() => {});
    // The body of a client that went away may never end.
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
      size += chunk.value.byteLength;
      if (size > longestBodyBytes) {
        // Not awaited: a client that never stops sending must not delay the answer.
        cancel();
        throw new Refusal("body_too_large");
      }
      text += decoder.decode(chunk.value, { stream: true });
    }
    if (signal.aborted) throw new Refusal("client_gone");
    return text + decoder.decode();
  } catch (error) {
    // The body broke off, was read before, or is not UTF-8.
    throw error instanceof Refusal ? error : new Refusal("request_invalid");
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
