// A broken rule, as the checks report it and before anybody is told.
import type { RuleId } from "./rules.js";

/** What was expected and what came instead, in words that are safe to log (see `shown`). */
export interface Finding {
  readonly expected: string;
  readonly actual: string;
}

/** A finding with the rule that it breaks. */
export interface Refusal extends Finding {
  readonly rule: RuleId;
}
