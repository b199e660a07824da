// The rule table: every rule that the emulator enforces, as data.
import { apiRules } from "./rules/api.js";
import { assertionRules, codeRules, launchRules, tokenRequestRules } from "./rules/variant-a.js";
import { clientRequestRules, loginRules, personGrantRules } from "./rules/variant-b.js";

/** The answer that the caller receives. It holds nothing more, whatever the reason. */
export interface RuleAnswer {
  readonly status: number;
  readonly error?: string;
}

/**
 * A rule as data: for people, for the customer log, and for contract tests of a live deployment.
 */
export interface Rule {
  /** The section of the service's description, or the standard where the description is silent. */
  readonly section: string;
  /** The rule in one sentence. */
  readonly says: string;
  /**
   * The answer to a request that breaks the rule. A rule about the service's own answers has that
   * answer here.
   */
  readonly answer: RuleAnswer;
  /** How the caller or the customer corrects the mistake. */
  readonly remedy: string;
  /** The effect of skipping its check. If undefined, the rule is always enforced. */
  readonly off?: string;
}

const RELAUNCH = "Relaunch the plugin and exchange the new code once.";
const LOG_IN = "Send the user to the authorization endpoint again.";

/** The stable name of a rule, as the customer log shows it. */
export type RuleId =
  | keyof typeof launchRules
  | keyof typeof tokenRequestRules
  | keyof typeof assertionRules
  | keyof typeof codeRules
  | keyof typeof loginRules
  | keyof typeof clientRequestRules
  | keyof typeof personGrantRules
  | keyof typeof apiRules;

/**
 * Every rule by its id, as plain data: the section of the description it comes from, what it says,
 * the answer to a request that breaks it, the remedy, and, for a rule with a switch, what happens
 * while it is off. The choices that the description leaves open are in `options`.
 *
 * @example
 * emulatorRules["assertion.audience"].answer; // { status: 400, error: "invalid_client" }
 */
export const emulatorRules: Readonly<Record<RuleId, Rule>> = {
  ...withDefaults({ answer: { status: 400, error: "invalid_request" } }, launchRules),
  ...withDefaults({ answer: { status: 400, error: "invalid_grant" } }, tokenRequestRules),
  ...withDefaults({ answer: { status: 400, error: "invalid_client" } }, assertionRules),
  ...withDefaults({ answer: { status: 400, error: "invalid_grant" }, remedy: RELAUNCH }, codeRules),
  ...withDefaults(
    { answer: { status: 400, error: "invalid_request" } },
    { ...loginRules, ...clientRequestRules },
  ),
  ...withDefaults(
    { answer: { status: 400, error: "invalid_grant" }, remedy: LOG_IN },
    personGrantRules,
  ),
  ...withDefaults({ answer: { status: 401 } }, apiRules),
};

/** Adds the members that the rows of a group leave out. */
function withDefaults<Id extends string, Defaults extends Partial<Rule>>(
  defaults: Defaults,
  rows: Readonly<Record<Id, Omit<Rule, keyof Defaults> & Partial<Rule>>>,
): Record<Id, Rule> {
  const all = Object.entries<object>(rows).map(([id, row]) => [id, { ...defaults, ...row }]);
  return Object.fromEntries(all) as Record<Id, Rule>;
}
