/** The options of every way to a token: checked once, with their defaults. */
import { invalidOption, requireClock, requireDuration, requireTypes } from "../options.js";
import type { Fetch, TargetOptions } from "../variants/target.js";
import type { OnEvent } from "./events.js";
import type { TokenStore } from "./token-store.js";

export interface AuthOptions extends Pick<TargetOptions, "allowInsecureHttp" | "tenantIdPattern"> {
  /** Always called with a string and a RequestInit, so that undici's own fetch works. Default: the global one. */
  readonly fetch?: Fetch | undefined;
  /** Epoch milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** One HTTP request, from sending to the last byte. Default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** How long a caller waits for a rate limit or a failing token endpoint. Default 60 000. */
  readonly rateLimitDeadlineMs?: number | undefined;
  readonly onEvent?: OnEvent | undefined;
  /** Shares tokens among processes. */
  readonly store?: TokenStore | undefined;
  /** Keeps a background renewal alive in workers: `(promise) => context.waitUntil(promise)`. */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /**
   * Whether concurrent callers share one token request. Default true; false for runtimes in which a promise made
   * in one request must not be awaited in another.
   */
  readonly shareInFlight?: boolean | undefined;
}

/** A copy without the options that are `undefined`, so that they do not hide the defaults they are spread over. */
export function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** The options with their defaults. */
export interface ResolvedAuthOptions {
  readonly fetch: Fetch;
  /** Whether `fetch` was passed by the caller. */
  readonly hasOwnFetch: boolean;
  readonly now: () => number;
  readonly timeoutMs: number;
  readonly rateLimitDeadlineMs: number;
  readonly onEvent: OnEvent | undefined;
  readonly store: TokenStore | undefined;
  readonly waitUntil: (promise: Promise<unknown>) => void;
  readonly shareInFlight: boolean;
}

/** @throws ConfigurationError `option_invalid` */
export function resolveAuthOptions(options: AuthOptions): ResolvedAuthOptions {
  requireTypes(options, "function", ["fetch", "onEvent", "waitUntil"]);
  requireTypes(options, "boolean", ["shareInFlight", "allowInsecureHttp"]);
  const { store, waitUntil } = options;
  if (store !== undefined && !isStore(store))
    throw invalidOption("store", "must be a token store with get, set, delete and lock");
  if (options.tenantIdPattern !== undefined && !(options.tenantIdPattern instanceof RegExp))
    throw invalidOption("tenantIdPattern", "must be a regular expression");
  return {
    // Looked up per call, so that a test tool may replace the global fetch later.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    hasOwnFetch: options.fetch !== undefined,
    now: requireClock(options.now),
    timeoutMs: requireDuration("timeoutMs", options.timeoutMs, 10_000, 1),
    rateLimitDeadlineMs: requireDuration("rateLimitDeadlineMs", options.rateLimitDeadlineMs, 60_000, 0),
    onEvent: options.onEvent,
    store,
    waitUntil: (promise) => {
      try {
        waitUntil?.(promise);
      } catch {
        // The runtime may refuse, for instance after the answer was sent. The promise runs as long as it is allowed to.
      }
    },
    shareInFlight: options.shareInFlight ?? true,
  };
}

function isStore(store: unknown): boolean {
  const methods = (store ?? {}) as Record<string, unknown>;
  return ["get", "set", "delete", "lock"].every((name) => typeof methods[name] === "function");
}
