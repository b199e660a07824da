// The maps in which the state keeps its records, each limited in size, and the source of secrets.
import { createHash, randomBytes } from "node:crypto";

/** A sweep of fewer entries than this is not worth its cost. */
const SMALLEST_SWEEP = 1024;
/** The most entries of one map, expired or not. */
const DEFAULT_CAPACITY = 100_000;

interface Entry<Value> {
  readonly value: Value;
  readonly expiresAt: number;
}

/**
 * Keeps each value at least until `expiresAt` (epoch milliseconds). Each time the map has doubled,
 * a sweep deletes the expired values, so at most about half of them are expired. If there are still
 * more than `capacity`, the oldest are deleted too. Only hashes of the keys are stored, because a
 * key may be a secret or very long. The map is synchronous, so that concurrent uses of a key have
 * an order.
 */
export class ExpiringMap<Value> {
  readonly #byHash = new Map<string, Entry<Value>>();
  readonly #capacity: number;
  #sweepAt = SMALLEST_SWEEP;

  constructor(capacity: number = DEFAULT_CAPACITY) {
    this.#capacity = capacity;
  }

  /** Returns a value that may have expired. */
  find(key: string | undefined): Value | undefined {
    return key === undefined ? undefined : this.#byHash.get(hashOf(key))?.value;
  }

  set(key: string, value: Value, expiresAt: number, now: number): void {
    const entries = this.#byHash;
    entries.set(hashOf(key), { value, expiresAt });
    if (entries.size < this.#sweepAt) return;
    for (const [hash, old] of entries) if (old.expiresAt <= now) entries.delete(hash);
    if (entries.size > this.#capacity) {
      // A tenth is deleted at once. If it were one entry, the next `set` would sweep the whole map
      // again.
      for (const oldest of entries.keys()) {
        if (entries.size > this.#capacity * 0.9) entries.delete(oldest);
      }
    }
    this.#sweepAt = Math.max(SMALLEST_SWEEP, Math.min(entries.size * 2, this.#capacity + 1));
  }

  /**
   * Changes members of a known value, which it returns as it was. By default `expiresAt` stays the
   * same.
   */
  change(
    key: string | undefined,
    members: Partial<Value>,
    now: number,
    expiresAt?: number,
  ): Value | undefined {
    const kept = key === undefined ? undefined : this.#byHash.get(hashOf(key));
    if (key === undefined || kept === undefined) return undefined;
    this.set(key, { ...kept.value, ...members }, expiresAt ?? kept.expiresAt, now);
    return kept.value;
  }

  delete(key: string): void {
    this.#byHash.delete(hashOf(key));
  }

  /** Replaces each value by the result of `revision`; if that is undefined, deletes it. */
  revise(revision: (value: Value) => Value | undefined): void {
    for (const [hash, { value, expiresAt }] of this.#byHash) {
      const revised = revision(value);
      if (revised === undefined) this.#byHash.delete(hash);
      else this.#byHash.set(hash, { value: revised, expiresAt });
    }
  }

  /** Deletes the matching values. */
  forget(matches: (value: Value) => boolean): void {
    this.revise((value) => (matches(value) ? undefined : value));
  }
}

/** 256 bits. RFC 6749 section 10.10 asks for 160. */
const SECRET_BYTES = 32;

export class SecretMap<Value> extends ExpiringMap<Value> {
  readonly #random: RandomSource;

  constructor(random: RandomSource, capacity?: number) {
    super(capacity);
    this.#random = random;
  }

  /** Stores the value under a new secret, which it returns and stores nowhere. */
  mint(value: Value, expiresAt: number, now: number): string {
    const secret = this.#random.bytes(SECRET_BYTES).toString("base64url");
    this.set(secret, value, expiresAt, now);
    return secret;
  }
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url");
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
