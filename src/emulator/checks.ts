// A broken rule, as the checks report it and before anybody is told.

import { z } from "zod";
import { EmulatorError, isName } from "./errors.js";
import type { RuleAnswer } from "./rules.js";
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

/** By rule id: false switches the rule off. */
export type RuleSettings = Readonly<Partial<Record<RuleId, boolean>>>;

/**
 * The switches of one emulator. A rule that is off is not looked at; what then happens instead its `off` in `rules`
 * says. A change counts from the next check on, also for requests in flight.
 *
 * @example
 * emulator.rules.enforce("assertion.replay", false); // what a server without a jti store would do
 */
export interface EmulatorRules {
  isEnforced(rule: RuleId): boolean;
  /** @throws EmulatorError `option_invalid` for what is not a rule. */
  enforce(rule: RuleId, enforced: boolean): void;
  /** The rules that are off. */
  off(): RuleId[];
}

export class RuleSwitches implements EmulatorRules {
  readonly #off = new Set<RuleId>();

  constructor(settings: RuleSettings = {}) {
    for (const [rule, enforced] of Object.entries(settings)) this.enforce(rule as RuleId, enforced);
  }

  isEnforced(rule: RuleId): boolean {
    return !this.#off.has(rule);
  }

  enforce(rule: RuleId, enforced: boolean): void {
    if (!Object.hasOwn(rules, rule)) {
      const issue = `${shownRule(rule)} is not a rule; \`bivariant emulate --rules\` lists them`;
      throw new EmulatorError("option_invalid", `rules: ${issue}`, { issues: [`rules: ${issue}`] });
    }
    if (typeof enforced !== "boolean") {
      const issue = `${rule} must be true or false`;
      throw new EmulatorError("option_invalid", `rules: ${issue}`, { issues: [`rules: ${issue}`] });
    }
    if (!enforced && rules[rule].off === undefined) {
      const issue = `${rule} has no switch: it is always enforced`;
      throw new EmulatorError("option_invalid", `rules: ${issue}`, { issues: [`rules: ${issue}`] });
    }
    if (enforced) this.#off.delete(rule);
    else this.#off.add(rule);
  }

  off(): RuleId[] {
    return [...this.#off];
  }

  /** What breaking the rule gives: nothing, if it is off. */
  refusal(rule: RuleId, finding: Finding): Refusal | undefined {
    return this.isEnforced(rule) ? { rule, ...finding } : undefined;
  }
}

/** In a seed file it is whatever stands where a rule's name belongs. */
function shownRule(rule: unknown): string {
  return typeof rule === "string" && isName(rule) ? `"${rule}"` : "what was given";
}

/** What is no rule would match nothing, and pass unnoticed. */
export const ruleIdSchema: z.ZodType<RuleId> = z.custom<RuleId>(
  (value) => typeof value === "string" && Object.hasOwn(rules, value),
  "must be a rule's id; `bivariant emulate --rules` lists them",
);
