/** One line of what the doctor says. */

/** What was looked at, what was seen, and what to do about it. */
export interface Finding {
  /** Stable, lower snake case. */
  readonly check: string;
  readonly verdict: "pass" | "fail" | "unknown";
  readonly evidence: string;
  readonly remedy?: string;
}

export function pass(check: string, evidence: string): Finding {
  return { check, verdict: "pass", evidence };
}

export function fail(check: string, evidence: string, remedy: string): Finding {
  return { check, verdict: "fail", evidence, remedy };
}

export function unknown(check: string, evidence: string, remedy?: string): Finding {
  return { check, verdict: "unknown", evidence, ...(remedy === undefined ? {} : { remedy }) };
}
