/**
 * Checks the arguments of a store's methods before anything is written. Throws `option_invalid`.
 */
import type { TokenStore } from "../auth/shared/token-store.js";
import type { NamesOf } from "../option-names.js";
import { invalidOption, requireOptions } from "../options.js";

export function requireKey(key: unknown): void {
  if (typeof key !== "string") throw invalidOption("key", "must be a string");
}

type EntryOptions = NonNullable<Parameters<TokenStore["set"]>[2]>;
type LockOptions = NonNullable<Parameters<TokenStore["lock"]>[2]>;

const entryNames: NamesOf<EntryOptions> = { ifVersion: true, expiresAt: true, signal: true };
const lockNames: NamesOf<LockOptions> = { timeoutMs: true };

/**
 * Checks the arguments of `set`. A value that is not a string could make a whole file unreadable.
 */
export function requireEntry(
  key: unknown,
  value: unknown,
  options: EntryOptions = {},
): EntryOptions {
  requireKey(key);
  if (typeof value !== "string") throw invalidOption("value", "must be a string");
  const { ifVersion, expiresAt } = requireOptions("set", options, entryNames);
  if (ifVersion !== undefined && ifVersion !== null && typeof ifVersion !== "string")
    throw invalidOption("ifVersion", "must be a version or null");
  if (expiresAt !== undefined && !isNumber(expiresAt))
    throw invalidOption("expiresAt", "must be a time in epoch milliseconds");
  return options;
}

/** Checks the arguments of `lock`, and returns how long to wait. */
export function requireLock(key: unknown, task: unknown, options: LockOptions = {}): number {
  requireKey(key);
  if (typeof task !== "function") throw invalidOption("task", "must be a function");
  const { timeoutMs = 10_000 } = requireOptions("lock", options, lockNames);
  if (isNumber(timeoutMs) && timeoutMs >= 0) return timeoutMs;
  throw invalidOption("timeoutMs", "must be a number of milliseconds, 0 or more");
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}
