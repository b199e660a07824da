// A map whose entries may be forgotten after their instant; memory follows what is still alive.

/** Below this many entries sweeping costs more than it frees. */
const SMALLEST_SWEEP = 1024;

/** What is held of one kind at most, alive or not. */
const DEFAULT_CAPACITY = 100_000;

/**
 * Holds each entry at least until `expiresAt` (epoch milliseconds). Expired entries go in sweeps, each time the map
 * has doubled since the last one, so at most about twice as many entries are held as are alive; beyond `capacity` the
 * oldest go whatever their instant. Whoever reads an entry compares its instant: presence alone says nothing about time.
 */
export class ExpiringMap<Value extends { readonly expiresAt: number }> {
  readonly #entries = new Map<string, Value>();
  readonly #capacity: number;
  #sweepAt = SMALLEST_SWEEP;

  constructor(capacity: number = DEFAULT_CAPACITY) {
    this.#capacity = capacity;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value, now: number): void {
    this.#entries.set(key, value);
    if (this.#entries.size < this.#sweepAt) return;
    for (const [oldKey, old] of this.#entries) if (old.expiresAt <= now) this.#entries.delete(oldKey);
    if (this.#entries.size > this.#capacity) this.#dropOldest();
    this.#sweepAt = this.#nextSweep();
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Puts in the place of each value what `revision` makes of it; what it makes undefined goes. */
  revise(revision: (value: Value) => Value | undefined): void {
    for (const [key, value] of this.#entries) {
      const revised = revision(value);
      if (revised === undefined) this.#entries.delete(key);
      else this.#entries.set(key, revised);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A tenth at once: one at a time would sweep the whole map for each. */
  #dropOldest(): void {
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#capacity * 0.9) return;
      this.#entries.delete(oldest);
    }
  }

  #nextSweep(): number {
    return Math.max(SMALLEST_SWEEP, Math.min(this.#entries.size * 2, this.#capacity + 1));
  }
}
