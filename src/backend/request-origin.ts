/** Where a request reached the backend and which page sent it: what origin checks and cookies go by. */
import { ConfigurationError, isConfigurationError } from "../errors.js";
import { parseBaseUrl } from "../variants/target.js";
import { Refusal } from "./refusal.js";

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
