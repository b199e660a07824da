/** A map of bounded size that forgets the least recently used entries, unless they must stay. */

export class RecentlyUsed<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #capacity: number;
  readonly #mayGo: (value: Value) => boolean;

  /** Entries for which `mayGo` returns false stay, even beyond `capacity`. */
  constructor(capacity: number, mayGo: (value: Value) => boolean = () => true) {
    this.#capacity = capacity;
    this.#mayGo = mayGo;
  }

  /** Returns the value under a key, created if it is absent, and marks it as used. */
  get(key: string, create: () => Value): Value {
    const found = this.#entries.get(key);
    if (found !== undefined) this.#entries.delete(key);
    const value = found ?? create();
    this.#entries.set(key, value);
    if (found !== undefined) return value;
    // A Map keeps the order of insertion, and each use inserts again, so the first entry is the
    // least recently used.
    for (const [oldest, other] of this.#entries) {
      if (this.#entries.size <= this.#capacity) break;
      if (oldest !== key && this.#mayGo(other)) this.#entries.delete(oldest);
    }
    return value;
  }

  /** Returns the value under a key, if there is one. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key);
  }
}
