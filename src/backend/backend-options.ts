/** The options of createBackend, checked once, with their defaults. */
import { z } from "zod";
import type { OperationTypes } from "../../generated/operations.js";
import { type AuthOptions, resolveAuthOptions } from "../auth/auth-options.js";
import type { TokenStore } from "../auth/token-store.js";
import type { LookupTypes } from "../client/outcome.js";
import { invalidOption } from "../options.js";
import type { CreateServiceOptions } from "../service.js";
import { memoryStore } from "../stores/memory.js";
import { parseBaseUrl } from "../variants/target.js";
import { type BackendDeployment, Deployments, type FindDeployment } from "./deployments.js";
import { guardedStore } from "./records.js";
import type { OriginOptions } from "./request-checks.js";

export interface SessionOptions {
  /**
   * Keeps the session in a `__Host-` cookie (Secure, HttpOnly, SameSite=None, Partitioned) instead of the page's memory.
   * The session then survives a reload of the page, and every request that changes something needs the CSRF token.
   * Default false.
   */
  readonly cookie?: boolean | undefined;
  /** The time after which a session ends, even in use. Default 8 hours. */
  readonly lifetimeMs?: number | undefined;
  /** The time without a request after which a session ends. Default 1 hour. */
  readonly idleMs?: number | undefined;
}

/** Where an error happened, and what the browser received instead of it. */
export interface ErrorContext {
  readonly status: number;
  /** The stable code of the answer; `none` for an error that no answer shows. */
  readonly code: string;
  /** The name of the route, or `answer` for an error that was passed to `backend.answer`. */
  readonly route: string;
}

export interface BackendOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    Pick<CreateServiceOptions<T>, "api" | "validate"> {
  /** The deployments of all customers, or a function that looks one up. */
  readonly deployments: readonly BackendDeployment[] | FindDeployment;
  /** The path of the routes. Default "/auth". */
  readonly path?: string | undefined;
  /**
   * The origin at which browsers reach this backend, such as "https://planner.example". Set it behind a proxy that ends
   * TLS or changes the Host. Default: the origin of the request's URL.
   */
  readonly publicUrl?: string | undefined;
  /** Other origins whose pages may use the backend; their requests are answered with CORS headers. Default: none. */
  readonly origins?: readonly string[] | undefined;
  readonly session?: SessionOptions | undefined;
  /**
   * Receives every error behind an answer, except refused requests of browsers, whose answers say all there is. What it
   * throws is ignored. Default: errors behind a 5xx go to `console.error`.
   */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined;
}

export interface Settings extends OriginOptions {
  readonly deployments: Deployments;
  readonly path: string;
  readonly session: { readonly cookie: boolean; readonly lifetimeMs: number; readonly idleMs: number };
  readonly store: TokenStore;
  /** Holds pending logins. Anyone can start a login, which must not evict sessions from a store in memory. */
  readonly loginStore: TokenStore;
  /** Calls `onError`, and never throws. Without a context the error is one that no answer shows. */
  readonly report: (error: unknown, context?: ErrorContext) => void;
  /** For redeemLaunch, beginLogin, completeLogin and resumeAuth. */
  readonly auth: AuthOptions & { readonly store: TokenStore };
  readonly now: () => number;
  readonly timeoutMs: number;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

/** A token is stored shortly before its session begins, so it must be kept a little longer. */
const slackMs = 3_600_000;
/** The most pending logins in memory. The oldest is forgotten beyond that. */
const mostLogins = 10_000;

const duration = "must be a number of milliseconds from 1000 to 366 days";
const durationMs = z
  .number(duration)
  .min(1_000, duration)
  .max(366 * 24 * 3_600_000, duration);
const flag = z.boolean("must be true or false");
const text = z.string("must be a string");
const isFunction = (value: unknown) => typeof value === "function";
const optionsSchema = z.looseObject({
  path: text
    .regex(
      /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/,
      'must be a path such as "/auth": a slash at the start and none at the end, and segments of letters, digits and ._~- that do not start with a dot',
    )
    .default("/auth"),
  publicUrl: text.optional(),
  origins: z.array(text, 'must be an array of origins such as ["https://planner.example"]').default([]),
  session: z
    .strictObject(
      {
        cookie: flag.default(false),
        lifetimeMs: durationMs.default(8 * 3_600_000),
        idleMs: durationMs.default(3_600_000),
      },
      "must be an object with no other properties than cookie, lifetimeMs and idleMs",
    )
    .prefault({}),
  onError: z
    .custom<NonNullable<BackendOptions["onError"]>>(isFunction, "must be a function")
    .default(() => printFault),
  allowInsecureHttp: flag.default(false),
});

/** @throws ConfigurationError */
export function parseOptions<T extends LookupTypes>(options: BackendOptions<T>): Settings {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalidOption(issue?.path.join(".") || "options", issue?.message ?? "must be an object");
  }
  const { path, session, publicUrl, allowInsecureHttp, onError } = parsed.data;
  const { now, timeoutMs, waitUntil = () => {} } = resolveAuthOptions(options);
  const guard = (store: TokenStore) =>
    guardedStore(store, { timeoutMs, now, longestMs: session.lifetimeMs + slackMs });
  const store = guard(options.store ?? memoryStore({ now }));
  const publicOrigin =
    publicUrl === undefined ? undefined : parseOrigin(publicUrl, "publicUrl", allowInsecureHttp);
  const { fetch, rateLimitDeadlineMs, onEvent, shareInFlight, tenantIdPattern } = options;
  return {
    ...{ path, session, publicOrigin, allowInsecureHttp, store, now, timeoutMs, waitUntil },
    origins: parsed.data.origins.map((origin) => parseOrigin(origin, "origins", allowInsecureHttp)),
    deployments: new Deployments(options.deployments, { allowInsecureHttp, tenantIdPattern, publicOrigin }),
    loginStore: options.store === undefined ? guard(memoryStore({ now, mostEntries: mostLogins })) : store,
    report: (error, context = { status: 200, code: "none", route: "session" }) => {
      try {
        const result: unknown = onError(error, context);
        if (result instanceof Promise) result.catch(() => {});
      } catch {
        // A listener that fails must not change the answer to the browser.
      }
    },
    auth: {
      ...{ fetch, now, timeoutMs, rateLimitDeadlineMs, onEvent, shareInFlight, tenantIdPattern },
      ...{ allowInsecureHttp, waitUntil: options.waitUntil, store },
    },
  };
}

/** Faults in the settings would otherwise be visible only as a page that does not work. */
function printFault(error: unknown, { status, route }: ErrorContext): void {
  if (status >= 500) console.error(`bivariant/backend, ${route}:`, error);
}

function parseOrigin(value: string, option: string, allowInsecureHttp: boolean): string {
  try {
    const origin = parseBaseUrl(value, allowInsecureHttp);
    if (new URL(origin).origin === origin) return origin;
  } catch {
    // Reported below under the option's own name.
  }
  throw invalidOption(
    option,
    'must be an origin such as "https://planner.example"; plain http only for loopback',
  );
}
