/** Checks the options of createBackend once, and fills in their defaults. */
import { z } from "zod";
import type { OperationTypes } from "../../generated/operations.js";
import { type AuthOptions, resolveAuthOptions, type ServiceEvent } from "../auth/auth.js";
import { type TokenStore, withStoreErrors } from "../auth/token-store.js";
import type { LookupTypes } from "../client/outcome.js";
import { invalidOption } from "../options.js";
import type { CreateServiceOptions } from "../service.js";
import { memoryStore } from "../stores/memory.js";
import { type BackendDeployment, deploymentFinder, type FindDeployment, originOf } from "./deployments.js";

export interface SessionOptions {
  /**
   * Keeps the session in a `__Host-` cookie instead of the page's memory. It then survives a reload of the page, and
   * every request that changes something needs the CSRF token. Default false.
   */
  readonly cookie?: boolean | undefined;
  /** The time after which a session ends, even if it is in use. Default 8 hours. */
  readonly lifetimeMs?: number | undefined;
  /** The time without a request after which a session ends. Default 1 hour. */
  readonly idleMs?: number | undefined;
}

/** Where an error happened, and what the browser received instead of it. */
export interface ErrorContext {
  readonly status: number;
  /** The stable code of the answer, or `none` if no answer reports the error. */
  readonly code: string;
  /** The name of the route, or `answer` for an error that was passed to `backend.answer`. */
  readonly route: string;
}

/**
 * An event of a service, or `session_unknown`: a backend without a `store` was sent a session that it does not
 * know, although it has the right form. Several replicas then need a shared `store`, or the backend was restarted,
 * or the session had been ended. The backend says so once; `at` is in epoch milliseconds.
 */
export type BackendEvent = ServiceEvent | { readonly type: "session_unknown"; readonly at: number };

/** It is the type of a method, so that a listener for the events of a service alone is accepted too. */
type OnBackendEvent = { listen(event: BackendEvent): void }["listen"];

export interface BackendOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    Pick<CreateServiceOptions<T>, "api" | "validate" | "retries" | "bearerStatuses"> {
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
  readonly onEvent?: OnBackendEvent | undefined;
  /**
   * Receives every error that led to an answer, except for refused requests, whose answers say everything.
   * Errors that it throws are ignored. Default: it prints the errors that led to a 5xx with `console.error`.
   */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined;
}

export interface Settings {
  readonly publicOrigin: string | undefined;
  readonly origins: readonly string[];
  readonly allowInsecureHttp: boolean;
  readonly findDeployment: ReturnType<typeof deploymentFinder>;
  readonly path: string;
  readonly session: { readonly cookie: boolean; readonly lifetimeMs: number; readonly idleMs: number };
  readonly store: TokenStore;
  /** Whether the option `store` is set. Otherwise sessions are in the memory of this process. */
  readonly hasOwnStore: boolean;
  readonly onEvent: OnBackendEvent | undefined;
  /** Holds pending logins. Anyone can start a login, which must not evict sessions from a store in memory. */
  readonly loginStore: TokenStore;
  /** Calls `onError`, and never throws. Pass no context if no answer reports the error. */
  readonly report: (error: unknown, context?: ErrorContext) => void;
  readonly auth: AuthOptions & { readonly store: TokenStore };
  readonly now: () => number;
  readonly timeoutMs: number;
  readonly waitUntil: (promise: Promise<unknown>) => void;
}

const duration = "must be a number of milliseconds from 1000 to 366 days";
const longestMs = 366 * 24 * 3_600_000;
const durationMs = z.number(duration).min(1_000, duration).max(longestMs, duration);
const flag = z.boolean("must be true or false");
const text = z.string("must be a string");
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
    .custom<NonNullable<BackendOptions["onError"]>>(
      (value) => typeof value === "function",
      "must be a function",
    )
    // Without this, mistakes in the settings would be visible only as a page that does not work.
    .default(() => (error: unknown, { status, route }: ErrorContext) => {
      if (status >= 500) console.error(`bivariant/backend, ${route}:`, error);
    }),
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
  const guard = (store: TokenStore) => withStoreErrors(store, timeoutMs);
  // People may never log out. It is longer than a session, because a token is stored shortly before.
  const ownStore = expiring(
    options.store ?? memoryStore({ now }),
    () => now() + session.lifetimeMs + 3_600_000,
  );
  const store = guard(ownStore);
  const problem = 'must be an origin such as "https://planner.example"; http only for loopback';
  const parseOrigin = (option: string) => (value: string) => {
    const origin = originOf(value, allowInsecureHttp);
    if (origin === undefined) throw invalidOption(option, problem);
    return origin;
  };
  const publicOrigin = publicUrl === undefined ? undefined : parseOrigin("publicUrl")(publicUrl);
  return {
    path,
    session,
    publicOrigin,
    allowInsecureHttp,
    store,
    hasOwnStore: options.store !== undefined,
    onEvent: options.onEvent,
    now,
    timeoutMs,
    waitUntil,
    origins: parsed.data.origins.map(parseOrigin("origins")),
    findDeployment: deploymentFinder(options.deployments, {
      allowInsecureHttp,
      publicOrigin,
      fetch: options.fetch,
      tenantIdPattern: options.tenantIdPattern,
    }),
    loginStore: options.store === undefined ? guard(memoryStore({ now, mostEntries: 10_000 })) : store,
    report: (error, context = { status: 200, code: "none", route: "session" }) => {
      // A listener that fails must not change the answer to the browser.
      (async () => onError(error, context))().catch(() => {});
    },
    auth: { ...options, store: ownStore, timeoutMs },
  };
}

/** A store in which every entry expires. */
function expiring(store: TokenStore, expiry: () => number): TokenStore {
  return {
    get: (key) => store.get(key),
    set: (key, value, options) => store.set(key, value, { expiresAt: expiry(), ...options }),
    delete: (key) => store.delete(key),
    lock: (...rest) => store.lock(...rest),
  };
}
