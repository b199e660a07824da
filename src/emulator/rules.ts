// The rule table: every rule that the emulator enforces, as data.
import { answerRules, apiRules } from "./rules/api.js";
import { assertionRules, codeRules, launchRules, tokenRequestRules } from "./rules/variant-a.js";
import { clientRequestRules, loginRules, personGrantRules } from "./rules/variant-b.js";

/** What the caller receives: nothing more than this, whatever the reason. */
export interface RuleAnswer {
  readonly status: number;
  readonly error?: string;
}

/** A rule as data: for people, for the customer log, and for contract tests of a live deployment. */
export interface Rule {
  /** The section of the service's description it comes from, or the standard where the description is silent. */
  readonly section: string;
  /** The rule in one sentence. */
  readonly says: string;
  /** The answer to a request that breaks it; for a rule about the service's own answers, the answer that it is about. */
  readonly answer: RuleAnswer;
  /** What to check or to do. */
  readonly remedy: string;
  /** What happens while its check is skipped. Undefined: the rule is always enforced. */
  readonly off?: string;
}

/** The stable name of a rule, as the customer log shows it. */
export type RuleId =
  | keyof typeof launchRules
  | keyof typeof tokenRequestRules
  | keyof typeof assertionRules
  | keyof typeof codeRules
  | keyof typeof loginRules
  | keyof typeof clientRequestRules
  | keyof typeof personGrantRules
  | keyof typeof apiRules
  | keyof typeof answerRules;

/**
 * Every rule by its id, as plain data: the section of the description it comes from, what it says, the answer to a
 * request that breaks it, the remedy, and, for a rule with a switch, what happens while it is off. The choices that the
 * description leaves open are in `options`.
 *
 * @example
 * rules["assertion.audience"].answer; // { status: 400, error: "invalid_client" }
 */
export const rules: Readonly<Record<RuleId, Rule>> = {
  ...launchRules,
  ...tokenRequestRules,
  ...assertionRules,
  ...codeRules,
  ...loginRules,
  ...clientRequestRules,
  ...personGrantRules,
  ...apiRules,
  ...answerRules,
};
