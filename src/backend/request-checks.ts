/** Where a request reached the backend and which page sent it: what origin checks and cookies go by. */

import type { z } from "zod";
import { ConfigurationError, isConfigurationError } from "../errors.js";
import { parseBaseUrl } from "../variants/target.js";
import { Refusal } from "./error-answer.js";

export interface OriginOptions {
  /** The origin of `publicUrl`, where that is given. */
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
 * Browsers send `Origin` with every request that is neither GET nor HEAD (the Fetch standard, section 3.2): one
 * without, or of a sandboxed page ("null"), is refused.
 */
export function requireAllowedOrigin(request: Request, options: OriginOptions): void {
  const origin = request.headers.get("origin");
  if (origin === null || !isAllowedOrigin(origin, request, options)) throw new Refusal("origin_refused");
}

/**
 * Whether cookies can be Secure.
 *
 * @throws ConfigurationError `option_invalid` for plain http to another machine, where a cookie could be read on the way
 */
export function isSecure(request: Request, options: OriginOptions): boolean {
  const origin = ownOrigin(request, options);
  try {
    parseBaseUrl(origin, options.allowInsecureHttp);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    throw new ConfigurationError(
      "option_invalid",
      "The request came over plain http from another machine. If a proxy ends TLS, give publicUrl: the https address that browsers use.",
      { option: "publicUrl" },
    );
  }
  return origin.startsWith("https:");
}

/** What lets the pages of other allowed origins read the answer; those of the own origin need nothing. */
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

/** What a cookie is for. */
export type CookieUse = "login" | "session";

/**
 * The `__Host-` prefix makes the browser refuse one that another host or a plain http page set. A browser takes the
 * prefix only over https: on loopback, for development, the name goes without.
 */
export function cookieName(use: CookieUse, isSecure: boolean): string {
  return `${isSecure ? "__Host-" : ""}bivariant-${use}`;
}

/**
 * The value under a name; `undefined` too when it is empty, or when there are several, for then somebody planted one.
 *
 * The name counts byte for byte. A browser lets another host of the site set a cookie whose name only looks like ours,
 * with a no-break space before it for instance: `trim()` would make it ours, past all that `__Host-` promises.
 */
export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/;[ \t]*/);
  const found = pairs.filter((pair) => pair.startsWith(`${name}=`));
  if (found.length !== 1) return undefined;
  return found[0]?.slice(name.length + 1).replace(/[ \t]+$/, "") || undefined;
}

export interface CookieToSet {
  readonly use: CookieUse;
  readonly isSecure: boolean;
  readonly value: string;
  /** 0 takes the cookie back. */
  readonly maxAgeSeconds: number;
}

/** A value for `Set-Cookie` (RFC 6265bis section 4.1). */
export function cookieHeader({ use, isSecure, value, maxAgeSeconds }: CookieToSet): string {
  return [
    `${cookieName(use, isSecure)}=${value}`,
    `Max-Age=${maxAgeSeconds}`,
    "Path=/",
    "HttpOnly",
    ...siteAttributes(use, isSecure),
  ].join("; ");
}

function siteAttributes(use: CookieUse, isSecure: boolean): readonly string[] {
  // A login is a navigation of the whole window: no other site's page needs this cookie.
  if (use === "login") return ["SameSite=Lax", ...(isSecure ? ["Secure"] : [])];
  // The plugin's page lives in another site's iframe: only a partitioned cookie gets there. Browsers take Secure from
  // loopback over plain http too, and without it they refuse SameSite=None.
  return ["SameSite=None", "Secure", "Partitioned"];
}

/** A code, a verifier and two names take a few hundred bytes. */
const mostBodyBytes = 65_536;

/**
 * A body that is left out is `{}`.
 *
 * @throws Refusal `type_not_supported`, `body_too_large`, `request_invalid`
 */
export async function readJson<S extends z.ZodObject>(request: Request, schema: S): Promise<z.infer<S>> {
  // A form of another site can send text/plain and forms without asking; application/json it cannot.
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
  // By our own names for them: what was sent stays out of the answer.
  const wrong = fields.filter((field) => parsed.error.issues.some(({ path }) => path[0] === field));
  if (wrong.length === 0) throw new Refusal("request_invalid");
  const message = `Missing, or not as documented: ${wrong.join(", ")}. The body holds ${fields.join(", ")}.`;
  throw new Refusal("request_invalid", { message });
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > mostBodyBytes) throw new Refusal("body_too_large");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  const { signal } = request;
  let leave = () => {};
  try {
    const reader = request.body?.getReader();
    // A sender that is gone may never end its body: what is being read of it ends here.
    leave = () => reader?.cancel().catch(() => {});
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
      size += chunk.value.byteLength;
      if (size > mostBodyBytes) {
        // Not awaited: a sender that never stops must not delay the answer.
        leave();
        throw new Refusal("body_too_large");
      }
      text += decoder.decode(chunk.value, { stream: true });
    }
    if (signal.aborted) throw new Refusal("client_gone");
    return text + decoder.decode();
  } catch (error) {
    // It broke off, was read by somebody else, or is no UTF-8.
    throw error instanceof Refusal ? error : new Refusal("request_invalid");
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
