import { createHash, randomBytes } from "node:crypto";

// A map whose entries may be forgotten after their instant; memory follows what is still alive.

/** Below this many entries sweeping costs more than it frees. */
const SMALLEST_SWEEP = 1024;

/** What is held of one kind at most, alive or not. */
const DEFAULT_CAPACITY = 100_000;

/**
 * Holds each entry at least until `expiresAt` (epoch milliseconds). Expired entries go in sweeps, each time the map
 * has doubled since the last one, so at most about twice as many entries are held as are alive; beyond `capacity` the
 * oldest go whatever their instant. Whoever reads an entry compares its instant: presence alone says nothing about time.
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

  /** Puts in the place of each value what `revision` makes of it; what it makes undefined goes. */
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
    this.#byHash.set(hashOf(secret), { value, expiresAt: keepUntil }, now);
    return secret;
  }

  find(secret: string): Value | undefined {
    return this.#byHash.get(hashOf(secret))?.value;
  }

  /**
   * Puts `value` in the place of what the secret stood for, known for as long as that was unless `keepUntil` says
   * otherwise; without effect if the secret is not known.
   */
  replace(secret: string, value: Value, now: number, keepUntil?: number): void {
    const key = hashOf(secret);
    const kept = this.#byHash.get(key);
    if (kept !== undefined) this.#byHash.set(key, { value, expiresAt: keepUntil ?? kept.expiresAt }, now);
  }

  delete(secret: string): void {
    this.#byHash.delete(hashOf(secret));
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

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

/** What a token stands for; fixed when it is minted. */
export interface IssuedToken {
  readonly variant: "A" | "B";
  readonly tenantId: string;
  readonly clientId: string;
  /** The person for whom the client acts: the launching operator or whoever logged in; undefined for a machine. */
  readonly userId?: string | undefined;
  /** What a person allowed an API client (Variant B): revoking that ends the token. */
  readonly authorizationId?: string | undefined;
  /** "The token carries the scopes granted to the registration" (description, section 5.6); undefined reaches all. */
  readonly scopes: ReadonlySet<string> | undefined;
  /** Epoch milliseconds; from this instant on the token is refused. */
  readonly expiresAt: number;
  /** Whose registration was taken away: the token is refused for good, whoever is registered under that name later. */
  readonly unregistered?: Unregistered | undefined;
}

export type Unregistered = "plugin" | "service account" | "operator";

export class AccessTokens {
  readonly #tokens: SecretMap<IssuedToken>;

  constructor(random: RandomSource) {
    this.#tokens = new SecretMap(random);
  }

  /** Issues a token and returns the only copy of its value. */
  mint(token: IssuedToken, now: number): string {
    return this.#tokens.mint(token, token.expiresAt, now);
  }

  find(value: string): IssuedToken | undefined {
    return this.#tokens.find(value);
  }

  /** What is meant is refused from now on, and still known: the log can tell why. */
  end(unregistered: Unregistered, isMeant: (token: IssuedToken) => boolean): void {
    this.#tokens.revise((token) =>
      token.unregistered === undefined && isMeant(token) ? { ...token, unregistered } : token,
    );
  }
}

/** One login that was exchanged for tokens. */
export interface Authorization {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  /** What was granted; undefined: whatever the person has. */
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

  /** Returns its id, which is no secret. It is known at least until `keepUntil` (epoch milliseconds). */
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

  /** The same of all that are meant. */
  revokeAll(isMeant: (authorization: Authorization) => boolean): void {
    this.#byId.revise((kept) =>
      isMeant(kept.authorization)
        ? { ...kept, authorization: { ...kept.authorization, revoked: true } }
        : kept,
    );
  }
}

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

/** Characters; a digest has one more, so that no tenant is called like the digest of another. */
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
   * Takes a slot and returns undefined; or returns the instant (epoch milliseconds) at which one frees. `isFixed`: as a
   * server does that counts in windows which begin anew each time their length has passed.
   */
  take(tenantId: string, now: number, isFixed = false): number | undefined {
    const key = keyOf(tenantId);
    const admitted = this.#tenants.get(key) ?? { instants: [], expiresAt: 0 };
    const { instants } = admitted;
    dropAfter(instants, now);
    while (instants[0] !== undefined && instants[0] + this.#windowMs <= now) instants.shift();
    const beganAt = Math.floor(now / this.#windowMs) * this.#windowMs;
    const counted = isFixed ? instants.filter((instant) => instant >= beganAt) : instants;
    const oldest = counted[0];
    if (oldest !== undefined && counted.length >= this.#requests) {
      return (isFixed ? beganAt : oldest) + this.#windowMs;
    }
    instants.push(now);
    admitted.expiresAt = now + this.#windowMs;
    this.#tenants.set(key, admitted, now);
    return undefined;
  }
}

/** After a step back of the clock: what was admitted then has not been yet, and the order stays that of time. */
function dropAfter(instants: number[], now: number): void {
  for (let last = instants.at(-1); last !== undefined && last > now; last = instants.at(-1)) instants.pop();
}

/** The tenant of a path is whatever an anonymous caller wrote there, as long as a path may be. */
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
    // Hashed: a jti may be as long as a request body, and belongs to an assertion, which is kept nowhere.
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

/** Asked for at once: asking the system takes longer than all else about a token. */
const DRAWN_AHEAD_BYTES = 4096;

export class RandomSource {
  readonly #seed: number | undefined;
  #drawn = 0;
  #ahead = Buffer.alloc(0);

  /** With a seed the same draws give the same values, in every instance: for tests only. */
  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  /** An opaque random string, so nobody can come to depend on what is inside. */
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
