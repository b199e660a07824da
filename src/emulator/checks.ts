// Checks of rules, the refusals that they report, and the switches that skip them.
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
  /** The answer, if an option chooses another than the rule's own. */
  readonly answer?: RuleAnswer;
}

export function answerTo({ rule, answer }: Refusal): RuleAnswer {
  return answer ?? rules[rule].answer;
}

/** Reports how the subject breaks the rule, or undefined if it does not. Never throws on received values. */
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
 * The switches of one emulator. The check of a rule that is off is skipped; its `off` in `rules` describes the effect. A
 * rule without `off` has no switch. A change counts from the next check on, also for requests in flight.
 *
 * @example
 * emulator.rules.enforce("assertion.replay", false); // what a server without a jti store would do
 */
export interface EmulatorRules {
  isEnforced(rule: RuleId): boolean;
  /** @throws EmulatorError `option_invalid` for an unknown rule, or one without a switch. */
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

  /** The refusal of a broken rule, or undefined if the rule is off. */
  refusal(rule: RuleId, finding: Finding): Refusal | undefined {
    return this.isEnforced(rule) ? { rule, ...finding } : undefined;
  }
}

/** A seed file may have a secret in the place of a rule. */
function shownRule(rule: unknown): string {
  return typeof rule === "string" && isName(rule) ? `"${rule}"` : "what was given";
}

/** An unknown rule in a filter would match nothing, and the mistake would go unnoticed. */
export const ruleIdSchema: z.ZodType<RuleId> = z.custom<RuleId>(
  (value) => typeof value === "string" && Object.hasOwn(rules, value),
  "must be a rule's id; `bivariant emulate --rules` lists them",
);
