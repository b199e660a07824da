// The shape of a rule.

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
