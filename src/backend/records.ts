/** How the backend keeps its own data in the token store: store access with time limits, typed records, random tokens. */
import type { TokenStore } from "../auth/token-store.js";
import { isBivariantError, isStoreError, StoreError } from "../errors.js";

/**
 * Wraps the user's store: each operation has a time limit, each failure is a StoreError, and each entry expires,
 * at the latest after `longestMs`. The description does not show how long a refresh token lives, and a person may never
 * come back to log out.
 */
export function guardedStore(
  store: TokenStore,
  { timeoutMs, now, longestMs }: { timeoutMs: number; now: () => number; longestMs: number },
): TokenStore {
  const within = <T>(operation: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new StoreError("store_unavailable", `The store did not answer within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      // In an async function, because a user's store may also throw synchronously.
      (async () => operation())()
        .then(resolve, (fault: unknown) => reject(storeErrorOf(fault)))
        .finally(() => clearTimeout(timer));
    });
  return {
    get: (key) => within(() => store.get(key)),
    set: (key, value, options) =>
      within(() => store.set(key, value, { expiresAt: now() + longestMs, ...options })),
    delete: (key) => within(() => store.delete(key)),
    lock: <T>(key: string, task: () => Promise<T>, { timeoutMs: waitMs = timeoutMs } = {}) =>
      new Promise<T>((resolve, reject) => {
        let state: "waiting" | "running" | "late" = "waiting";
        const late = new StoreError("store_locked", `The lock was not free within ${waitMs} ms.`);
        const giveUp = (error: unknown) => {
          // The outcome of a running task counts, even if the store then loses the lock or does not release it.
          if (state === "running") return;
          state = "late";
          clearTimeout(timer);
          reject(error);
        };
        // The store's own limit should come first: its error knows more.
        const timer = setTimeout(() => giveUp(late), waitMs + timeoutMs);
        const run = async (): Promise<void> => {
          if (state === "late") throw late;
          state = "running";
          clearTimeout(timer);
          await (async () => task())().then(resolve, reject);
        };
        (async () => store.lock(key, run, { timeoutMs: waitMs }))().catch((fault) =>
          giveUp(storeErrorOf(fault)),
        );
      }),
  };
}

function storeErrorOf(fault: unknown): unknown {
  if (isBivariantError(fault)) return fault;
  return new StoreError("store_unavailable", "The store failed. See the cause.", { cause: fault });
}

/** JSON entries of one kind. An entry that cannot be read counts as missing, so that it locks no one out for ever. */
export class Records<T extends object> {
  readonly #store: TokenStore;
  readonly #kind: string;
  readonly #isWhole: (value: Partial<T>) => boolean;

  /** `isWhole` recognises an entry that this version wrote. */
  constructor(store: TokenStore, kind: string, isWhole: (value: Partial<T>) => boolean) {
    this.#store = store;
    this.#kind = kind;
    this.#isWhole = isWhole;
  }

  async read(name: string): Promise<{ readonly value: T; readonly version: string } | undefined> {
    const entry = await this.#store.get(this.#key(name));
    if (entry === undefined) return undefined;
    try {
      const value = JSON.parse(entry.value) as T;
      return this.#isWhole(value) ? { value, version: entry.version } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns false when the entry is no longer at `ifVersion`; `null` means that there must be no entry. */
  async write(
    name: string,
    value: T,
    options: { readonly ifVersion?: string | null; readonly expiresAt: number },
  ): Promise<boolean> {
    try {
      await this.#store.set(this.#key(name), JSON.stringify(value), options);
      return true;
    } catch (error) {
      if (isStoreError(error) && error.code === "store_conflict") return false;
      throw error;
    }
  }

  async delete(name: string): Promise<void> {
    await this.#store.delete(this.#key(name));
  }

  /** Runs a task while no other process runs one under the same name. */
  async lock<R>(name: string, task: () => Promise<R>): Promise<R> {
    return this.#store.lock(this.#key(name), task);
  }

  #key(name: string): string {
    return `bivariant:backend:${this.#kind}:${name}`;
  }
}

/** 256 bits. RFC 6749 section 10.10 requires a chance of guessing of at most 2^-128, and recommends 2^-160. */
const tokenBytes = 32;
/** 32 bytes in base64url without padding (RFC 4648 section 5). */
const tokenShape = /^[A-Za-z0-9_-]{43}$/;

export function randomToken(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(tokenBytes)));
}

/** Whether a text has the shape of a token of ours. Anything else is refused without asking the store. */
export function isTokenShaped(value: string): boolean {
  return tokenShape.test(value);
}

/** The store holds only hashes of tokens, so that a copy of the store contains no usable session. */
export async function hashOf(token: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(token))));
}

/** A second token derived from the first (HMAC-SHA256). It need not be stored and does not reveal the first. */
export async function tokenBoundTo(token: string, purpose: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytesOf(token), algorithm, false, ["sign"]);
  return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, bytesOf(purpose))));
}

/** Compares in a time that does not depend on how much of the guess is right. */
export function areEqual(given: string, expected: string): boolean {
  const [left, right] = [bytesOf(given), bytesOf(expected)];
  let difference = left.length ^ right.length;
  for (let at = 0; at < right.length; at++) difference |= (left[at] ?? 0) ^ (right[at] ?? 0);
  return difference === 0;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}
