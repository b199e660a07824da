// A map whose entries may be forgotten after their instant; memory follows what is still alive.

/** Below this many entries sweeping costs more than it frees. */
const SMALLEST_SWEEP = 1024;

/**
 * Holds each entry at least until `expiresAt` (epoch milliseconds). Expired entries go in sweeps, each time the map
 * has doubled since the last one, so at most about twice as many entries are held as are alive. Whoever reads an
 * entry compares its instant: presence alone says nothing about time.
 */
export class ExpiringMap<Value extends { readonly expiresAt: number }> {
  readonly #entries = new Map<string, Value>();
  #sweepAt = SMALLEST_SWEEP;

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value, now: number): void {
    this.#entries.set(key, value);
    if (this.#entries.size < this.#sweepAt) return;
    for (const [oldKey, old] of this.#entries) if (old.expiresAt <= now) this.#entries.delete(oldKey);
    this.#sweepAt = Math.max(SMALLEST_SWEEP, this.#entries.size * 2);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
