/** A map of bounded size that forgets what was used least recently, unless it must not be forgotten. */

export class RecentlyUsed<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #capacity: number;
  readonly #mayGo: (value: Value) => boolean;

  /** Entries for which `mayGo` is false stay, even beyond `capacity`. */
  constructor(capacity: number, mayGo: (value: Value) => boolean = () => true) {
    this.#capacity = capacity;
    this.#mayGo = mayGo;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value under a key, made if there is none; it counts as used. */
  get(key: string, create: () => Value): Value {
    const found = this.#entries.get(key);
    if (found !== undefined) this.#entries.delete(key);
    const value = found ?? create();
    this.#entries.set(key, value);
    if (found === undefined && this.#entries.size > this.#capacity) this.#forget(key);
    return value;
  }

  #forget(newest: string): void {
    // A Map keeps the order of insertion, and using is inserting anew: the first may go first.
    for (const [key, value] of this.#entries) {
      if (this.#entries.size <= this.#capacity) return;
      if (key !== newest && this.#mayGo(value)) this.#entries.delete(key);
    }
  }
}
