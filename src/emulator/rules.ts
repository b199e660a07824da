// The rule table: every rule that the emulator enforces, as data.
import { type ApiRuleId, apiRules } from "./rules/api-rules.js";
import { type AssertionRuleId, assertionRules } from "./rules/assertion-rules.js";
import { type ClientRequestRuleId, clientRequestRules } from "./rules/client-request-rules.js";
import type { Rule } from "./rules/rule.js";
import { type TokenRequestRuleId, tokenRequestRules } from "./rules/token-request-rules.js";

/** The stable name of a rule, as the customer log shows it. */
export type RuleId = TokenRequestRuleId | AssertionRuleId | ClientRequestRuleId | ApiRuleId;

/**
 * Every rule by its id: the section of the description it comes from, what it says, the answer that breaking it
 * gets, and the remedy.
 *
 * @example
 * rules["assertion.audience"].answer; // { status: 400, error: "invalid_client" }
 */
export const rules: Readonly<Record<RuleId, Rule>> = {
  ...tokenRequestRules,
  ...assertionRules,
  ...clientRequestRules,
  ...apiRules,
};
