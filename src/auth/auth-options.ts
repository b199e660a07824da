/** The options that every way to a token shares, checked once and with their defaults filled in. */
import { ConfigurationError } from "../errors.js";
import { requireClock, requireDuration } from "../options.js";
import type { Fetch } from "../variants/target.js";
import type { OnEvent } from "./events.js";
import type { TokenStore } from "./token-store.js";

export interface AuthOptions {
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
  /** Allows plain http to other machines than loopback. */
  readonly allowInsecureHttp?: boolean | undefined;
  /** Default `[A-Za-z0-9_~-][A-Za-z0-9._~-]*`, anchored. */
  readonly tenantIdPattern?: RegExp | undefined;
}

/** The options that are given: one that is `undefined` hides no other. */
export function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** The options with their defaults. */
export interface ResolvedAuthOptions {
  readonly fetch: Fetch;
  /** Whether `fetch` is the caller's own. */
  readonly hasOwnFetch: boolean;
  readonly now: () => number;
  readonly timeoutMs: number;
  readonly rateLimitDeadlineMs: number;
  readonly onEvent: OnEvent | undefined;
  readonly store: TokenStore | undefined;
  readonly waitUntil: ((promise: Promise<unknown>) => void) | undefined;
  readonly shareInFlight: boolean;
}

/** @throws ConfigurationError `option_invalid` */
export function resolveAuthOptions(options: AuthOptions): ResolvedAuthOptions {
  for (const name of ["fetch", "onEvent", "waitUntil"] as const) {
    if (options[name] !== undefined && typeof options[name] !== "function")
      throw invalid(name, "is no function");
  }
  for (const name of ["shareInFlight", "allowInsecureHttp"] as const) {
    if (options[name] !== undefined && typeof options[name] !== "boolean")
      throw invalid(name, "is neither true nor false");
  }
  if (options.store !== undefined && !isStore(options.store))
    throw invalid("store", "is no token store: that has get, set, delete and lock");
  if (options.tenantIdPattern !== undefined && !(options.tenantIdPattern instanceof RegExp))
    throw invalid("tenantIdPattern", "is no regular expression");
  return {
    // Looked up per call, so that a test tool that replaces the global fetch later is seen.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    hasOwnFetch: options.fetch !== undefined,
    now: requireClock(options.now),
    timeoutMs: requireDuration("timeoutMs", options.timeoutMs, 10_000, 1),
    rateLimitDeadlineMs: requireDuration("rateLimitDeadlineMs", options.rateLimitDeadlineMs, 60_000, 0),
    onEvent: options.onEvent,
    store: options.store,
    waitUntil: quiet(options.waitUntil),
    shareInFlight: options.shareInFlight ?? true,
  };
}

function isStore(store: unknown): boolean {
  const methods = (store ?? {}) as Record<string, unknown>;
  return ["get", "set", "delete", "lock"].every((name) => typeof methods[name] === "function");
}

/** A runtime may refuse to keep a promise alive, after an answer was sent for instance: no caller is harmed by it. */
function quiet(waitUntil: AuthOptions["waitUntil"]): AuthOptions["waitUntil"] {
  if (waitUntil === undefined) return undefined;
  return (promise) => {
    try {
      waitUntil(promise);
    } catch {
      // The promise runs on as long as the runtime lets it.
    }
  };
}

function invalid(option: string, why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${option} ${why}.`, { option });
}
