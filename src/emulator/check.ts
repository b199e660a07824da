// A rule's check over something that was received, and the running of an ordered list of them.
import type { Finding, Refusal } from "./refusal.js";
import type { RuleSwitches } from "./rule-switches.js";
import type { RuleId } from "./rules.js";

/** Reports how the subject breaks the rule, or undefined if it keeps it. Total: never throws on what was received. */
export interface Check<Subject> {
  readonly rule: RuleId;
  find(subject: Subject): Finding | undefined;
}

/** The first rule that is broken and not switched off, in the order of the list. */
export function firstRefusal<Subject>(
  switches: RuleSwitches,
  checks: readonly Check<Subject>[],
  subject: Subject,
): Refusal | undefined {
  for (const check of checks) {
    if (!switches.isEnforced(check.rule)) continue;
    const finding = check.find(subject);
    if (finding !== undefined) return { rule: check.rule, ...finding };
  }
  return undefined;
}
