// The rule table: every rule that the emulator enforces, as data.
import { apiRules } from "./rules/api.js";
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
  | keyof typeof apiRules;

/**
 * Every rule by its id, as plain data: the section of the description it comes from, what it says, the answer to a
 * request that breaks it, the remedy, and, for a rule with a switch, what happens while it is off. The choices that the
 * description leaves open are in `options`.
 *
 * @example
 * rules["assertion.audience"].answer; // { status: 400, error: "invalid_client" }
 */
export const rules: Readonly<Record<RuleId, Rule>> = {
  ...read("400 invalid_request", { ...launchRules, ...tokenRequestRules }),
  ...read("400 invalid_client", assertionRules),
  ...read("400 invalid_grant", codeRules, "Relaunch the plugin and exchange the new code once."),
  ...read("400 invalid_request", { ...loginRules, ...clientRequestRules }),
  ...read("400 invalid_grant", personGrantRules, "Send the user to the authorization endpoint again."),
  ...read("401", apiRules),
};

/**
 * Reads a group of rules. The lines of a rule are its section (and answer, after " | "), what it says, the remedy, and,
 * after "Off: ", what happens while its check is skipped. Answer and remedy are those of the group where left out.
 */
function read<Id extends string>(
  groupAnswer: string,
  group: Readonly<Record<Id, string>>,
  groupRemedy = "",
): Record<Id, Rule> {
  const entries = Object.entries<string>(group).map(([id, text]): [string, Rule] => {
    const [head = "", says = "", ...more] = text.split("\n").map((line) => line.trim());
    const [section = "", ownAnswer = groupAnswer] = head.split(" | ");
    const [status, error] = ownAnswer.split(" ");
    const remedy = more.find((line) => !line.startsWith("Off: ")) ?? groupRemedy;
    const off = more.find((line) => line.startsWith("Off: "))?.replace("Off: ", "");
    const answer = { status: Number(status), ...(error !== undefined && { error }) };
    return [id, { section, says, answer, remedy, ...(off !== undefined && { off }) }];
  });
  return Object.fromEntries(entries) as Record<Id, Rule>;
}
