/** One line of what the doctor says. */
import type { Cause } from "../../errors.js";

/** What is looked at, in this order, in every examination. */
export type Check =
  | "base_url"
  | "reachability"
  | "tls"
  | "clock"
  | "key"
  | "jwks"
  | "audience"
  | "assertion"
  | "detection"
  | "token"
  | "api_call";

/** What was looked at, what was seen, and what to do about it. */
export interface Finding {
  readonly check: Check;
  readonly verdict: "pass" | "fail" | "unknown";
  /** What was seen, or why nothing could be seen. */
  readonly evidence: string;
  readonly remedy?: string;
  /** Of a refusal: all that local evidence supports, the likeliest first. */
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
