/** What a credential is to the rest: whose it is, which variant it speaks, and how it asks for a token. */
import { type Cause, ConfigurationError, type Variant } from "../errors.js";
import type { Fetch, Target } from "../variants/target.js";

/** Settings, or a function that gives them for a deployment and tenant. */
export type Settings<T> = T | ((target: Target) => T | Promise<T>);

/** A credential that needs no person: goes to `connect`, `createConnector` and `createAuth`. */
export interface MachineCredential<V extends Variant = Variant> {
  readonly use: "machine";
  readonly variant: V;
  readonly grant: "client_credentials";
}

/** A credential that needs a person's code: goes to `redeemLaunch`, `beginLogin` or `createBackend`. */
export interface PersonCredential<V extends Variant = Variant> {
  readonly use: "person";
  readonly variant: V;
  readonly grant: "authorization_code";
}

/** How one attempt at a token is sent. */
export interface TokenAttempt {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Epoch milliseconds by the server's clock as far as it is known: for an assertion's `iat` and `exp`. */
  readonly serverNow: () => number;
  readonly userAgent: string;
}

/** What was sent and what is known of it, for reading the answer and for telling why it was refused. */
export interface SentAttempt {
  readonly response: Response;
  /** Seconds since the epoch, as in the assertion; absent where none was sent. */
  readonly issuedAtSeconds?: number;
  /** Strings that must not come back in a message. */
  readonly secrets: readonly string[];
}

/** A credential whose settings were read and whose key was imported. */
export interface PreparedCredential {
  readonly clientId: string;
  /** Changes with the key or the secret; says nothing of it. */
  readonly fingerprint: string;
  /** Sends the token request with exactly the documented fields. */
  send(attempt: TokenAttempt): Promise<SentAttempt>;
  /** Ranked causes of an opaque refusal, by local evidence. */
  explain?(refusal: Refusal): readonly Cause[] | Promise<readonly Cause[]>;
}

/** What is known here of a refused token request. */
export interface Refusal {
  readonly grant: "client_credentials" | "authorization_code";
  /** The `error` of the answer. */
  readonly error: string | undefined;
  readonly status: number;
  /** How the refused assertion's `iat` and `exp` stand to the server's clock, as its `Date` tells that. */
  readonly clock: "out_of_bounds" | "in_bounds" | "unknown";
  /** By how much the server's clock is ahead of this machine's; absent when that is unknown. */
  readonly clockOffsetMs: number | undefined;
  /** The same credential was accepted before by this Auth. */
  readonly workedBefore: boolean;
  /** Requests go through a fetch of the caller's, which may send them twice. */
  readonly hasOwnFetch: boolean;
}

export interface PrepareOptions {
  /** Whether a promise made by one caller may be awaited by another. Default true. */
  readonly shareInFlight?: boolean;
}

/** The part of a credential that is not for users: behind a symbol, so that no inspection shows it. */
export interface CredentialDriver {
  /** Where the token request goes, for a checked target. */
  tokenEndpoint(target: Target): string;
  /**
   * Reads the settings and imports the key; the same key is imported once.
   *
   * @throws ConfigurationError `credential_invalid`, `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required`
   */
  prepare(target: Target, options?: PrepareOptions): Promise<PreparedCredential>;
}

const driverKey: unique symbol = Symbol.for("bivariant.credential") as never;

/** Makes the public object of a machine credential around its driver. */
export function machineCredential<V extends Variant>(
  variant: V,
  driver: CredentialDriver,
): MachineCredential<V> {
  const credential = { use: "machine", variant, grant: "client_credentials" } as const;
  Object.defineProperty(credential, driverKey, { value: driver });
  return Object.freeze(credential);
}

/** The driver behind a credential. @throws ConfigurationError `credential_invalid` */
export function driverOf(credential: MachineCredential, option = "credential"): CredentialDriver {
  const driver = (credential as unknown as Record<symbol, CredentialDriver | undefined> | null | undefined)?.[
    driverKey
  ];
  if (driver !== undefined && credential.use === "machine") return driver;
  const isPerson = (credential as { use?: unknown } | null | undefined)?.use === "person";
  throw new ConfigurationError(
    "credential_invalid",
    isPerson
      ? `${option} holds a credential of a person, which needs a code from a launch or a login. Here go servicePlugin and serviceAccount.`
      : `${option} holds something that is no credential. Make one with servicePlugin or serviceAccount.`,
    { option },
  );
}

/** Checks that settings hold a text. @throws ConfigurationError `credential_invalid` */
export function requireText(value: unknown, option: string, variant: Variant): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new ConfigurationError("credential_invalid", `${option} is missing or empty.`, { option, variant });
}

/**
 * Reads settings that may be a function; those that are none without an async layer.
 *
 * @throws ConfigurationError `credential_invalid`
 */
export function readSettings<T extends object>(
  settings: Settings<T>,
  target: Target,
  variant: Variant,
): T | Promise<T> {
  if (typeof settings === "function") return askForSettings(settings, target, variant);
  return requireSettings(settings, variant);
}

async function askForSettings<T extends object>(
  ask: (target: Target) => T | Promise<T>,
  target: Target,
  variant: Variant,
): Promise<T> {
  let value: unknown;
  try {
    value = await ask({ ...target });
  } catch (cause) {
    throw new ConfigurationError(
      "credential_invalid",
      "The function that gives the credential's settings failed; see the cause.",
      { variant, cause },
    );
  }
  return requireSettings(value, variant);
}

function requireSettings<T extends object>(value: unknown, variant: Variant): T {
  if (typeof value === "object" && value !== null) return value as T;
  throw new ConfigurationError("credential_invalid", "The credential's settings are missing.", { variant });
}
