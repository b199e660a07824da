// The stores for records, each limited in size, and the source of ids and secrets.
import { createHash, randomBytes } from "node:crypto";

/** With fewer entries than this, a sweep is not worth its cost. */
const SMALLEST_SWEEP = 1024;
/** The most entries of one map, expired or not. */
const DEFAULT_CAPACITY = 100_000;

interface Entry<Value> {
  readonly value: Value;
  readonly expiresAt: number;
}

/**
 * Keeps each entry at least until `expiresAt` (epoch milliseconds). Each time the map has doubled, a sweep
 * deletes the expired entries, so at most about half of the entries are expired. If there are still more than
 * `capacity`, the oldest are deleted too. Readers must check `expiresAt`, because an entry may have expired.
 */
class ExpiringMap<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #capacity: number;
  #sweepAt = SMALLEST_SWEEP;

  constructor(capacity: number = DEFAULT_CAPACITY) {
    this.#capacity = capacity;
  }

  get(key: string): Entry<Value> | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value, expiresAt: number, now: number): void {
    const entries = this.#entries;
    entries.set(key, { value, expiresAt });
    if (entries.size < this.#sweepAt) return;
    for (const [oldKey, old] of entries) if (old.expiresAt <= now) entries.delete(oldKey);
    if (entries.size > this.#capacity) {
      // A tenth is deleted at once. If it were one entry, the next `set` would sweep the whole map again.
      for (const oldest of entries.keys()) {
        if (entries.size > this.#capacity * 0.9) entries.delete(oldest);
      }
    }
    this.#sweepAt = Math.max(SMALLEST_SWEEP, Math.min(entries.size * 2, this.#capacity + 1));
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Replaces each value by the result of `revision`; if that is undefined, deletes the entry. */
  revise(revision: (value: Value) => Value | undefined): void {
    for (const [key, { value, expiresAt }] of this.#entries) {
      const revised = revision(value);
      if (revised === undefined) this.#entries.delete(key);
      else this.#entries.set(key, { value: revised, expiresAt });
    }
  }
}

/** Stores only hashes of secrets. It is synchronous, so that concurrent uses of a secret have an order. */
export class SecretMap<Value> {
  readonly #byHash: ExpiringMap<Value>;
  readonly #random: RandomSource;

  constructor(random: RandomSource, capacity?: number) {
    this.#random = random;
    this.#byHash = new ExpiringMap(capacity);
  }

  /** Returns a new secret, which is stored nowhere. It is known at least until `keepUntil`. */
  mint(value: Value, keepUntil: number, now: number): string {
    const secret = this.#random.secret();
    this.#byHash.set(hashOf(secret), value, keepUntil, now);
    return secret;
  }

  find(secret: string): Value | undefined {
    return this.#byHash.get(hashOf(secret))?.value;
  }

  /** Replaces the value of a known secret. Without `keepUntil` it is kept as long as the old one. */
  replace(secret: string, value: Value, now: number, keepUntil?: number): void {
    const key = hashOf(secret);
    const kept = this.#byHash.get(key);
    if (kept !== undefined) this.#byHash.set(key, value, keepUntil ?? kept.expiresAt, now);
  }

  delete(secret: string): void {
    this.#byHash.delete(hashOf(secret));
  }

  revise(revision: (value: Value) => Value): void {
    this.#byHash.revise(revision);
  }

  /** Deletes the matching values, so that their secrets are unknown. */
  forget(matches: (value: Value) => boolean): void {
    this.#byHash.revise((value) => (matches(value) ? undefined : value));
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

/** The data of a token, fixed when it is minted. */
export interface IssuedToken {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person who launched the plugin or logged in; undefined if a machine acts for itself. */
  readonly userId?: string | undefined;
  /** The login that the token results from (Variant B). If it is revoked, the token is refused. */
  readonly authorizationId?: string | undefined;
  /** "The token carries the scopes granted to the registration" (section 5.6). Undefined permits all. */
  readonly scopes: ReadonlySet<string> | undefined;
  /** Epoch milliseconds; from this instant on the token is refused. */
  readonly expiresAt: number;
  /** The kind of registration that was removed. The token stays refused even if it is registered again. */
  readonly unregistered?: Unregistered | undefined;
}

export type Unregistered = "plugin" | "service account" | "operator";

/** One login that was exchanged for tokens. */
export interface Authorization {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  /** The granted scopes. If undefined, all capabilities of the person. */
  readonly scopes: ReadonlySet<string> | undefined;
  readonly revoked: boolean;
  /** Epoch milliseconds; from this instant on every refresh is refused. */
  readonly endsAt: number;
}

export class Authorizations {
  readonly #byId = new ExpiringMap<Authorization>();
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  /** Returns an id, which is not secret and is known at least until `keepUntil` (epoch milliseconds). */
  open(authorization: Authorization, keepUntil: number, now: number): string {
    const id = this.#random.uuid();
    this.#byId.set(id, authorization, keepUntil, now);
    return id;
  }

  find(id: string): Authorization | undefined {
    return this.#byId.get(id)?.value;
  }

  /** Ends the refresh tokens and access tokens of this authorization. */
  revoke(id: string, now: number): void {
    const kept = this.#byId.get(id);
    if (kept !== undefined) this.#byId.set(id, { ...kept.value, revoked: true }, kept.expiresAt, now);
  }

  revokeAll(matches: (authorization: Authorization) => boolean): void {
    this.#byId.revise((value) => (matches(value) ? { ...value, revoked: true } : value));
  }
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
    // The list is cut at twice the capacity. shift() on every append would move all entries each time.
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

/**
 * A sliding window per tenant. An admitted request occupies a slot from its instant until just before the
 * instant `windowSeconds` later. A refused request occupies none, so it suffices to wait for a free slot.
 */
export class SlidingWindow {
  readonly #requests: number;
  readonly #windowMs: number;
  readonly #admitted = new ExpiringMap<number[]>();

  constructor(limit: { requests: number; windowSeconds: number }) {
    this.#requests = limit.requests;
    this.#windowMs = limit.windowSeconds * 1000;
  }

  /** Takes a slot; if there is none, returns the instant (epoch milliseconds) at which one becomes free. */
  take(tenantId: string, now: number): number | undefined {
    // Anonymous callers choose the tenant in the path, so it may be long. Its hash is short.
    const key = hashOf(tenantId);
    // If the clock was set back, instants that are now in the future do not count.
    const earlier = this.#admitted.get(key)?.value ?? [];
    const instants = earlier.filter((at) => at <= now && now < at + this.#windowMs);
    const [oldest] = instants;
    if (oldest !== undefined && instants.length >= this.#requests) return oldest + this.#windowMs;
    instants.push(now);
    this.#admitted.set(key, instants, now + this.#windowMs, now);
    return undefined;
  }
}

/** Each is kept for at most six and a half minutes, so this suffices for 2,500 assertions per second. */
const MOST_ASSERTION_IDS = 1_000_000;

/** "A repeat is refused" (description, section 2.2). */
export class UsedAssertionIds {
  readonly #uses = new ExpiringMap<true>(MOST_ASSERTION_IDS);

  /**
   * Marks the jti as used, or returns false if it already was. It is synchronous, so that concurrent posts of
   * one assertion return true only once. Two plugins, or two tenants, may use the same jti.
   */
  use(id: { tenantId: string; clientId: string; jti: string }, expiresAt: number, now: number): boolean {
    // The key is a hash, because a jti may be long and no part of an assertion may be stored.
    const key = hashOf(JSON.stringify([id.tenantId, id.clientId, id.jti]));
    const earlier = this.#uses.get(key);
    if (earlier !== undefined && now < earlier.expiresAt) return false;
    this.#uses.set(key, true, expiresAt, now);
    return true;
  }
}

/** 256 bits. RFC 6749 section 10.10 asks for 160. */
const SECRET_BYTES = 32;

/** With a seed, which is for tests only, every instance returns the same sequence of values. */
export class RandomSource {
  readonly #seed: number | undefined;
  #drawn = 0;

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** A random string without any structure that clients could depend on. */
  secret(): string {
    return this.bytes(SECRET_BYTES).toString("base64url");
  }

  /** A version 4 UUID (RFC 9562 section 5.4). */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  /** `length` must be at most 32. */
  bytes(length: number): Buffer {
    this.#drawn += 1;
    if (this.#seed === undefined) return randomBytes(length);
    const draw = createHash("sha256").update(`emulator ${this.#seed} ${this.#drawn}`);
    return draw.digest().subarray(0, length);
  }
}
