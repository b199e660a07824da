// A list that keeps the newest entries only, so that logs of a long-running emulator stay bounded.

/** Appends in constant time; the oldest entries go once `capacity` is exceeded. */
export class BoundedList<Entry> {
  readonly #capacity: number;
  #entries: Entry[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    // Cut at twice the capacity: shift() on every append would move the whole list each time.
    if (this.#entries.length >= this.#capacity * 2) this.#entries = this.newest();
  }

  /** A copy, oldest first. */
  newest(): Entry[] {
    return this.#entries.slice(-this.#capacity);
  }

  clear(): void {
    this.#entries = [];
  }
}
