/** What a credential is to the rest: whose it is, which variant it speaks, and how it asks for a token. */
import { type Cause, ConfigurationError, type Variant } from "../../errors.js";
import type { Fetch, Target } from "../../variants/target.js";
import { RecentlyUsed } from "../recently-used.js";
import type { TokenEndpointState } from "../token-request.js";

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

/** An authorization code and the verifier of the challenge it was asked for with (RFC 7636). */
export interface CodeGrant {
  readonly code: string;
  readonly codeVerifier: string;
}

/** A person's credential whose settings were read and whose key was imported. */
export interface PreparedPersonCredential {
  readonly clientId: string;
  /** Changes with the key or the secret; says nothing of it. */
  readonly fingerprint: string;
  /** Sends the code with exactly the documented fields. */
  sendCode(grant: CodeGrant, attempt: TokenAttempt): Promise<SentAttempt>;
  /**
   * Makes the request that redeems a refresh token, and gives what sends it; absent where there is none (section 4.1 of
   * the description: Variant A).
   *
   * @throws ConfigurationError `credential_invalid` when it cannot be made: nothing was sent
   */
  refreshRequest?(refreshToken: string): (attempt: TokenAttempt) => Promise<SentAttempt>;
  /** Whether a refresh token is sent again whose answer was lost. */
  readonly resendLostRefresh?: boolean;
  /** Ranked causes of an opaque refusal, by local evidence. */
  explain?(refusal: Refusal): readonly Cause[] | Promise<readonly Cause[]>;
}

export interface PersonDriver<P extends PreparedPersonCredential = PreparedPersonCredential> {
  /** @throws ConfigurationError `credential_invalid`, `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required` */
  prepare(target: Target, options?: PrepareOptions): Promise<P>;
  /**
   * What can be known of settings that are no function before there is a target. Absent for all others.
   *
   * @throws ConfigurationError `credential_invalid`
   */
  readonly look?: () => { readonly redirectUri: string };
  /** What everybody shares who uses this credential at a token endpoint. */
  state(target: Target, create: () => TokenEndpointState): PersonEndpointState;
}

export interface PersonEndpointState extends TokenEndpointState {
  readonly spentCodes: SpentCodes;
}

/** So many tenants' gates, clocks and spent codes are remembered. */
const mostTenants = 10_000;

const personDriverKey: unique symbol = Symbol.for("bivariant.person-credential") as never;

/** Makes the public object of a person's credential around its driver. */
export function personCredential<V extends Variant, P extends PreparedPersonCredential>(
  variant: V,
  driver: Pick<PersonDriver<P>, "prepare" | "look">,
): PersonCredential<V> {
  const states = new RecentlyUsed<PersonEndpointState>(mostTenants, ({ gate }) => gate.isOpen);
  const whole: PersonDriver<P> = {
    ...driver,
    state: (target, create) =>
      states.get(JSON.stringify([target.baseUrl, target.tenantId]), () => ({
        ...create(),
        spentCodes: new SpentCodes(),
      })),
  };
  const credential = { use: "person", variant, grant: "authorization_code" } as const;
  Object.defineProperty(credential, personDriverKey, { value: whole });
  return Object.freeze(credential);
}

/** The driver behind a person's credential of a variant. @throws ConfigurationError `credential_invalid` */
export function personDriverOf(credential: PersonCredential, variant?: Variant): PersonDriver {
  const driver = (credential as unknown as Record<symbol, PersonDriver | undefined> | null | undefined)?.[
    personDriverKey
  ];
  if (driver !== undefined && (variant === undefined || credential.variant === variant)) return driver;
  const factory =
    variant === "A"
      ? "userInterfacePlugin"
      : variant === "B"
        ? "apiClient"
        : "userInterfacePlugin or apiClient";
  const isMachine = (credential as { use?: unknown } | null | undefined)?.use === "machine";
  throw new ConfigurationError(
    "credential_invalid",
    `credential ${isMachine ? "is one of a machine, which has no person to stand for" : "is not what is needed here"}. Make one with ${factory}.`,
    { option: "credential" },
  );
}

export async function fingerprintOf(...parts: readonly string[]): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(parts)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class SpentCodes {
  /** Epoch milliseconds by name; all are remembered for the same time, so the first is the first to go. */
  readonly #until = new Map<string, number>();

  /** Whether it was not spent before; from now on it is. */
  spend(name: string, now: number, lifetimeMs: number): boolean {
    for (const [old, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(old);
    }
    if (this.#until.has(name)) return false;
    this.#until.set(name, now + lifetimeMs);
    return true;
  }

  /** Takes that back: it was surely not sent. */
  unspend(name: string): void {
    this.#until.delete(name);
  }
}
