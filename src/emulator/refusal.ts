// A broken rule, as the checks report it and before anybody is told.
import type { RuleAnswer } from "./rules/rule.js";
import { type RuleId, rules } from "./rules.js";

/** What was expected and what came instead, in words that are safe to log (see `shown`). */
export interface Finding {
  readonly expected: string;
  readonly actual: string;
}

/** A finding with the rule that it breaks. */
export interface Refusal extends Finding {
  readonly rule: RuleId;
  /** What the caller is told, where an option or a switch has it another than the rule's own. */
  readonly answer?: RuleAnswer;
}

export function answerTo({ rule, answer }: Refusal): RuleAnswer {
  return answer ?? rules[rule].answer;
}
