// The shape of one rule that the emulator enforces.

/** What a caller is told: nothing more than this, whatever the reason. */
export interface RuleAnswer {
  readonly status: number;
  readonly error?: string;
}

/** A rule as data: readable by people, by the customer log and by whoever tests a live deployment against it. */
export interface Rule {
  /** The section of the service's description it comes from, or the standard where the description is silent. */
  readonly section: string;
  /** The rule in one sentence. */
  readonly says: string;
  /** What the caller is told when it is broken; of a rule about the service's own answers, the answer it is about. */
  readonly answer: RuleAnswer;
  /** What to check or do about it. */
  readonly remedy: string;
  /** What happens instead while its switch is off. */
  readonly off: string;
  /** Every rule is enforced until somebody switches it off. */
  readonly default: true;
}

/** A rule as its table writes it. */
export type RuleEntry = Omit<Rule, "default">;
