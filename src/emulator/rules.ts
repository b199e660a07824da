// The rule table: every rule that the emulator enforces, as data.
import { type AnswerRuleId, type ApiRuleId, answerRules, apiRules } from "./rules/api.js";
import type { Rule } from "./rules/rule.js";
import {
  type AssertionRuleId,
  assertionRules,
  type CodeRuleId,
  codeRules,
  type LaunchRuleId,
  launchRules,
  type TokenRequestRuleId,
  tokenRequestRules,
} from "./rules/variant-a.js";
import {
  type ClientRequestRuleId,
  clientRequestRules,
  type LoginRuleId,
  loginRules,
  type PersonGrantRuleId,
  personGrantRules,
} from "./rules/variant-b.js";

/** The stable name of a rule, as the customer log shows it. */
export type RuleId =
  | LaunchRuleId
  | TokenRequestRuleId
  | AssertionRuleId
  | CodeRuleId
  | LoginRuleId
  | ClientRequestRuleId
  | PersonGrantRuleId
  | ApiRuleId
  | AnswerRuleId;

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
