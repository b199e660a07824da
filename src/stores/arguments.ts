/** The arguments of a store's methods and options, checked before anything is written: JavaScript passes anything. */
import { ConfigurationError } from "../errors.js";

/** @throws ConfigurationError `option_invalid` */
export function checkKey(key: unknown): void {
  if (typeof key !== "string") throw invalid("key", "is no text");
}

export interface EntryOptions {
  readonly ifVersion?: string | null;
  readonly expiresAt?: number;
}

/**
 * What is no text would be read back as something else, or make the whole file unreadable.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function checkEntry(key: unknown, value: unknown, options: unknown): EntryOptions {
  checkKey(key);
  if (typeof value !== "string") throw invalid("value", "is no text");
  const checked = optionsOf(options) as EntryOptions;
  const { ifVersion, expiresAt } = checked;
  if (ifVersion !== undefined && ifVersion !== null && typeof ifVersion !== "string")
    throw invalid("ifVersion", "is neither a version nor null");
  if (expiresAt !== undefined && !isNumber(expiresAt)) throw invalid("expiresAt", "is no instant");
  return checked;
}

/** Milliseconds to wait for a lock. @throws ConfigurationError `option_invalid` */
export function checkLock(key: unknown, options: unknown, defaultMs: number): number {
  checkKey(key);
  const { timeoutMs = defaultMs } = optionsOf(options) as { timeoutMs?: number };
  if (isNumber(timeoutMs) && timeoutMs >= 0) return timeoutMs;
  throw invalid("timeoutMs", "is no number of milliseconds from 0");
}

/** @throws ConfigurationError `option_invalid` */
export function checkNow(now: unknown): () => number {
  if (now === undefined) return Date.now;
  if (typeof now === "function") return now as () => number;
  throw invalid("now", "is no function");
}

/** @throws ConfigurationError `option_invalid` */
export function optionsOf(options: unknown): object {
  if (options === undefined) return {};
  if (typeof options === "object" && options !== null) return options;
  throw invalid("options", "are no object");
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}

function invalid(option: string, why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${option} ${why}.`, { option });
}
