// Which rules one emulator enforces: all of them, until somebody switches one off.
import { EmulatorError } from "./emulator-error.js";
import { isName } from "./parse-input.js";
import type { Finding, Refusal } from "./refusal.js";
import { type RuleId, rules } from "./rules.js";

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
    if (enforced) this.#off.delete(rule);
    else this.#off.add(rule);
  }

  off(): RuleId[] {
    return [...this.#off];
  }

  setOff(rules: readonly RuleId[]): void {
    this.#off.clear();
    for (const rule of rules) this.enforce(rule, false);
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
