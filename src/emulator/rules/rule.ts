// The shape of one rule that the emulator enforces.

/** A rule as data: readable by people, by the customer log and by whoever tests a live deployment against it. */
export interface Rule {
  /** The section of the service's description it comes from, or the standard where the description is silent. */
  readonly section: string;
  /** The rule in one sentence. */
  readonly says: string;
  /** What the caller is told when it is broken. */
  readonly answer: { readonly status: number; readonly error?: string };
  /** What to check or do about it. */
  readonly remedy: string;
}
