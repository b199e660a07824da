// The stores of the records, each bounded in size, and the source of their ids and secrets.
import { createHash, randomBytes } from "node:crypto";

/** Below this many entries sweeping costs more than it frees. */
const SMALLEST_SWEEP = 1024;

/** The most entries of one map, expired or not. */
const DEFAULT_CAPACITY = 100_000;

/**
 * Holds each entry at least until `expiresAt` (epoch milliseconds). Expired entries go in sweeps, each time the map
 * has doubled since the last one, so at most about twice as many entries are held as are alive; beyond `capacity` the
 * oldest go too. A reader must compare the instant of an entry: an entry that is present may have expired.
 */
export class ExpiringMap<Value extends { readonly expiresAt: number }> {
  readonly #entries = new Map<string, Value>();
  readonly #capacity: number;
  #sweepAt = SMALLEST_SWEEP;

  constructor(capacity: number = DEFAULT_CAPACITY) {
    this.#capacity = capacity;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value, now: number): void {
    this.#entries.set(key, value);
    if (this.#entries.size < this.#sweepAt) return;
    for (const [oldKey, old] of this.#entries) if (old.expiresAt <= now) this.#entries.delete(oldKey);
    if (this.#entries.size > this.#capacity) this.#dropOldest();
    this.#sweepAt = this.#nextSweep();
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Replaces each value by what `revision` returns; undefined deletes it. */
  revise(revision: (value: Value) => Value | undefined): void {
    for (const [key, value] of this.#entries) {
      const revised = revision(value);
      if (revised === undefined) this.#entries.delete(key);
      else this.#entries.set(key, revised);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A tenth at once: one at a time would sweep the whole map for each. */
  #dropOldest(): void {
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#capacity * 0.9) return;
      this.#entries.delete(oldest);
    }
  }

  #nextSweep(): number {
    return Math.max(SMALLEST_SWEEP, Math.min(this.#entries.size * 2, this.#capacity + 1));
  }
}

interface Kept<Value> {
  readonly value: Value;
  readonly expiresAt: number;
}

/** Stores hashes of secrets only. Synchronous, so that of concurrent uses of one secret exactly one is first. */
export class SecretMap<Value> {
  readonly #byHash: ExpiringMap<Kept<Value>>;
  readonly #random: RandomSource;

  /** `capacity`: see `ExpiringMap`. */
  constructor(random: RandomSource, capacity?: number) {
    this.#random = random;
    this.#byHash = new ExpiringMap(capacity);
  }

  /** Hands out a new value, the only copy. It is known at least until `keepUntil` (epoch milliseconds). */
  mint(value: Value, keepUntil: number, now: number): string {
    const secret = this.#random.secret();
    this.#byHash.set(hashOf(secret), { value, expiresAt: keepUntil }, now);
    return secret;
  }

  find(secret: string): Value | undefined {
    return this.#byHash.get(hashOf(secret))?.value;
  }

  /**
   * Replaces the value of a known secret, and keeps it as long as the old one unless `keepUntil` is given. Without
   * effect if the secret is not known.
   */
  replace(secret: string, value: Value, now: number, keepUntil?: number): void {
    const key = hashOf(secret);
    const kept = this.#byHash.get(key);
    if (kept !== undefined) this.#byHash.set(key, { value, expiresAt: keepUntil ?? kept.expiresAt }, now);
  }

  delete(secret: string): void {
    this.#byHash.delete(hashOf(secret));
  }

  /** Replaces each value by what `revision` returns. */
  revise(revision: (value: Value) => Value): void {
    this.#byHash.revise((kept) => ({ ...kept, value: revision(kept.value) }));
  }

  /** Deletes the matching values: their secrets are then as unknown as secrets that were never minted. */
  forget(matches: (value: Value) => boolean): void {
    this.#byHash.revise((kept) => (matches(kept.value) ? undefined : kept));
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

interface KeptAuthorization {
  readonly authorization: Authorization;
  readonly expiresAt: number;
}

export class Authorizations {
  readonly #byId = new ExpiringMap<KeptAuthorization>();
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  /** Returns its id, which is not a secret. It is known at least until `keepUntil` (epoch milliseconds). */
  open(authorization: Authorization, keepUntil: number, now: number): string {
    const id = this.#random.uuid();
    this.#byId.set(id, { authorization, expiresAt: keepUntil }, now);
    return id;
  }

  find(id: string): Authorization | undefined {
    return this.#byId.get(id)?.authorization;
  }

  /** Ends its refresh tokens and its access tokens. */
  revoke(id: string, now: number): void {
    const kept = this.#byId.get(id);
    if (kept === undefined) return;
    this.#byId.set(id, { ...kept, authorization: { ...kept.authorization, revoked: true } }, now);
  }

  /** Revokes all matching authorizations. */
  revokeAll(matches: (authorization: Authorization) => boolean): void {
    this.#byId.revise((kept) =>
      matches(kept.authorization)
        ? { ...kept, authorization: { ...kept.authorization, revoked: true } }
        : kept,
    );
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

/** Characters; a digest has one more, so that no tenant has the digest of another as its name. */
const LONGEST_KEY = 42;

/** A tenant's admitted requests (epoch milliseconds, oldest first) and when the last of them leaves the window. */
interface Admitted {
  readonly instants: number[];
  expiresAt: number;
}

/**
 * Admits `requests` in any span of `windowSeconds`. A slot frees exactly `windowSeconds` after the request that took
 * it. A request that is not admitted takes no slot, so waiting until a slot frees is enough.
 */
export class SlidingWindow {
  readonly #requests: number;
  readonly #windowMs: number;
  readonly #tenants = new ExpiringMap<Admitted>();

  constructor(limit: { requests: number; windowSeconds: number }) {
    this.#requests = limit.requests;
    this.#windowMs = limit.windowSeconds * 1000;
  }

  /**
   * Takes a slot and returns undefined; or returns the instant (epoch milliseconds) at which one frees.
   */
  take(tenantId: string, now: number): number | undefined {
    const key = keyOf(tenantId);
    const admitted = this.#tenants.get(key) ?? { instants: [], expiresAt: 0 };
    const { instants } = admitted;
    dropAfter(instants, now);
    while (instants[0] !== undefined && instants[0] + this.#windowMs <= now) instants.shift();
    const [oldest] = instants;
    if (oldest !== undefined && instants.length >= this.#requests) return oldest + this.#windowMs;
    instants.push(now);
    admitted.expiresAt = now + this.#windowMs;
    this.#tenants.set(key, admitted, now);
    return undefined;
  }
}

/** After the clock was set back, the instants that are now ahead do not count. */
function dropAfter(instants: number[], now: number): void {
  for (let last = instants.at(-1); last !== undefined && last > now; last = instants.at(-1)) instants.pop();
}

/** An anonymous caller chooses the tenant of the path, which may be as long as a path. */
function keyOf(tenantId: string): string {
  return tenantId.length <= LONGEST_KEY
    ? tenantId
    : createHash("sha256").update(tenantId).digest("base64url");
}

/** Each is remembered for at most six minutes and a half: 2,500 accepted assertions a second. */
const CAPACITY = 1_000_000;

/** "A repeat is refused" (description, section 2.2). */
export class UsedAssertionIds {
  readonly #uses = new ExpiringMap<{ expiresAt: number }>(CAPACITY);

  /**
   * Marks the jti as used; false if it already was. Synchronous, so that of concurrent posts of one assertion exactly
   * one gets true. Two plugins, or two tenants, may use the same jti.
   */
  use(id: { tenantId: string; clientId: string; jti: string }, expiresAt: number, now: number): boolean {
    // Hashed: a jti may be as long as a request body, and no part of an assertion is stored.
    const key = createHash("sha256")
      .update(JSON.stringify([id.tenantId, id.clientId, id.jti]))
      .digest("base64url");
    const earlier = this.#uses.get(key);
    if (earlier !== undefined && now < earlier.expiresAt) return false;
    this.#uses.set(key, { expiresAt }, now);
    return true;
  }
}

/** 256 bits, beyond the 160 that RFC 6749 section 10.10 asks for. */
const SECRET_BYTES = 32;

/** Drawn ahead: a call to the system takes longer than everything else about a token. */
const DRAWN_AHEAD_BYTES = 4096;

export class RandomSource {
  readonly #seed: number | undefined;
  #drawn = 0;
  #ahead = Buffer.alloc(0);

  /** With a seed, the same draws return the same values in every instance: for tests only. */
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
    if (this.#seed === undefined) return this.#randomBytes(length);
    return createHash("sha256").update(`emulator ${this.#seed} ${this.#drawn}`).digest().subarray(0, length);
  }

  #randomBytes(length: number): Buffer {
    if (this.#ahead.length < length) this.#ahead = randomBytes(DRAWN_AHEAD_BYTES);
    const bytes = this.#ahead.subarray(0, length);
    this.#ahead = this.#ahead.subarray(length);
    return bytes;
  }
}
