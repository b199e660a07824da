/**
 * Machine and person credentials, and the drivers behind them, which read the settings and send the
 * requests.
 */
import type { ResolvedAuthOptions } from "../../client-options.js";
import {
  type Cause,
  ConfigurationError,
  isConfigurationError,
  type Variant,
} from "../../errors.js";
import { type Fetch, withTimeLimit } from "../../http/exchange.js";
import type { NamesOf } from "../../option-names.js";
import { requireOptions } from "../../options.js";
import type { Target } from "../../variants/target.js";
import { userAgent } from "../../version.js";
import type { TokenEndpointState } from "../request/rate-limit-gate.js";
import { RecentlyUsed } from "../shared/recently-used.js";

/**
 * Settings, or a function that returns them for a deployment and tenant, or `undefined` if that
 * tenant has none.
 */
export type Settings<T> = T | ((target: Target) => T | undefined | Promise<T | undefined>);

/** A credential that needs no person: for `connect`, `createConnector` and `createAuth`. */
export interface MachineCredential<V extends Variant = Variant> {
  readonly use: "machine";
  readonly variant: V;
  readonly grant: "client_credentials";
}

/** A credential that needs a person's code: for `redeemLaunch`, `beginLogin` or `createBackend`. */
export interface PersonCredential<V extends Variant = Variant> {
  readonly use: "person";
  readonly variant: V;
  readonly grant: "authorization_code";
}

export interface TokenAttempt {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /**
   * The epoch milliseconds for `iat` and `exp` of an assertion, by the server's clock as far as it
   * is known.
   */
  readonly serverNow: () => number;
}

export interface SentAttempt {
  readonly response: Response;
  /** The assertion's `iat`, in seconds since the epoch; absent when no assertion was sent. */
  readonly issuedAtSeconds?: number;
  /** Strings that must not appear in a message, even if the server echoes them. */
  readonly secrets: readonly string[];
}

/** Sends a token request. */
export type SendAttempt = (attempt: TokenAttempt) => Promise<SentAttempt>;

/** What is known locally about a refused token request. */
export interface Refusal {
  readonly grant: "client_credentials" | "authorization_code";
  /** The `error` of the answer. */
  readonly error: string | undefined;
  readonly status: number;
  /** Whether the refused assertion was within its bounds by the server's clock, if it is known. */
  readonly wasInBounds: boolean;
  /** How far the server's clock is ahead of this machine's; `undefined` if that is unknown. */
  readonly clockOffsetMs: number | undefined;
  /** Whether the same credential was accepted before by this Auth. */
  readonly workedBefore: boolean;
  /** Whether requests go through the caller's own fetch, which may send them twice. */
  readonly hasOwnFetch: boolean;
}

/**
 * The errors that refuse the client, not the person's code or refresh token (RFC 6749 section 5.2).
 */
export const clientErrors: ReadonlySet<string | undefined> = new Set(
  "invalid_client unauthorized_client invalid_request unsupported_grant_type invalid_scope".split(
    " ",
  ),
);

/** A credential whose settings were read and whose key was imported. */
export interface PreparedClient {
  readonly clientId: string;
  /** Changes with the key or the secret, without revealing it. */
  readonly fingerprint: string;
  /** Ranks the causes of an opaque refusal by local evidence. */
  explain(refusal: Refusal): readonly Cause[] | Promise<readonly Cause[]>;
}

export interface PreparedCredential extends PreparedClient {
  /** Sends the token request with exactly the documented fields. */
  readonly send: SendAttempt;
}

/** An authorization code, and the verifier of the challenge that was sent for it (RFC 7636). */
export interface CodeGrant {
  readonly code: string;
  readonly codeVerifier: string;
}

export interface PreparedPersonCredential extends PreparedClient {
  /** Whether a function of the caller's own signs, for instance in a KMS. */
  readonly callsSigner?: boolean;
  /** Sends the code with exactly the documented fields. */
  sendCode(grant: CodeGrant, attempt: TokenAttempt): Promise<SentAttempt>;
  /**
   * Builds the request that redeems a refresh token, and returns the function that sends it.
   * Variant A has no refresh tokens (section 4.1), so it is absent there. @throws
   * ConfigurationError `credential_invalid`
   */
  refreshRequest?(refreshToken: string): SendAttempt;
  /** Whether a refresh token is sent again after its answer was lost. */
  readonly resendLostRefresh?: boolean;
}

/** `redirectUri` is for settings that have none. */
export type PrepareOptions = Pick<ResolvedAuthOptions, "shareInFlight" | "timeoutMs" | "clock"> & {
  readonly redirectUri?: string | undefined;
};

export interface CredentialDriver<P = PreparedCredential> {
  /**
   * Reads the settings and imports the key; the same key is imported once.
   * @throws ConfigurationError, also `credential_missing`; TransportError `timed_out` for a
   * function of the caller's
   */
  prepare(target: Target, options: PrepareOptions): Promise<P>;
  /**
   * Whether `prepare` calls a function of the caller's own, which may have nothing for a tenant.
   */
  readonly callsFunction: boolean;
}

/** The state that all users of one person credential share at a token endpoint. */
export interface PersonEndpointState extends TokenEndpointState {
  /** The codes that were sent, with the monotonic milliseconds until which they are remembered. */
  readonly spentCodes: Map<string, number>;
}

/**
 * Refresh tokens that were sent, by fingerprint, and whether another token replaced them. The
 * oldest come first.
 */
export type SentRefreshTokens = Map<string, "unanswered" | "replaced">;

interface PersonDriver extends CredentialDriver<PreparedPersonCredential> {
  /**
   * Checks and returns the settings before there is a target. It is absent when the settings are a
   * function.
   *
   * @throws ConfigurationError `credential_invalid`
   */
  readonly check?: () => {
    readonly redirectUri?: string | undefined;
    readonly issuer?: string | undefined;
  };
  readonly states: RecentlyUsed<PersonEndpointState>;
  readonly sentRefreshTokens: SentRefreshTokens;
}

/** The number of tenants whose gates, clocks and spent codes a person credential remembers. */
const mostTenants = 10_000;

/** The driver is kept under a symbol and not enumerable, so that no inspection shows it. */
const driverKey: unique symbol = Symbol.for("bivariant.credential") as never;

export function machineCredential<V extends Variant>(
  variant: V,
  driver: CredentialDriver,
): MachineCredential<V> {
  return withDriver({ use: "machine", variant, grant: "client_credentials" }, driver);
}

export function personCredential<V extends Variant>(
  variant: V,
  driver: Omit<PersonDriver, "states" | "sentRefreshTokens">,
): PersonCredential<V> {
  const states = new RecentlyUsed<PersonEndpointState>(mostTenants, ({ gate }) => gate.isOpen);
  const shared = { states, sentRefreshTokens: new Map() };
  return withDriver(
    { use: "person", variant, grant: "authorization_code" },
    { ...driver, ...shared },
  );
}

/**
 * Limits a function of the caller's own to the time of a request, and names the tenant in its
 * errors: it serves many.
 */
function withDriver<C extends { variant: Variant }, P>(
  credential: C,
  driver: CredentialDriver<P>,
): C {
  const { variant } = credential;
  const prepare: typeof driver.prepare = async (target, options) => {
    const { timeoutMs, clock } = options;
    const waitsFor =
      `the function of the Variant ${variant} credential for the tenant ` +
      `"${target.tenantId}" at ${target.baseUrl}`;
    const limit = { variant, waitsFor, timeoutMs, clock };
    try {
      return await withTimeLimit(() => driver.prepare(target, options), limit);
    } catch (error) {
      if (!isConfigurationError(error) || error.code === "credential_missing") throw error;
      const { code, message, option, cause } = error;
      const context = { option, variant, cause };
      throw new ConfigurationError(code, `${message} Look at ${waitsFor}.`, context);
    }
  };
  const value = driver.callsFunction ? { ...driver, prepare } : driver;
  return Object.freeze(Object.defineProperty(credential, driverKey, { value }));
}

/**
 * Returns the same credential, except that it calls `leave` before it waits for a function of the
 * caller's, which returns settings, a key or a signature, and the result of `leave`, once or more,
 * when the wait is over.
 */
export function watchedCredential<V extends Variant>(
  credential: PersonCredential<V>,
  leave: () => () => void,
): PersonCredential<V> {
  const driver = personDriverOf(credential);
  const prepare: typeof driver.prepare = async (...args) => {
    const comeBack = driver.callsFunction ? leave() : undefined;
    const prepared = await driver.prepare(...args).finally(comeBack);
    if (!prepared.callsSigner) return prepared;
    return {
      ...prepared,
      sendCode(grant, { fetch, ...attempt }) {
        const comeBack = leave();
        const sending: Fetch = (...request) => {
          comeBack();
          return fetch(...request);
        };
        return prepared.sendCode(grant, { ...attempt, fetch: sending }).finally(comeBack);
      },
    };
  };
  const watched = Object.defineProperty({ ...credential }, driverKey, {
    value: { ...driver, prepare },
  });
  return Object.freeze(watched);
}

function driverIn(credential: unknown, use: "machine" | "person"): unknown {
  const given = Object(credential) as { readonly use?: unknown; readonly [driverKey]?: unknown };
  return given.use === use ? given[driverKey] : undefined;
}

/**
 * @throws ConfigurationError `credential_invalid` when the value of `option` is not a machine
 * credential
 */
export function driverOf(credential: MachineCredential, option = "credential"): CredentialDriver {
  const driver = driverIn(credential, "machine");
  if (driver !== undefined) return driver as CredentialDriver;
  const problem = driverIn(credential, "person")
    ? "holds a person's credential, which needs a code: redeemLaunch and beginLogin take it"
    : "is not a credential";
  const remedy = "Pass one made by servicePlugin or serviceAccount.";
  throw credentialInvalid(`${option} ${problem}. ${remedy}`, { option });
}

/**
 * @throws ConfigurationError `credential_invalid` when it is not a person's credential of the
 * variant
 */
export function personDriverOf(credential: PersonCredential, variant?: Variant): PersonDriver {
  const driver = driverIn(credential, "person");
  if (driver && (variant ?? credential.variant) === credential.variant)
    return driver as PersonDriver;
  const factories = { A: "userInterfacePlugin", B: "apiClient" };
  const [kind, factory] =
    variant === undefined
      ? ["", `${factories.A} or ${factories.B}`]
      : [` of Variant ${variant}`, factories[variant]];
  const problem = driverIn(credential, "machine")
    ? "is a machine credential, which stands for no person"
    : `is not a person's credential${kind}`;
  const message = `credential ${problem}. Pass one made by ${factory}.`;
  throw credentialInvalid(message, { option: "credential" });
}

/** The error for a credential, or a setting of it, that cannot be used. */
export function credentialInvalid(
  message: string,
  context: ConstructorParameters<typeof ConfigurationError>[2],
): ConfigurationError {
  return new ConfigurationError("credential_invalid", message, context);
}

/**
 * Checks that a setting is a string that is not empty.
 * @throws ConfigurationError `credential_invalid`
 */
export function requireText(value: unknown, option: string, variant: Variant): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  throw credentialInvalid(`${option} must be a string that is not empty.`, { option, variant });
}

/** Settings as they are given, and the check of their names. */
export interface GivenSettings<T> {
  readonly settings: Settings<T>;
  /** @throws ConfigurationError `option_invalid` */
  check(settings: T): T;
}

/**
 * Checks the names of the settings of the credential `of`: at once, or else when their function
 * returns them.
 */
export function givenSettings<T extends object>(
  of: string,
  settings: Settings<T>,
  names: NoInfer<NamesOf<T>>,
): GivenSettings<T> {
  const check = (read: T) => requireOptions(of, read, names);
  if (typeof settings === "object" && settings !== null) check(settings);
  return { settings, check };
}

/**
 * Reads settings that may be a function.
 * @throws ConfigurationError `credential_invalid`, `credential_missing`, `option_invalid`
 */
export async function readSettings<T extends object>(
  { settings, check }: GivenSettings<T>,
  target: Target,
  variant: Variant,
): Promise<T> {
  let read: T | undefined;
  try {
    read = await (typeof settings === "function" ? settings(target) : settings);
  } catch (cause) {
    const message = "The function that returns the credential's settings failed; see the cause.";
    throw credentialInvalid(message, { variant, cause });
  }
  if (typeof read === "object" && read !== null) return check(read);
  if (read === undefined && typeof settings === "function")
    throw credentialMissing(target, variant);
  const message =
    "The credential's settings must be an object, or undefined if the tenant has none.";
  throw credentialInvalid(message, { variant });
}

/** The error for a tenant without a credential of the variants that its deployment may serve. */
export function credentialMissing(
  { baseUrl, tenantId }: Target,
  variants: string,
): ConfigurationError {
  const tenant = tenantId === "" ? "The deployment" : `The tenant ${tenantId}`;
  const message =
    `${tenant} at ${baseUrl} needs a credential of Variant ${variants}, but the ` +
    "function returned undefined. Add its settings, or check tenantId and baseUrl.";
  return new ConfigurationError("credential_missing", message);
}

export async function sendJson(
  url: string,
  body: string,
  secrets: readonly string[],
  { fetch, signal }: TokenAttempt,
): Promise<SentAttempt> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": userAgent,
    },
    body,
    redirect: "manual",
    signal,
  });
  return { response, secrets };
}

/** A SHA-256 digest that changes with a secret, without revealing it. */
export async function fingerprintOf(...parts: readonly string[]): Promise<string> {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(JSON.stringify(parts)),
  );
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
