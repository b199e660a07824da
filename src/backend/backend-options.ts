/** Checks the options of createBackend once, and fills in their defaults. */
import { z } from "zod";
import type { OperationTypes } from "../../generated/operations.js";
import { emit, type ServiceEvent } from "../auth/auth.js";
import { type TokenStore, withStoreErrors } from "../auth/shared/token-store.js";
import type { LookupTypes } from "../client/outcome.js";
import {
  type AuthOptions,
  authNames,
  type CallOptions,
  type CreateServiceOptions,
  callNames,
  resolveAuthOptions,
} from "../client-options.js";
import { countdown, type ResolvedClock, zero } from "../clock.js";
import { isConfigurationError } from "../errors.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireOptions, requireTypes, settingNames } from "../options.js";
import type { ServiceOf } from "../service.js";
import { memoryStore } from "../stores/memory.js";
import {
  type BackendDeployment,
  type DeploymentOptions,
  type Deployments,
  type FindDeployment,
  originOf,
  parseDeployments,
} from "./deployments.js";

/** How sessions are kept, and how long they live. */
export interface SessionOptions {
  /**
   * Keeps the session in a `__Host-` cookie instead of the page's memory. It then survives a reload
   * of the page, and every request that changes something needs the CSRF token. Default false.
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

/** A person as `identify` names one. A name that is `null` counts as absent. */
export interface IdentifiedPerson {
  /**
   * The same in all logins of this person, and no other person's at this deployment; at most 256
   * characters.
   */
  readonly userId: string;
  readonly firstname?: string | null | undefined;
  readonly lastname?: string | null | undefined;
}

/**
 * An event of a service, or `session_unknown` or `login_unknown`: a backend without a `store` was
 * sent a session, or came back from a login, that it does not know, although it has the right form.
 * Several replicas then need a shared `store`, or the backend was restarted, or a session had been
 * ended. The backend says each once; `at` is in epoch milliseconds.
 */
export type BackendEvent =
  | ServiceEvent
  | { readonly type: "session_unknown" | "login_unknown"; readonly at: number };

/** The options of {@link createBackend}. */
export interface BackendOptions<T extends LookupTypes = OperationTypes>
  extends AuthOptions,
    Pick<CreateServiceOptions<T>, "api" | keyof CallOptions> {
  /** The deployments of all customers, or a function that looks one up. */
  readonly deployments: readonly BackendDeployment[] | FindDeployment;
  /** The path of the routes. Default "/auth". */
  readonly path?: string | undefined;
  /**
   * The origin at which browsers reach this backend, such as "https://planner.example". Set it
   * behind a proxy that ends TLS or changes the Host. Default: the origin of the request's URL.
   */
  readonly publicUrl?: string | undefined;
  /**
   * Other origins whose pages may use the backend, each in full; their requests are answered with
   * CORS headers. Those of the same site may also link to `GET login`. Default: none.
   */
  readonly origins?: readonly string[] | undefined;
  readonly session?: SessionOptions | undefined;
  /**
   * Finds out who logged in, because the token answers of Variant B do not say it. It is called
   * once after each login, with a service that calls as that person, and must answer within
   * `timeoutMs`. The session keeps the answer as its `operator`. If it fails, the login is refused
   * (`identify_failed`) and its tokens are forgotten; `onError` receives why. Default: the persons
   * of logins are not known.
   */
  readonly identify?:
    | ((service: ServiceOf<"B", T>) => IdentifiedPerson | Promise<IdentifiedPerson>)
    | undefined;
  /**
   * Its events are more than those of a service. A listener for those alone must check
   * `"requestId" in event`.
   */
  readonly onEvent?: ((event: BackendEvent) => void) | undefined;
  /**
   * Names the client that sent a request: `remoteAddress`, or a header that only your proxy can
   * set. After 20 refused launches or logins at a deployment, that client is answered 429 there for
   * a while. Default: clients are not told apart: behind a proxy all have one address, and a
   * stranger could lock them out.
   */
  readonly clientKey?: ((request: Request) => string | undefined) | undefined;
  /**
   * Receives every error that led to an answer, and what the answer to a refused request must not
   * say: an unknown tenant or host, and the page's and the backend's origin if these differ
   * (`origin_refused`). Other refused requests are not reported, because their answers say
   * everything. Anyone can send either, so limit what you print. Errors that it throws are ignored.
   * Default: it prints with `console.error` the errors that led to a 5xx and, at most every 10 s, a
   * request that the configuration makes impossible.
   */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined;
}

/** The options of a backend, checked, and its deployments. */
export interface Settings extends DeploymentOptions, Deployments {
  readonly origins: readonly string[];
  readonly session: {
    readonly cookie: boolean;
    readonly lifetimeMs: number;
    readonly idleMs: number;
  };
  readonly store: TokenStore;
  /**
   * Says once, without a `store` of your own, that another replica may know a session or a login.
   */
  readonly reportUnknown: (type: "session_unknown" | "login_unknown") => void;
  /** Calls `onError`, and never throws. Pass no context if no answer reports the error. */
  readonly report: (error: unknown, context?: ErrorContext) => void;
  readonly clientKey: BackendOptions["clientKey"];
  readonly auth: AuthOptions & { readonly store: TokenStore };
}

const duration = "must be a number of milliseconds from 1000 to 366 days";
/** More is a mistake in the unit: browsers keep no cookie for much longer. */
const longestMs = 366 * 24 * 3_600_000;
const durationMs = z.number(duration).min(1_000, duration).max(longestMs, duration);
const flag = z.boolean("must be true or false");
const text = z.string("must be a string");
const optionsSchema = z.looseObject({
  path: text
    .regex(
      /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/,
      'must be a path such as "/auth": a slash at the start and none at the end, and segments of ' +
        "letters, digits and ._~- that do not start with a dot",
    )
    .default("/auth"),
  publicUrl: text.optional(),
  origins: z
    .array(text, 'must be an array of origins such as ["https://planner.example"]')
    .default([]),
  session: z
    .object(
      {
        cookie: flag.default(false),
        lifetimeMs: durationMs.default(8 * 3_600_000),
        idleMs: durationMs.default(3_600_000),
      },
      "must be an object with cookie, lifetimeMs or idleMs",
    )
    .prefault({}),
});

const names: NamesOf<BackendOptions> = {
  ...settingNames,
  ...callNames,
  ...authNames,
  api: true,
  deployments: true,
  path: true,
  publicUrl: true,
  origins: true,
  session: true,
  identify: true,
  clientKey: true,
  onError: true,
};

const sessionNames: NamesOf<SessionOptions> = { cookie: true, lifetimeMs: true, idleMs: true };

/** Without this, mistakes in the settings would be visible only as a page that does not work. */
function printer(clock: ResolvedClock): NonNullable<BackendOptions["onError"]> {
  let leftMs = zero;
  return (error, { status, route }) => {
    // Strangers can ask for unknown tenants as often as they like.
    const isDue = leftMs() <= 0 && [error, Object(error).cause].some(isConfigurationError);
    if (status < 500 && !isDue) return;
    // Often enough to be seen while one tries it out, and few lines in a flood.
    if (isDue) leftMs = countdown(10_000, clock);
    console.error(`bivariant/backend, ${route}:`, error);
  };
}

/** @throws ConfigurationError */
export function parseOptions<T extends LookupTypes>(options: BackendOptions<T>): Settings {
  const parsed = optionsSchema.safeParse(requireOptions("createBackend", options, names));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalidOption(issue?.path.join(".") || "options", issue?.message ?? "must be an object");
  }
  requireTypes(options, "function", ["clientKey", "identify", "onError"]);
  requireOptions("session", options.session ?? {}, sessionNames);
  const { path, session, publicUrl } = parsed.data;
  const resolved = resolveAuthOptions(options);
  const { clock, timeoutMs, allowInsecureHttp } = resolved;
  const { onError = printer(clock) } = options;
  const authOptions: AuthOptions = Object.fromEntries(
    Object.entries(options).filter(([name]) => name in authNames),
  );
  const ownStore = options.store ?? memoryStore({ clock });
  const store = withStoreErrors(ownStore, timeoutMs, clock);
  // People may never log out. It is longer than a session, because a token is stored shortly
  // before.
  const tokenStore = expiring(ownStore, () => clock.now() + session.lifetimeMs + 3_600_000);
  const problem =
    'must be one exact origin such as "https://planner.example", without a wildcard; ' +
    "http only for loopback";
  const parseOrigin = (option: string) => (value: string) => {
    const origin = originOf(value, allowInsecureHttp);
    if (origin === undefined) throw invalidOption(option, problem);
    return origin;
  };
  const publicOrigin = publicUrl === undefined ? undefined : parseOrigin("publicUrl")(publicUrl);
  const checked: DeploymentOptions = { ...resolved, path, publicOrigin };
  const reported = new Set<string>();
  return {
    ...checked,
    ...parseDeployments(options.deployments, checked),
    session,
    store,
    reportUnknown: (type) => {
      if (options.store !== undefined || reported.has(type)) return;
      // Anyone can send an unknown session or login.
      reported.add(type);
      emit(options.onEvent, { type, at: clock.now() });
    },
    origins: parsed.data.origins.map(parseOrigin("origins")),
    clientKey: options.clientKey,
    report: (error, context = { status: 200, code: "none", route: "session" }) => {
      // A listener that fails must not change the answer to the browser.
      (async () => onError(error, context))().catch(() => {});
    },
    auth: { ...authOptions, store: tokenStore, timeoutMs, clock },
  };
}

/** A store in which every entry expires, at the latest when `expiry` says. */
function expiring(store: TokenStore, expiry: () => number): TokenStore {
  return {
    lossWindowMs: store.lossWindowMs,
    get: (key) => store.get(key),
    set(key, value, { expiresAt = Number.POSITIVE_INFINITY, ...options } = {}) {
      return store.set(key, value, { ...options, expiresAt: Math.min(expiresAt, expiry()) });
    },
    delete: (key) => store.delete(key),
    lock: (...rest) => store.lock(...rest),
  };
}
