// What was handed out as a random value and is told apart by it: tokens, codes, sessions; by hash, never by value.
import { createHash, randomBytes } from "node:crypto";
import { ExpiringMap } from "./expiring-map.js";

/** 256 bits, beyond the 160 that RFC 6749 section 10.10 asks for. */
const SECRET_BYTES = 32;

interface Kept<Value> {
  readonly value: Value;
  readonly expiresAt: number;
}

/** What is stored cannot be presented. Synchronous, so that of concurrent uses of one value exactly one is first. */
export class SecretMap<Value> {
  readonly #byHash = new ExpiringMap<Kept<Value>>();

  /** Hands out a new value, the only copy. It is known at least until `keepUntil` (epoch milliseconds). */
  mint(value: Value, keepUntil: number, now: number): string {
    const secret = newSecret();
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
}

/** An opaque random string, so nobody can come to depend on what is inside. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

function hash(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
