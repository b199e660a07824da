// The stores of the records, each bounded in size, and the source of their ids and secrets.
import { createHash, randomBytes } from "node:crypto";

/** Below this many entries sweeping costs more than it frees. */
const SMALLEST_SWEEP = 1024;
/** The most entries of one map, expired or not. */
const DEFAULT_CAPACITY = 100_000;

interface Entry<Value> {
  readonly value: Value;
  readonly expiresAt: number;
}

/**
 * Holds each entry at least until `expiresAt` (epoch milliseconds). Expired entries go in sweeps, each time the map
 * has doubled since the last one, so at most about twice as many entries are held as are alive; beyond `capacity` the
 * oldest go too. A reader must compare the instant of an entry: an entry that is present may have expired.
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
      // A tenth at once: one at a time would sweep the whole map for each.
      for (const oldest of entries.keys()) {
        if (entries.size > this.#capacity * 0.9) entries.delete(oldest);
      }
    }
    this.#sweepAt = Math.max(SMALLEST_SWEEP, Math.min(entries.size * 2, this.#capacity + 1));
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Replaces each value by what `revision` returns; undefined deletes it. */
  revise(revision: (value: Value) => Value | undefined): void {
    for (const [key, { value, expiresAt }] of this.#entries) {
      const revised = revision(value);
      if (revised === undefined) this.#entries.delete(key);
      else this.#entries.set(key, { value: revised, expiresAt });
    }
  }
}

/** Stores hashes of secrets only. Synchronous, so that of concurrent uses of one secret exactly one is first. */
export class SecretMap<Value> {
  readonly #byHash: ExpiringMap<Value>;
  readonly #random: RandomSource;

  constructor(random: RandomSource, capacity?: number) {
    this.#random = random;
    this.#byHash = new ExpiringMap(capacity);
  }

  /** Hands out a new value, the only copy. It is known at least until `keepUntil` (epoch milliseconds). */
  mint(value: Value, keepUntil: number, now: number): string {
    const secret = this.#random.secret();
    this.#byHash.set(hashOf(secret), value, keepUntil, now);
    return secret;
  }

  find(secret: string): Value | undefined {
    return this.#byHash.get(hashOf(secret))?.value;
  }

  /** Replaces the value of a known secret, and keeps it as long as the old one unless `keepUntil` is given. */
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

  /** Deletes the matching values: their secrets are then as unknown as secrets that were never minted. */
  forget(matches: (value: Value) => boolean): void {
    this.#byHash.revise((value) => (matches(value) ? undefined : value));
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

/** What a token stands for; fixed when it is minted. */
export interface IssuedToken {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person for whom the client acts: the launching operator or the person who logged in; undefined for a machine. */
  readonly userId?: string | undefined;
  /** What a person allowed an API client (Variant B): revoking that ends the token. */
  readonly authorizationId?: string | undefined;
  /** "The token carries the scopes granted to the registration" (description, section 5.6); undefined reaches all. */
  readonly scopes: ReadonlySet<string> | undefined;
  /** Epoch milliseconds; from this instant on the token is refused. */
  readonly expiresAt: number;
  /** The kind of registration that was unregistered: the token stays refused, also after a registration of that name. */
  readonly unregistered?: Unregistered | undefined;
}

export type Unregistered = "plugin" | "service account" | "operator";

/** One login that was exchanged for tokens. */
export interface Authorization {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  /** The granted scopes; undefined: all capabilities of the person. */
  readonly scopes: ReadonlySet<string> | undefined;
  readonly revoked: boolean;
  /** Epoch milliseconds; from this instant on nothing is refreshed. */
  readonly endsAt: number;
}

export class Authorizations {
  readonly #byId = new ExpiringMap<Authorization>();
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  /** Returns its id, which is not a secret. It is known at least until `keepUntil` (epoch milliseconds). */
  open(authorization: Authorization, keepUntil: number, now: number): string {
    const id = this.#random.uuid();
    this.#byId.set(id, authorization, keepUntil, now);
    return id;
  }

  find(id: string): Authorization | undefined {
    return this.#byId.get(id)?.value;
  }

  /** Ends its refresh tokens and its access tokens. */
  revoke(id: string, now: number): void {
    const kept = this.#byId.get(id);
    if (kept !== undefined) this.#byId.set(id, { ...kept.value, revoked: true }, kept.expiresAt, now);
  }

  revokeAll(matches: (authorization: Authorization) => boolean): void {
    this.#byId.revise((value) => (matches(value) ? { ...value, revoked: true } : value));
  }
}

/** A list of the newest `capacity` entries. Appends in constant time. */
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

/**
 * A sliding window per tenant: an admitted request takes a slot from its own instant on, up to but not at the instant
 * `windowSeconds` later. A request that is not admitted takes none, so waiting until a slot frees is enough.
 */
export class SlidingWindow {
  readonly #requests: number;
  readonly #windowMs: number;
  readonly #admitted = new ExpiringMap<number[]>();

  constructor(limit: { requests: number; windowSeconds: number }) {
    this.#requests = limit.requests;
    this.#windowMs = limit.windowSeconds * 1000;
  }

  /** Takes a slot and returns undefined, or returns the instant (epoch milliseconds) at which one frees. */
  take(tenantId: string, now: number): number | undefined {
    // An anonymous caller chooses the tenant of the path, which may be as long as a path.
    const key = hashOf(tenantId);
    // After the clock was set back, the instants that are now ahead do not count.
    const earlier = this.#admitted.get(key)?.value ?? [];
    const instants = earlier.filter((at) => at <= now && now < at + this.#windowMs);
    const [oldest] = instants;
    if (oldest !== undefined && instants.length >= this.#requests) return oldest + this.#windowMs;
    instants.push(now);
    this.#admitted.set(key, instants, now + this.#windowMs, now);
    return undefined;
  }
}

/** Each is remembered for at most six minutes and a half: 2,500 accepted assertions a second. */
const MOST_ASSERTION_IDS = 1_000_000;

/** "A repeat is refused" (description, section 2.2). */
export class UsedAssertionIds {
  readonly #uses = new ExpiringMap<true>(MOST_ASSERTION_IDS);

  /**
   * Marks the jti as used; false if it already was. Synchronous, so that of concurrent posts of one assertion exactly
   * one gets true. Two plugins, or two tenants, may use the same jti.
   */
  use(id: { tenantId: string; clientId: string; jti: string }, expiresAt: number, now: number): boolean {
    // Hashed: a jti may be as long as a request body, and no part of an assertion is stored.
    const key = hashOf(JSON.stringify([id.tenantId, id.clientId, id.jti]));
    const earlier = this.#uses.get(key);
    if (earlier !== undefined && now < earlier.expiresAt) return false;
    this.#uses.set(key, true, expiresAt, now);
    return true;
  }
}

/** 256 bits, beyond the 160 that RFC 6749 section 10.10 asks for. */
const SECRET_BYTES = 32;

/** With a seed, the same draws return the same values in every instance: for tests only. */
export class RandomSource {
  readonly #seed: number | undefined;
  #drawn = 0;

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** An opaque random string: clients cannot depend on its content. */
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

  /** At most 32. */
  bytes(length: number): Buffer {
    this.#drawn += 1;
    if (this.#seed === undefined) return randomBytes(length);
    const draw = createHash("sha256").update(`emulator ${this.#seed} ${this.#drawn}`);
    return draw.digest().subarray(0, length);
  }
}
