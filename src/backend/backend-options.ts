/** The options of createBackend, checked once and with their defaults. */
import { z } from "zod";
import type { OperationTypes } from "../../generated/operations.js";
import { type AuthOptions, resolveAuthOptions } from "../auth/auth-options.js";
import type { TokenStore } from "../auth/token-store.js";
import type { LookupTypes } from "../client/outcome.js";
import type { CreateServiceOptions } from "../create-service.js";
import { ConfigurationError } from "../errors.js";
import { memoryStore } from "../stores/memory.js";
import { parseBaseUrl } from "../variants/target.js";
import { type BackendDeployment, Deployments, type FindDeployment } from "./deployments.js";
import { guardedStore } from "./records.js";
import type { OriginOptions } from "./request-checks.js";

export interface SessionOptions {
  /**
   * Keeps the session in a `__Host-` cookie (Secure, HttpOnly, SameSite=None, Partitioned) instead of the page's
   * memory: it survives a reload of the page, and every request that changes something needs the CSRF token. Default
   * false.
   */
  readonly cookie?: boolean | undefined;
  /** The fixed end of a session after its beginning. Default 8 hours. */
  readonly lifetimeMs?: number | undefined;
  /** A session that nobody used for so long is over. Default 1 hour. */
  readonly idleMs?: number | undefined;
}

/** Where an error happened and what the browser was told instead of it. */
export interface ErrorContext {
  readonly status: number;
  /** The stable code of the answer. */
  readonly code: string;
  /** The route's name, or `answer` for what was given to `backend.answer`. */
  readonly route: string;
}

export interface BackendOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    Pick<CreateServiceOptions<T>, "api" | "validate"> {
  /** The deployments of all customers, or a function that looks one up. */
  readonly deployments: readonly BackendDeployment[] | FindDeployment;
  /** The path under which the routes are. Default "/auth". */
  readonly path?: string | undefined;
  /**
   * The origin at which browsers reach this backend, such as "https://planner.example". Default: that of the request's
   * URL, which is another one behind a proxy that ends TLS or changes the Host.
   */
  readonly publicUrl?: string | undefined;
  /** Other origins whose pages may use the backend; they are answered with CORS headers. Default: none. */
  readonly origins?: readonly string[] | undefined;
  readonly session?: SessionOptions | undefined;
  /**
   * Told of every error behind an answer, the refused requests of browsers aside: their answers hold only a code. What
   * it throws is ignored. Default: those behind a 5xx go to `console.error`.
   */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined;
}

export interface Settings extends OriginOptions {
  readonly deployments: Deployments;
  readonly path: string;
  readonly session: { readonly cookie: boolean; readonly lifetimeMs: number; readonly idleMs: number };
  readonly store: TokenStore;
  /** For browsers that log in: whoever comes along begins a login, which must not push out anybody's session. */
  readonly loginStore: TokenStore;
  readonly onError: (error: unknown, context: ErrorContext) => void;
  /** For redeemLaunch, beginLogin, completeLogin and resumeAuth. */
  readonly auth: AuthOptions & { readonly store: TokenStore };
  readonly now: () => number;
  readonly timeoutMs: number;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** Tokens are had a while before their session begins. */
const slackMs = 3_600_000;
/** Whoever comes along can begin a login: beyond these the oldest is forgotten. */
const mostLogins = 10_000;

const duration = "is no number of milliseconds from 1000 to those of 366 days";
const durationMs = z
  .number(duration)
  .min(1_000, duration)
  .max(366 * 24 * 3_600_000, duration);
const flag = z.boolean("is neither true nor false");
const isFunction = (value: unknown) => typeof value === "function";
const shape = z.looseObject({
  path: z
    .string("is no text")
    .regex(
      /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/,
      'is no path such as "/auth": it begins with a slash and ends without one, and its segments hold letters, digits and ._~- and begin with no dot',
    )
    .default("/auth"),
  publicUrl: z.string("is no text").optional(),
  origins: z
    .array(z.string("is no text"), 'is no list of origins such as ["https://planner.example"]')
    .default([]),
  session: z
    .strictObject(
      {
        cookie: flag.default(false),
        lifetimeMs: durationMs.default(8 * 3_600_000),
        idleMs: durationMs.default(3_600_000),
      },
      "is no object with cookie, lifetimeMs and idleMs alone",
    )
    .prefault({}),
  onError: z.custom<Settings["onError"]>(isFunction, "is no function").optional(),
  allowInsecureHttp: flag.default(false),
  store: z
    .custom<TokenStore>(
      (value) => ["get", "set", "delete", "lock"].every((name) => hasMethod(value, name)),
      "is no token store: that has get, set, delete and lock",
    )
    .optional(),
});

/** @throws ConfigurationError */
export function parseOptions<T extends LookupTypes>(options: BackendOptions<T>): Settings {
  const parsed = shape.safeParse(options);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(issue?.path.join(".") || "options", issue?.message ?? "are wrong");
  }
  const { store: given, publicUrl, origins, allowInsecureHttp, onError, ...rest } = parsed.data;
  const { now, timeoutMs, waitUntil = () => {} } = resolveAuthOptions(options);
  const { lifetimeMs } = rest.session;
  const guard = (held: TokenStore) => guardedStore(held, { timeoutMs, now, longestMs: lifetimeMs + slackMs });
  const store = guard(given ?? memoryStore({ now }));
  const publicOrigin =
    publicUrl === undefined ? undefined : parseOrigin(publicUrl, "publicUrl", allowInsecureHttp);
  return {
    path: rest.path,
    session: rest.session,
    deployments: new Deployments(options.deployments, { ...options, publicOrigin }),
    publicOrigin,
    origins: origins.map((origin) => parseOrigin(origin, "origins", allowInsecureHttp)),
    allowInsecureHttp,
    store,
    loginStore: given === undefined ? guard(memoryStore({ now, mostEntries: mostLogins })) : store,
    onError: onError ?? reportFaults,
    auth: { ...authOptions(options), store },
    ...{ now, timeoutMs, waitUntil },
  };
}

function authOptions(options: AuthOptions): AuthOptions {
  const { fetch, now, timeoutMs, rateLimitDeadlineMs, onEvent } = options;
  const { waitUntil, shareInFlight, allowInsecureHttp, tenantIdPattern } = options;
  return {
    ...{ fetch, now, timeoutMs, rateLimitDeadlineMs, onEvent },
    ...{ waitUntil, shareInFlight, allowInsecureHttp, tenantIdPattern },
  };
}

/** What nobody listens to must not vanish: a fault in the settings would look like a broken page. */
function reportFaults(error: unknown, { status, route }: ErrorContext): void {
  if (status >= 500) console.error(`bivariant/backend, ${route}:`, error);
}

function parseOrigin(value: string, option: string, allowInsecureHttp: boolean): string {
  try {
    const origin = parseBaseUrl(value, allowInsecureHttp);
    if (new URL(origin).origin === origin) return origin;
  } catch {
    // Told below, under the option's own name.
  }
  throw invalid(option, 'is no origin such as "https://planner.example" (plain http only to loopback)');
}

function hasMethod(value: unknown, name: string): boolean {
  return isFunction((value as Record<string, unknown> | null | undefined)?.[name]);
}

function invalid(option: string, why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${option} ${why}.`, { option });
}
