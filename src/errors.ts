/**
 * Every public error of the core, the union of their codes, and the redaction that keeps secrets
 * out of them.
 */

/** One of the two contradicting descriptions of the service. */
export type Variant = "A" | "B";

/** One request of a detection, its answer, and what this says about the variant. */
export interface Evidence {
  readonly variant: Variant;
  /** `token endpoint`, or `sibling`: the made-up path that Variant B's answer is compared with. */
  readonly question: "token endpoint" | "sibling";
  readonly url: string;
  readonly status: number;
  readonly contentType?: string;
  readonly says: "yes" | "no" | "unknown";
  /**
   * Why the answer says so. The only words it takes from the answer are the documented error codes.
   */
  readonly reason: string;
}

/**
 * Which variants a deployment serves, with the evidence. A variant that was not asked about is
 * `unknown`.
 */
export interface Detection {
  readonly served: Readonly<Record<Variant, "yes" | "no" | "unknown">>;
  /** One entry per request, in the order in which they were sent. */
  readonly evidence: readonly Evidence[];
  /** Epoch milliseconds. */
  readonly detectedAt: number;
}

/** A cause that local evidence supports. Where several are listed, the most likely comes first. */
export interface Cause {
  /** A stable name in lower snake case. */
  readonly id: string;
  readonly summary: string;
  readonly evidence: string;
  /** What to do, in the words of the customer's settings page where there is one. */
  readonly remedy: string;
}

/** The codes of a {@link ConfigurationError}. The table of errors says what to do about each. */
export type ConfigurationErrorCode =
  | "base_url_invalid"
  | "base_url_insecure"
  | "tenant_id_invalid"
  | "credential_missing"
  | "credential_invalid"
  | "key_invalid"
  | "key_unsupported"
  | "key_too_short"
  | "key_id_required"
  | "operation_unknown"
  | "path_parameter_missing"
  | "path_parameter_invalid"
  | "option_invalid";
/** The codes of a {@link VariantError}. */
export type VariantErrorCode = "variant_not_served" | "variant_unknown" | "variant_changed";
/** The codes of an {@link UnexpectedResponseError}. */
export type UnexpectedResponseErrorCode =
  | "response_not_json"
  | "response_media_type"
  | "response_too_large"
  | "response_shape"
  | "response_redirected";
/** The codes of a {@link TransportError}. */
export type TransportErrorCode = "network_failed" | "timed_out" | "tls_failed";
/**
 * The codes of a {@link RelaunchRequiredError}. `launch_outcome_unknown`: the answer to the
 * exchange of the code was lost.
 */
export type RelaunchRequiredErrorCode =
  | "launch_refused"
  | "launch_expired"
  | "launch_outcome_unknown";
/**
 * The codes of a {@link LoginRequiredError}. `login_outcome_unknown`: the answer to the exchange or
 * the refresh was lost.
 */
export type LoginRequiredErrorCode =
  | "login_refused"
  | "login_expired"
  | "login_denied"
  | "login_outcome_unknown"
  | "state_mismatch";
/**
 * The codes of an {@link ApiError}, by the status of the answer (sections 7.2 and 7.3 of the
 * description).
 */
export type ApiErrorCode =
  | "api_unauthorized"
  | "api_forbidden"
  | "api_rate_limited"
  | "api_refused"
  | "api_failed"
  | "api_undocumented";
/** The codes of the backend's session errors; their class is in `bivariant/backend`. */
export type SessionErrorCode =
  | "session_missing"
  | "session_unknown"
  | "session_expired"
  | "origin_refused"
  | "csrf_refused";
/** The codes of a {@link StoreError}. */
export type StoreErrorCode =
  | "store_unavailable"
  | "store_locked"
  | "store_corrupt"
  | "store_conflict";

/** Every code an error of this package can carry. */
export type ErrorCode =
  | ConfigurationErrorCode
  | VariantErrorCode
  | UnexpectedResponseErrorCode
  | TransportErrorCode
  | RelaunchRequiredErrorCode
  | LoginRequiredErrorCode
  | ApiErrorCode
  | StoreErrorCode
  | SessionErrorCode
  | "token_refused"
  | "rate_limited";

/**
 * The mark of these errors. It works across realms and copies of the package, where `instanceof`
 * fails.
 */
const brand: unique symbol = Symbol.for("bivariant.error") as never;

/** What an error is about, as far as it was known where it was made. None of it is secret. */
export interface ErrorContext {
  readonly tenantId?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly variant?: Variant | undefined;
  readonly clientId?: string | undefined;
  /**
   * The id in the events of the request that failed. Calls that wait for one token request share
   * its error.
   */
  readonly requestId?: string | undefined;
  /**
   * Absent if the error is about a token, since calls of several operations may wait for one token.
   */
  readonly operationId?: string | undefined;
}

/** The base class of every error of this package. */
export abstract class BivariantError<Code extends ErrorCode = ErrorCode> extends Error {
  /**
   * A stable name for what happened, in lower snake case. The class says what the caller can do
   * about it.
   */
  readonly code: Code;
  declare readonly variant?: Variant;
  /** Of these five, the ones that were known when the error was made (see ErrorContext). */
  declare readonly tenantId?: string;
  declare readonly baseUrl?: string;
  declare readonly clientId?: string;
  declare readonly requestId?: string;
  declare readonly operationId?: string;

  constructor(
    name: string,
    code: Code,
    message: string,
    {
      cause,
      known = [],
      ...fields
    }: { variant?: Variant | undefined; cause?: unknown; known?: string[] } = {},
  ) {
    // A ConfigurationError has a cause only if a function of the caller's own failed.
    const own = name === "ConfigurationError" ? known : undefined;
    super(message, cause === undefined ? undefined : { cause: withoutSecrets(cause, own) });
    hide(this, "name", name);
    hide(this, brand, name);
    this.code = code;
    for (const [field, value] of Object.entries(fields))
      if (value !== undefined) Object.assign(this, { [field]: value });
  }

  /** Returns the name, the message and the enumerable fields, but never a body or a secret. */
  toJSON(): Record<string, unknown> {
    return Object.assign(
      { name: this.name, message: this.message } as Record<string, unknown>,
      this,
    );
  }
}

/**
 * An option, a key or a call is wrong. Correct the program or its settings. No credential was sent.
 */
export class ConfigurationError extends BivariantError<ConfigurationErrorCode> {
  /** The option that is wrong, if the error is about one. */
  declare readonly option?: string;

  constructor(
    code: ConfigurationErrorCode,
    message: string,
    context: {
      option?: string | undefined;
      variant?: Variant;
      cause?: unknown;
      known?: string[];
    } = {},
  ) {
    super("ConfigurationError", code, message, context);
  }
}

/**
 * No variant was found, or the deployment has changed its variant. Name the variant, or connect
 * again.
 */
export class VariantError extends BivariantError<VariantErrorCode> {
  declare readonly detection: Detection;

  constructor(
    code: VariantErrorCode,
    message: string,
    context: { detection: Detection; variant?: Variant },
  ) {
    super("VariantError", code, message, context);
  }
}

/** The token endpoint refused the request. Change the credential or its registration. */
export class TokenRequestError extends BivariantError<"token_refused"> {
  /** The `error` of the answer (RFC 6749 section 5.2), bounded and without control characters. */
  declare readonly error?: string;
  declare readonly errorDescription?: string;
  declare readonly errorUri?: string;
  declare readonly status: number;
  /** The likely causes of an opaque refusal, ranked by local evidence. */
  declare readonly causes: readonly Cause[];
  /** Epoch milliseconds before which no other request is sent for this identity. */
  declare readonly retryAt?: number;

  constructor(
    message: string,
    context: {
      variant: Variant;
      status: number;
      error?: string | undefined;
      errorDescription?: string | undefined;
      errorUri?: string | undefined;
      causes?: readonly Cause[];
      retryAt?: number | undefined;
    },
  ) {
    super("TokenRequestError", "token_refused", message, { causes: [], ...context });
  }
}

/** The tenant's rate limit at the token endpoint was hit. Wait until `retryAt`. */
export class RateLimitedError extends BivariantError<"rate_limited"> {
  /** Epoch milliseconds. */
  declare readonly retryAt: number;

  constructor(message: string, context: { variant?: Variant; retryAt: number }) {
    super("RateLimitedError", "rate_limited", message, context);
  }
}

/** The launch is over. The person must open the plugin again from the host application. */
export class RelaunchRequiredError extends BivariantError<RelaunchRequiredErrorCode> {
  constructor(code: RelaunchRequiredErrorCode, message: string, context: { cause?: unknown } = {}) {
    super("RelaunchRequiredError", code, message, { ...context, variant: "A" });
  }
}

/** The login is over. The person must log in again. */
export class LoginRequiredError extends BivariantError<LoginRequiredErrorCode> {
  constructor(code: LoginRequiredErrorCode, message: string, context: { cause?: unknown } = {}) {
    super("LoginRequiredError", code, message, { ...context, variant: "B" });
  }
}

/**
 * The description shows no such answer. Often it is from another server, a proxy or the other
 * variant.
 */
export class UnexpectedResponseError extends BivariantError<UnexpectedResponseErrorCode> {
  declare readonly status: number;
  /** The paths of the fields that are wrong and what was expected there, but never their values. */
  declare readonly issues: readonly string[];
  /** A detection of both variants, present when the other variant would explain the answer. */
  declare readonly detection?: Detection;

  constructor(
    code: UnexpectedResponseErrorCode,
    message: string,
    context: {
      status: number;
      issues?: readonly string[];
      variant?: Variant;
      detection?: Detection;
    },
  ) {
    super("UnexpectedResponseError", code, message, { issues: [], ...context });
  }
}

/** No answer arrived: the network failed, the time limit passed or the certificate was refused. */
export class TransportError extends BivariantError<TransportErrorCode> {
  /**
   * Whether the same request may be sent again: it may succeed without a change, and nothing would
   * be done twice.
   */
  declare readonly retryable: boolean;

  constructor(
    code: TransportErrorCode,
    message: string,
    context: { retryable: boolean; variant?: Variant | undefined; cause?: unknown },
  ) {
    super("TransportError", code, message, context);
  }
}

/**
 * The API refused a call, or failed. This is the `error` of an outcome that is not ok. If a
 * person's token older than 30 s was answered 401 and cannot be renewed, `cause` is the
 * `RelaunchRequiredError` or `LoginRequiredError` that says what to ask the person for.
 */
export class ApiError<
  Status extends number = number,
  Body = unknown,
> extends BivariantError<ApiErrorCode> {
  declare readonly status: Status;
  /**
   * The parsed body; `undefined` when it was empty. Not enumerable, since the server may echo a
   * secret in it.
   */
  declare readonly body: Body;
  declare readonly causes?: readonly Cause[];
  /** Epoch milliseconds, from `Retry-After`. */
  declare readonly retryAt?: number;
  readonly #headers: Headers;

  constructor(
    code: ApiErrorCode,
    message: string,
    {
      body,
      headers = new Headers(),
      ...context
    }: {
      variant: Variant;
      status: Status;
      body: Body;
      headers?: Headers | undefined;
      operationId?: string | undefined;
      causes?: readonly Cause[] | undefined;
      retryAt?: number | undefined;
      cause?: unknown;
    },
  ) {
    super("ApiError", code, message, context);
    hide(this, "body", body);
    this.#headers = headers;
  }

  /**
   * The headers of the answer. No log and no inspection shows them, since the server may echo a
   * secret in them.
   */
  get headers(): Headers {
    return this.#headers;
  }
}

/** A token store failed. */
export class StoreError extends BivariantError<StoreErrorCode> {
  constructor(code: StoreErrorCode, message: string, context: { cause?: unknown } = {}) {
    super("StoreError", code, message, context);
  }
}

type Guard<E> = (value: unknown) => value is E;

function isNamed<E extends BivariantError>(name: string): Guard<E> {
  return (value): value is E => Object(value)[brand] === name;
}

/**
 * Whether a value is an error of this package, of any class and from any realm.
 *
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isBivariantError(error)) console.error(error.code, error.requestId);
 *   else throw error;
 * }
 */
export function isBivariantError(value: unknown): value is BivariantError {
  return brand in Object(value);
}

/**
 * Adds to an error of this package what it is about, unless it says so already: it may be of a
 * token request that other calls wait for too. The target may be an Auth, whose other members are
 * not taken. Returns the error.
 */
export function locate<E>(
  error: E,
  { tenantId, baseUrl, variant }: Pick<ErrorContext, "tenantId" | "baseUrl" | "variant">,
  others: ErrorContext = {},
): E {
  if (!isBivariantError(error) || error.baseUrl !== undefined || !Object.isExtensible(error))
    return error;
  // Variant B may have been named without a tenant id.
  for (const [field, value] of Object.entries({
    tenantId: tenantId || undefined,
    baseUrl,
    variant,
    ...others,
  }))
    if (value !== undefined && !Object.hasOwn(error, field))
      Object.assign(error, { [field]: value });
  return error;
}

/**
 * The code for an event of what an error ended; `signal` is that of the caller, who may have ended
 * it.
 */
export function codeOf(error: unknown, signal?: AbortSignal): string {
  return isBivariantError(error) ? error.code : signal?.aborted ? "aborted" : "unknown";
}

/**
 * The fields of an event about a token request that failed. Messages of other errors are left out:
 * they may hold a secret.
 */
export function failureOf(
  error: unknown,
  signal?: AbortSignal,
): { code: string; message: string | undefined } {
  const message = isBivariantError(error) ? error.message : undefined;
  return { code: codeOf(error, signal), message };
}

/**
 * Whether a value is a {@link ConfigurationError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await connect({ baseUrl, tenantId, credentials });
 * } catch (error) {
 *   if (isConfigurationError(error)) console.error(error.option, error.message);
 *   else throw error;
 * }
 */
export const isConfigurationError: Guard<ConfigurationError> = isNamed("ConfigurationError");
/**
 * Whether a value is a {@link VariantError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await connect({ baseUrl, tenantId, credentials });
 * } catch (error) {
 *   if (isVariantError(error)) console.error(error.code, error.detection.evidence);
 *   else throw error;
 * }
 */
export const isVariantError: Guard<VariantError> = isNamed("VariantError");
/**
 * Whether a value is a {@link TokenRequestError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isTokenRequestError(error)) console.error(error.causes[0]?.remedy);
 *   else throw error;
 * }
 */
export const isTokenRequestError: Guard<TokenRequestError> = isNamed("TokenRequestError");
/**
 * Whether a value is a {@link RateLimitedError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isRateLimitedError(error))
 *     console.error(`Try again at ${new Date(error.retryAt).toISOString()}.`);
 *   else throw error;
 * }
 */
export const isRateLimitedError: Guard<RateLimitedError> = isNamed("RateLimitedError");
/**
 * Whether a value is a {@link RelaunchRequiredError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isRelaunchRequiredError(error)) show("Open the plugin again from the host application.");
 *   else throw error;
 * }
 */
export const isRelaunchRequiredError: Guard<RelaunchRequiredError> =
  isNamed("RelaunchRequiredError");
/**
 * Whether a value is a {@link LoginRequiredError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isLoginRequiredError(error)) show("Log in again.");
 *   else throw error;
 * }
 */
export const isLoginRequiredError: Guard<LoginRequiredError> = isNamed("LoginRequiredError");
/**
 * Whether a value is an {@link UnexpectedResponseError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isUnexpectedResponseError(error)) console.error(error.status, error.issues);
 *   else throw error;
 * }
 */
export const isUnexpectedResponseError: Guard<UnexpectedResponseError> =
  isNamed("UnexpectedResponseError");
/**
 * Whether a value is a {@link TransportError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isTransportError(error)) console.error(error.retryable ? "Try again." : error.message);
 *   else throw error;
 * }
 */
export const isTransportError: Guard<TransportError> = isNamed("TransportError");
/**
 * Whether a value is an {@link ApiError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   use(await unwrap(service.call("listDevices")));
 * } catch (error) {
 *   if (isApiError(error) && error.status === 403) console.error(error.causes);
 *   else throw error;
 * }
 */
export const isApiError: Guard<ApiError> = isNamed("ApiError");
/**
 * Whether a value is a {@link StoreError}, of any realm and any copy of this package.
 *
 * @function
 * @example
 * try {
 *   await service.auth.getAccessToken();
 * } catch (error) {
 *   if (isStoreError(error)) console.error("The token store failed:", error.code);
 *   else throw error;
 * }
 */
export const isStoreError: Guard<StoreError> = isNamed("StoreError");

const maximumWireTextCharacters = 200;
/**
 * This many consecutive characters of a secret count as an echo of it, even if the rest was cut
 * off.
 */
const echoCharacters = 10;
/**
 * Headers carry no longer token. Text beside a longer one counts as an echo, since the search would
 * take seconds.
 */
const longestSecret = 16_384;

/**
 * Makes text from an answer fit for a message, as one bounded line without control characters.
 * Returns `undefined` if the text echoes one of the secrets that were sent, whole or in part.
 */
export function wireText(
  value: unknown,
  secrets: readonly string[] = [],
  most: number = maximumWireTextCharacters,
): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const start = value.slice(0, 2 * most);
  const line = start.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  const texts = new Set([start, line]);
  if (secrets.some((secret) => [...texts].some((text) => isEchoOf(secret, text)))) return undefined;
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

function isEchoOf(secret: string, text: string): boolean {
  if (secret.length > longestSecret) return true;
  const inForm = new URLSearchParams({ _: secret }).toString().slice(2);
  // The text may hold the secret as it is, or as it is written in JSON, in a form or in a URL.
  const forms = [secret, JSON.stringify(secret).slice(1, -1), inForm, inForm.replace(/\+/g, "%20")];
  const parts = new Set<string>();
  for (let at = 0; at + echoCharacters <= text.length; at++)
    parts.add(text.slice(at, at + echoCharacters));
  return [...new Set(forms)].some((form) => {
    if (form.length <= echoCharacters) return form !== "" && text.includes(form);
    for (let at = 0; at + echoCharacters <= form.length; at++)
      if (parts.has(form.slice(at, at + echoCharacters))) return true;
    return false;
  });
}

/** A line of a stack that names a place in a file, as V8 and the other engines write it. */
const frame = /^ +at .+:\d+:\d+\)?$|^[^\s@]*@\S+:\d+:\d+$/gm;
/**
 * What names of hosts, paths and actions consist of, such as GetSecretValue, and the 12 digits of
 * an AWS account.
 */
const namePart =
  /^(?:\d{0,5}|\d{12}|(?:\p{Lu}+|\p{Lu}?[\p{Ll}\p{Lo}]+(?:\p{Lu}\p{Ll}{2,})*)\d{0,2})$/u;

/**
 * Replaces the words that are not of language, and not the address or path of anything, so may be
 * key material.
 */
function withoutKeys(text: string): string {
  return text.replace(/\S+/g, (word) => {
    const parts = (/^["'(]*(.*[^"'),.:;!?])?/.exec(word)?.[1] ?? "").split(/[/.:_'-]/);
    return parts.every((part) => part.length <= 20 && namePart.test(part)) ? word : "…";
  });
}

/**
 * Copies a foreign error for use as a cause: its name and code, and those of its own causes. Its
 * message and fields are dropped, since the caller's own fetch may put the whole request into them.
 * If it is from a function that reads a credential, it keeps its stack too, and its message without
 * what may be a secret: `known` are those it was called with.
 */
function withoutSecrets(cause: unknown, known: readonly string[] | undefined, depth = 0): unknown {
  if (isBivariantError(cause)) return cause;
  const {
    name,
    message = cause,
    code,
    stack,
    cause: inner,
  } = Object(cause) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const isCode =
    typeof code === "number" || /^(?:[A-Z][A-Z0-9_]{1,60}|[A-Za-z_]{1,60})$/.test(text(code));
  const kind = /^[A-Za-z][A-Za-z0-9]{0,60}$/.test(text(name)) ? text(name) : "Error";
  const leftOut = `the message of the ${kind} is left out, since it may hold a secret`;
  const isOwn = known?.every((secret) => !isEchoOf(secret, text(message)));
  const error = new Error(
    isOwn ? withoutKeys(text(message).slice(0, 500)) : (isCode && text(code)) || leftOut,
    inner === undefined || depth >= 3
      ? undefined
      : { cause: withoutSecrets(inner, known, depth + 1) },
  );
  const frames = (isOwn && text(stack).replace(text(message), "").match(frame)) || [];
  hide(error, "name", kind);
  hide(error, "stack", [`${kind}: ${error.message}`, ...frames].join("\n"));
  return isCode ? Object.assign(error, { code }) : error;
}

function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, configurable: true });
}
