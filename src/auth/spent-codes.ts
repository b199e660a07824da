/** The authorization codes that were sent lately with one credential: what a store remembers too, where there is one. */

export class SpentCodes {
  /** Epoch milliseconds by name; all are remembered for the same time, so the first is the first to go. */
  readonly #until = new Map<string, number>();

  /** Whether it was not spent before; from now on it is. */
  spend(name: string, now: number, lifetimeMs: number): boolean {
    for (const [old, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(old);
    }
    if (this.#until.has(name)) return false;
    this.#until.set(name, now + lifetimeMs);
    return true;
  }

  /** Takes that back: it was surely not sent. */
  unspend(name: string): void {
    this.#until.delete(name);
  }
}
