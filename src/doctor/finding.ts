/** The input of the doctor, and its findings. */
import type { Cause, ConfigurationError, Evidence, Variant } from "../errors.js";
import type {
  BivariantError,
  Clock,
  Fetch,
  MachineCredential,
  PersonAuth,
  Service,
} from "../index.js";
import type { AccountSettings, PluginSettings } from "./credentials.js";

/** A setting that a remedy may name. */
type NamedSetting = "baseUrl" | "tenant" | "variant" | "audience" | "aKeyId" | "storeFile";

/** The words for settings: flags and variables on the command line, columns in a survey. */
export interface Wording {
  /** Returns the names of a setting, for example `--tenant or BIVARIANT_TENANT`. */
  namesOf(setting: NamedSetting): string;
  /**
   * Returns a sentence on how to configure a credential for the variant or, if it is unknown, for
   * either variant.
   */
  waysToSet(variant: Variant | undefined): string;
  /** Returns a sentence on where to set the option that an error names. */
  whereToSet(error: ConfigurationError): string | undefined;
}

export interface DoctorInput {
  readonly wording: Wording;
  readonly baseUrl: string;
  readonly tenantId: string | undefined;
  /** If the user named a variant, only the credential of that variant is given below. */
  readonly variant: Variant | undefined;
  readonly allowInsecureHttp: boolean | undefined;
  /** Says that no credential is configured, if that is so. */
  readonly noCredential: string;
  /** Undefined if no credential is configured; an error if it is incomplete or cannot be read. */
  readonly plugin: PluginSettings | ConfigurationError | undefined;
  readonly account: AccountSettings | ConfigurationError | undefined;
  /** The stored login, if Variant B would use it, or the error that says why it cannot be used. */
  readonly login: PersonAuth<"B"> | BivariantError | undefined;
  /** The content of the file with the registered JWKS. */
  readonly registeredJwks: { readonly value: unknown } | undefined;
  /** Opens the service for a credential, or for the login. The clock is by the server's Date. */
  openService(identity: MachineCredential | PersonAuth<"B">, clock: Clock | undefined): Service;
  /** If undefined, the global `fetch` is used. */
  readonly fetch: Fetch | undefined;
  readonly timeoutMs: number;
  readonly retryDeadlineMs: number;
  /** Tells the user about a wait. */
  readonly note: (text: string) => void;
  readonly signal: AbortSignal;
  /** False if NODE_TLS_REJECT_UNAUTHORIZED is 0. */
  readonly checksCertificates: boolean;
}

/** All checks, in the order of every report. */
export type Check =
  | ("base_url" | "reachability" | "tls" | "clock" | "key" | "jwks" | "audience" | "assertion")
  | ("detection" | "token" | "api_call")
  /** Only if credentials of both variants are configured, and both may be served. */
  | "other_token";

/** What one check found: whether it passed, with its evidence and, if it did not, what to do. */
export interface Finding {
  readonly check: Check;
  readonly verdict: "pass" | "fail" | "unknown";
  /** What was found, or why the check was not possible. */
  readonly evidence: string;
  readonly remedy?: string;
  /** A stable name of what failed: the code of the error if there was one. */
  readonly code?: string;
  /** If a request was refused, the causes that the local evidence supports, most likely first. */
  readonly causes?: readonly Cause[];
}

export function pass(check: Check, evidence: string): Finding {
  return { check, verdict: "pass", evidence };
}

export function fail(check: Check, evidence: string, remedy: string, code?: string): Finding {
  return { check, verdict: "fail", evidence, remedy, ...(code === undefined ? {} : { code }) };
}

export function unknown(check: Check, evidence: string, remedy?: string): Finding {
  return { check, verdict: "unknown", evidence, ...(remedy === undefined ? {} : { remedy }) };
}

/** A sibling that is not served is a sign that the token endpoint is, and not a contradiction. */
export function questionOf({ variant, question }: Pick<Evidence, "variant" | "question">): string {
  return `Variant ${variant}, ${question === "sibling" ? "made-up sibling path" : question}`;
}
