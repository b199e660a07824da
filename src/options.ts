/**
 * The checks of options that all parts of the core share. An option that fails a check causes a
 * ConfigurationError that names the option, says what is wrong and then what to do.
 */
import type { DeploymentSettings } from "./contract/learning/settings.js";
import { ConfigurationError } from "./errors.js";
import { type Advice, type Names, type NamesOf, unknownName } from "./option-names.js";

/**
 * Makes the error for an invalid option. `problem` continues the name of the option ("must be
 * ..."); `remedy` is a sentence of its own.
 *
 * @example throw invalidOption("clock.now", "must be a function that returns epoch milliseconds")
 */
export function invalidOption(
  option: string,
  problem: string,
  remedy?: string,
): ConfigurationError {
  const message = `${option} ${problem}.${remedy === undefined ? "" : ` ${remedy}`}`;
  return new ConfigurationError("option_invalid", message, { option });
}

/** Checks that an options argument is an object. @throws ConfigurationError `option_invalid` */
export function requireObject<T extends object>(option: string, value: T): T {
  if (typeof value === "object" && value !== null) return value;
  throw invalidOption(option, "must be an object");
}

/** Refuses another object than a store. @throws ConfigurationError `option_invalid` */
export function requireStore(store: unknown): void {
  const methods = Object(store) as Record<string, unknown>;
  if (["get", "set", "delete", "lock"].every((name) => typeof methods[name] === "function")) return;
  throw invalidOption("store", "must be a token store with get, set, delete and lock");
}

/**
 * Checks that an options argument is an object whose names the function `of` knows.
 * @throws ConfigurationError `option_invalid`
 */
export function requireOptions<T extends object>(
  of: string,
  options: T,
  names: NoInfer<NamesOf<T>>,
  advice?: Advice,
): T {
  const unknown = unknownName(of, requireObject("options", options), names as Names, advice);
  if (unknown === undefined) return options;
  throw new ConfigurationError("option_invalid", unknown.message, { option: unknown.name });
}

/**
 * Copies options without those that are `undefined`, which would hide the defaults that they are
 * spread over.
 */
export function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as T;
}

/** A settings file may be spread into the options of a function that takes only some of it. */
export const settingNames: NamesOf<DeploymentSettings> = {
  bearerBody: false,
  bearerStatus: false,
  unauthorizedStatuses: false,
  clientErrorBody: false,
  clientErrorStatus: false,
  codeLifetimeSeconds: false,
  devices: false,
  envelope: false,
  fixedTextFullStop: false,
  issuerInCallback: false,
  launchState: false,
  malformedError: false,
  missingCapabilityBody: false,
  narrowingDelayMs: false,
  pluginTokenRefusedStatus: false,
  rateLimit: false,
  rateLimitedAttemptSpendsCode: false,
  refreshPath: false,
  refreshTokens: false,
  refusedPluginError: false,
  requireKid: false,
  revoShape: false,
  rules: false,
  successStatus: false,
  tokenLifetimeSeconds: false,
  tokenResponseExtras: false,
  unauthenticatedAttemptSpendsCode: false,
  userIdType: false,
  variants: false,
};

/** Checks the type of options that may be left out. @throws ConfigurationError `option_invalid` */
export function requireTypes<T extends object>(
  options: T,
  type: "function" | "boolean" | "string",
  names: readonly (keyof T & string)[],
): void {
  for (const name of names)
    if (options[name] !== undefined && typeof options[name] !== type)
      throw invalidOption(name, `must be a ${type}`);
}

/** With a longer time `setTimeout` fires at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/**
 * Checks a duration in milliseconds that a timer can keep.
 * @throws ConfigurationError `option_invalid`
 */
export function requireDuration(
  option: string,
  value: unknown,
  fallback: number,
  least: number,
): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value >= least && value <= longestTimerMs) return value;
  throw invalidOption(
    option,
    `must be a number of milliseconds from ${least} to ${longestTimerMs}`,
  );
}

/** Checks a whole number. @throws ConfigurationError `option_invalid` */
export function requireWhole<F extends number | undefined>(
  option: string,
  value: unknown,
  fallback: F,
  least: number,
): number | F {
  if (value === undefined) return fallback;
  if (Number.isInteger(value) && Number(value) >= least) return Number(value);
  throw invalidOption(option, `must be a whole number from ${least}`);
}

/**
 * Checks that a signal is an `AbortSignal` of any realm. `null` is the same as `undefined`, as in a
 * RequestInit.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function requireSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined;
  if (signal instanceof AbortSignal) return signal;
  const { aborted, addEventListener, removeEventListener } = signal as Partial<AbortSignal>;
  const isEventTarget =
    typeof addEventListener === "function" && typeof removeEventListener === "function";
  if (typeof aborted === "boolean" && isEventTarget) return signal as AbortSignal;
  throw invalidOption("signal", "must be an AbortSignal");
}

/** No code is nearly as long. A longer string would only cost memory. */
const longestCode = 4_096;

/**
 * Checks a code (RFC 6749 appendix A.11: visible ASCII).
 * @throws ConfigurationError `option_invalid`
 */
export function requireCode(code: unknown): string {
  if (typeof code === "string" && code.length <= longestCode && /^[\x20-\x7e]+$/.test(code))
    return code;
  throw invalidOption("code", `must be 1 to ${longestCode} visible ASCII characters`);
}

/** Checks a verifier (RFC 7636 section 4.1). @throws ConfigurationError `option_invalid` */
export function requireCodeVerifier(verifier: unknown): string {
  if (typeof verifier === "string" && /^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return verifier;
  throw invalidOption(
    "codeVerifier",
    "must be a PKCE verifier: 43 to 128 letters, digits and -._~",
  );
}

/** Unlike `instanceof` this knows the classes of other realms. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value);
}

/** Whether a value is an object of members, and not a list, a Map or the like. */
export function isPlain(value: unknown): boolean {
  return tagOf(value) === "[object Object]";
}

/**
 * Whether a value can be written as text. NaN and Infinity have no form that a reader of numbers
 * knows.
 */
export function isText(value: unknown): value is string | number | boolean | bigint {
  const type = typeof value;
  return type === "string" || type === "boolean" || type === "bigint" || Number.isFinite(value);
}

/**
 * Encodes text for a URL. encodeURIComponent leaves five characters that RFC 6570 reserves. Most
 * texts need no encoding, and a test costs a sixth.
 */
export function percentEncode(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The name of a header or a method (RFC 9110 section 5.6.2). */
export const httpToken: RegExp = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/**
 * A header value may have visible characters, spaces, tabs and bytes above 0x7F (RFC 9110 section
 * 5.5).
 */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A fetch replaces the host, and fails for the others. */
const nameOfFetch = /^(?:expect|host|keep-alive|transfer-encoding|upgrade)$/;

/**
 * Merges headers of any realm into a plain record with lower-case names. It is cheaper than the
 * class, and any fetch accepts it. Later arguments win; `null` or `undefined` removes a header. An
 * error message never contains a value.
 */
export function headerRecord(
  ...all: readonly (RequestInit["headers"] | Readonly<Record<string, unknown>> | undefined)[]
): Record<string, string> {
  const record: Record<string, string> = {};
  for (const headers of all) {
    if (headers === undefined || headers === null) continue;
    if (typeof headers !== "object")
      throw invalidOption("headers", "must be an object or a list of pairs");
    const isList = Symbol.iterator in headers;
    // A name that a list has twice is one header (RFC 9110 section 5.3).
    const listed = isList ? new Set<string>() : undefined;
    for (const entry of (isList ? headers : Object.entries(headers)) as Iterable<unknown>) {
      if (!Array.isArray(entry) || entry.length !== 2)
        throw invalidOption("headers", "must hold pairs of a name and a value");
      const [name, value] = entry as [unknown, unknown];
      const key = String(name).toLowerCase();
      const text = String(value);
      if (value === null || value === undefined) {
        delete record[key];
        listed?.delete(key);
      } else if (!httpToken.test(key) || key === "__proto__")
        throw invalidOption("headers", "hold a name that cannot be sent");
      else if (nameOfFetch.test(key))
        throw invalidOption(
          "headers",
          `must not hold ${key}: the fetch writes it`,
          "Leave it out.",
        );
      else if (headerValue.test(text)) {
        const joint = key === "cookie" ? "; " : ", ";
        record[key] = listed?.has(key) ? record[key] + joint + text : text;
        listed?.add(key);
      } else
        throw invalidOption(
          "headers",
          `hold a forbidden character, such as a line break, in ${key}`,
        );
    }
  }
  return record;
}
