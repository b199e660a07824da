/** The input of the doctor, and its findings. */
import type { Cause, ConfigurationError, Variant } from "../../errors.js";
import type { BivariantError, Fetch, PersonAuth } from "../../index.js";
import type { AccountSettings, PluginSettings } from "../credentials.js";
import type { Paint } from "../output.js";

export interface DoctorInput {
  readonly baseUrl: string;
  readonly tenantId: string | undefined;
  /** If the user named a variant, only the credential of that variant is given below. */
  readonly variant: Variant | undefined;
  readonly allowInsecureHttp: boolean | undefined;
  readonly bearerStatuses: readonly number[] | undefined;
  /** Says that no credential is configured, if that is so. */
  readonly noCredential: string;
  /** Undefined if no credential is configured; an error if it is incomplete or cannot be read. */
  readonly plugin: PluginSettings | ConfigurationError | undefined;
  readonly account: AccountSettings | ConfigurationError | undefined;
  /** The stored login, if Variant B would use it, or the error that says why it cannot be used. */
  readonly login: PersonAuth<"B"> | BivariantError | undefined;
  /** The content of the file with the registered JWKS; its value is undefined if it is not JSON. */
  readonly registeredJwks: { readonly value: unknown } | undefined;
  /** If undefined, the global `fetch` is used. */
  readonly fetch: Fetch | undefined;
  readonly timeoutMs: number;
  readonly rateLimitDeadlineMs: number;
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

export interface Finding {
  readonly check: Check;
  readonly verdict: "pass" | "fail" | "unknown";
  /** What was found, or why the check was not possible. */
  readonly evidence: string;
  readonly remedy?: string;
  /** If a request was refused, the causes that the local evidence supports, most likely first. */
  readonly causes?: readonly Cause[];
}

export function pass(check: Check, evidence: string): Finding {
  return { check, verdict: "pass", evidence };
}

export function fail(check: Check, evidence: string, remedy: string): Finding {
  return { check, verdict: "fail", evidence, remedy };
}

export function unknown(check: Check, evidence: string, remedy?: string): Finding {
  return { check, verdict: "unknown", evidence, ...(remedy === undefined ? {} : { remedy }) };
}

const styles = { pass: "green", fail: "red", unknown: "yellow" } as const;

/** Puts the finding on one line and its remedy on another. The output wraps them below their columns. */
export function findingLines({ check, verdict, evidence, remedy }: Finding, paint: Paint): string[] {
  const head = `${paint(styles[verdict], verdict.padEnd(8))}${check.padEnd(14)}${evidence}`;
  return remedy === undefined ? [head] : [head, `${" ".repeat(22)}-> ${remedy}`];
}

export function summaryLine(findings: readonly Finding[], paint: Paint): string {
  const count = (verdict: Finding["verdict"]) => findings.filter((one) => one.verdict === verdict).length;
  const failed = findings.filter(({ verdict }) => verdict === "fail").map(({ check }) => check);
  const counts = `${count("pass")} pass, ${count("fail")} fail, ${count("unknown")} unknown.`;
  return failed.length === 0 ? counts : `${counts} ${paint("red", `Failed: ${failed.join(", ")}.`)}`;
}
