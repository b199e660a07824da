// The rule table: every rule that the emulator enforces, as data.

import { type AnswerRuleId, answerRules } from "./rules/answer-rules.js";
import { type ApiRuleId, apiRules } from "./rules/api-rules.js";
import { type AssertionRuleId, assertionRules } from "./rules/assertion-rules.js";
import { type ClientRequestRuleId, clientRequestRules } from "./rules/client-request-rules.js";
import { type CodeRuleId, codeRules } from "./rules/code-rules.js";
import { type LaunchRuleId, launchRules } from "./rules/launch-rules.js";
import { type LoginRuleId, loginRules } from "./rules/login-rules.js";
import { type PersonGrantRuleId, personGrantRules } from "./rules/person-grant-rules.js";
import type { Rule, RuleEntry } from "./rules/rule.js";
import { type TokenRequestRuleId, tokenRequestRules } from "./rules/token-request-rules.js";

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

const table: Readonly<Record<RuleId, RuleEntry>> = {
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

/**
 * Every rule by its id, as plain data: the section of the description it comes from, what it says, the answer that
 * breaking it gets, the remedy, and what happens while its switch is off. What the description leaves open is in
 * `options`; the contract kit reads both.
 *
 * @example
 * rules["assertion.audience"].answer; // { status: 400, error: "invalid_client" }
 */
export const rules: Readonly<Record<RuleId, Rule>> = Object.fromEntries(
  Object.entries(table).map(([id, rule]) => [id, { ...rule, default: true }]),
) as Record<RuleId, Rule>;
