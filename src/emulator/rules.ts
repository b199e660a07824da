// The rule table: every rule that the emulator enforces, as data.
import { type ApiRuleId, apiRules } from "./rules/api-rules.js";
import { type AssertionRuleId, assertionRules } from "./rules/assertion-rules.js";
import { type ClientRequestRuleId, clientRequestRules } from "./rules/client-request-rules.js";
import { type CodeRuleId, codeRules } from "./rules/code-rules.js";
import { type LaunchRuleId, launchRules } from "./rules/launch-rules.js";
import { type LoginRuleId, loginRules } from "./rules/login-rules.js";
import { type PersonGrantRuleId, personGrantRules } from "./rules/person-grant-rules.js";
import type { Rule } from "./rules/rule.js";
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
  | ApiRuleId;

/**
 * Every rule by its id: the section of the description it comes from, what it says, the answer that breaking it
 * gets, and the remedy.
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
};
