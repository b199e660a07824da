// The maps in which the state keeps its records, each limited in size, and the source of secrets.
import { createHash, randomBytes } from "node:crypto";

/** A sweep of fewer entries than this is not worth its cost. */
const SMALLEST_SWEEP = 1024;
/** The most entries of one map, expired or not. */
const DEFAULT_CAPACITY = 100_000;

/** A value that ends. */
export interface Ending {
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** A later end, until which a value that is over must stay known. */
  readonly keptUntil?: number;
}

/** What the maps of one deployment have in common. */
interface Keeping {
  readonly clock: () => number;
  /**
   * The milliseconds for which a value is kept after its end, so that the log can tell a late one
   * from an unknown one.
   */
  readonly memoryMs: number;
}

/**
 * Keeps each value at least until its end and `memoryMs` longer. Each time the map has doubled, a
 * sweep deletes what is over, so at most about half of the values are. If there are still more than
 * `capacity`, the oldest are deleted too. Only hashes of the keys are stored, because a key may be
 * a secret or very long. The map is synchronous, so that concurrent uses of a key have an order.
 */
export class ExpiringMap<Value extends Ending> {
  readonly #byHash = new Map<string, Value>();
  readonly #keeping: Keeping;
  readonly #capacity: number;
  #sweepAt = SMALLEST_SWEEP;

  constructor(keeping: Keeping, capacity: number = DEFAULT_CAPACITY) {
    this.#keeping = keeping;
    this.#capacity = capacity;
  }

  /** Returns a value that may have expired. */
  find(key: string | undefined): Value | undefined {
    return key === undefined ? undefined : this.#byHash.get(sha256(key));
  }

  set(key: string, value: Value): void {
    const values = this.#byHash;
    values.set(sha256(key), value);
    if (values.size < this.#sweepAt) return;
    const { clock, memoryMs } = this.#keeping;
    const forgotten = clock() - memoryMs;
    for (const [hash, { expiresAt, keptUntil = expiresAt }] of values)
      if (keptUntil <= forgotten) values.delete(hash);
    if (values.size > this.#capacity) {
      // A tenth is deleted at once. If it were one value, the next `set` would sweep the whole map
      // again.
      for (const oldest of values.keys()) {
        if (values.size > this.#capacity * 0.9) values.delete(oldest);
      }
    }
    this.#sweepAt = Math.max(SMALLEST_SWEEP, Math.min(values.size * 2, this.#capacity + 1));
  }

  /** Changes members of a known value, which it returns as it was. */
  change(key: string | undefined, members: Partial<Value>): Value | undefined {
    const value = this.find(key);
    if (key !== undefined && value !== undefined) this.set(key, { ...value, ...members });
    return value;
  }

  delete(key: string): void {
    this.#byHash.delete(sha256(key));
  }

  /** Replaces each value by the result of `revision`; if that is undefined, deletes it. */
  revise(revision: (value: Value) => Value | undefined): void {
    for (const [hash, value] of this.#byHash) {
      const revised = revision(value);
      if (revised === undefined) this.#byHash.delete(hash);
      else this.#byHash.set(hash, revised);
    }
  }

  /** Deletes the matching values. */
  forget(matches: (value: Value) => boolean): void {
    this.revise((value) => (matches(value) ? undefined : value));
  }
}

/** 256 bits. RFC 6749 section 10.10 asks for 160. */
const SECRET_BYTES = 32;

export class SecretMap<Value extends Ending> extends ExpiringMap<Value> {
  readonly #random: RandomSource;

  constructor(random: RandomSource, keeping: Keeping, capacity?: number) {
    super(keeping, capacity);
    this.#random = random;
  }

  /** Stores the value under a new secret, which it returns and stores nowhere. */
  mint(value: Value): string {
    const secret = this.#random.bytes(SECRET_BYTES).toString("base64url");
    this.set(secret, value);
    return secret;
  }
}

/** The SHA-256 of a text, in base64url without padding. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Keeps the newest `capacity` entries. Appending takes constant time. */
export class BoundedList<Entry> {
  readonly #capacity: number;
  #entries: Entry[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    // The list is cut at twice the capacity. shift() on every append would move all entries each
    // time.
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

/** With a seed, which is for tests only, every instance returns the same sequence of values. */
export class RandomSource {
  readonly #seed: number | undefined;
  #drawn = 0;

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** `length` must be at most 32. */
  bytes(length: number): Buffer {
    this.#drawn += 1;
    if (this.#seed === undefined) return randomBytes(length);
    const draw = createHash("sha256").update(`emulator ${this.#seed} ${this.#drawn}`);
    return draw.digest().subarray(0, length);
  }
}
