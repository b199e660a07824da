/** The backend's own entries in the token store: JSON of a known shape, each kind under a prefix of its own. */
import type { z } from "zod";
import type { TokenStore } from "../auth/token-store.js";
import { isBivariantError, isStoreError, StoreError } from "../errors.js";

export interface Found<T> {
  readonly value: T;
  readonly version: string;
}

/** Entries of one kind. What cannot be read is none: a torn entry must not keep a person out for ever. */
export class Records<T> {
  readonly #store: TokenStore;
  readonly #kind: string;
  readonly #schema: z.ZodType<T>;

  constructor(store: TokenStore, kind: string, schema: z.ZodType<T>) {
    this.#store = store;
    this.#kind = kind;
    this.#schema = schema;
  }

  async read(name: string): Promise<Found<T> | undefined> {
    const entry = await this.#store.get(this.#key(name));
    if (entry === undefined) return undefined;
    try {
      const parsed = this.#schema.safeParse(JSON.parse(entry.value));
      return parsed.success ? { value: parsed.data, version: entry.version } : undefined;
    } catch {
      return undefined;
    }
  }

  /** With `ifVersion` false when somebody else wrote it meanwhile, or took it away; otherwise true. */
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

  /** Runs a task while nobody else, in any process, runs one under the same name. */
  async lock<R>(name: string, task: () => Promise<R>): Promise<R> {
    return this.#store.lock(this.#key(name), task);
  }

  #key(name: string): string {
    return `bivariant:backend:${this.#kind}:${name}`;
  }
}

export interface GuardOptions {
  readonly timeoutMs: number;
  readonly now: () => number;
  /** What is written without an end ends after this. */
  readonly longestMs: number;
}

/**
 * Bounds every answer by a time limit, and every entry by an end: how long a refresh token lives is not shown in the
 * description, and nobody may ever come back to have it forgotten.
 */
export function guardedStore(store: TokenStore, { timeoutMs, now, longestMs }: GuardOptions): TokenStore {
  const within = <T>(answer: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new StoreError("store_unavailable", `No answer of the store within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      // A store of the user's own may throw anything, at once too.
      (async () => answer())()
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
        let isWaiting = true;
        const stopWaiting = () => {
          isWaiting = false;
          clearTimeout(timer);
        };
        const giveUp = (error: unknown) => {
          if (isWaiting) reject(error);
          stopWaiting();
        };
        // The store's own limit comes first: it knows more.
        const late = new StoreError("store_locked", `The lock was not had within ${waitMs} ms.`);
        const timer = setTimeout(() => giveUp(late), waitMs + timeoutMs);
        const run = async (): Promise<void> => {
          if (!isWaiting) throw late;
          stopWaiting();
          // What comes of the task counts, whatever becomes of the lock: that may never be said to be released.
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
  return new StoreError("store_unavailable", "The store failed; see the cause.", { cause: fault });
}

/** 256 bits: out of reach for guessing (RFC 6749 section 10.10 asks for 128 at least, 160 better). */
const tokenBytes = 32;
/** 32 bytes in base64url without padding (RFC 4648 section 5). */
const tokenShape = /^[A-Za-z0-9_-]{43}$/;

export function randomToken(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(tokenBytes)));
}

/** Whether a text could be one of ours: anything else is refused before the store is asked. */
export function isTokenShaped(value: string): boolean {
  return tokenShape.test(value);
}

/** What is stored instead of a token: whoever reads the store can use none of them. */
export async function hashOf(...parts: readonly string[]): Promise<string> {
  const text = parts.length === 1 ? (parts[0] as string) : JSON.stringify(parts);
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(text))));
}

/**
 * A second token that only who holds the first can make (HMAC-SHA256 under it), so that it is bound to it without being
 * stored, and tells nothing of it.
 */
export async function tokenBoundTo(token: string, purpose: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytesOf(token), algorithm, false, ["sign"]);
  return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, bytesOf(purpose))));
}

/** Compares without telling by its duration how much of the guess was right. */
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
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
