// What was handed out as a random value and is told apart by it: tokens, codes, sessions; by hash, never by value.
import { createHash } from "node:crypto";
import type { RandomSource } from "../random-source.js";
import { ExpiringMap } from "./expiring-map.js";

interface Kept<Value> {
  readonly value: Value;
  readonly expiresAt: number;
}

/** What is stored cannot be presented. Synchronous, so that of concurrent uses of one value exactly one is first. */
export class SecretMap<Value> {
  readonly #byHash: ExpiringMap<Kept<Value>>;
  readonly #random: RandomSource;

  /** Beyond `capacity` values the oldest go whatever their instant; undefined: see `ExpiringMap`. */
  constructor(random: RandomSource, capacity?: number) {
    this.#random = random;
    this.#byHash = new ExpiringMap(capacity);
  }

  /** Hands out a new value, the only copy. It is known at least until `keepUntil` (epoch milliseconds). */
  mint(value: Value, keepUntil: number, now: number): string {
    const secret = this.#random.secret();
    this.#byHash.set(hash(secret), { value, expiresAt: keepUntil }, now);
    return secret;
  }

  find(secret: string): Value | undefined {
    return this.#byHash.get(hash(secret))?.value;
  }

  /**
   * Puts `value` in the place of what the secret stood for, known for as long as that was unless `keepUntil` says
   * otherwise; without effect if the secret is not known.
   */
  replace(secret: string, value: Value, now: number, keepUntil?: number): void {
    const key = hash(secret);
    const kept = this.#byHash.get(key);
    if (kept !== undefined) this.#byHash.set(key, { value, expiresAt: keepUntil ?? kept.expiresAt }, now);
  }

  delete(secret: string): void {
    this.#byHash.delete(hash(secret));
  }

  /** Puts in the place of each value what `revision` makes of it. */
  revise(revision: (value: Value) => Value): void {
    this.#byHash.revise((kept) => ({ ...kept, value: revision(kept.value) }));
  }

  /** Takes away every value that is meant: from now on it is as unknown as one that was never handed out. */
  forget(isMeant: (value: Value) => boolean): void {
    this.#byHash.revise((kept) => (isMeant(kept.value) ? undefined : kept));
  }
}

function hash(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
