/** Keeps the backend's own data in the token store, with typed records and random tokens. */
import { encode } from "jose/base64url";
import { codeOf } from "../errors.js";
import type { Settings } from "./backend-options.js";

/** Whether a text has the form of the tokens made here. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/**
 * Stores JSON entries under hashes of random tokens, not the tokens. A damaged entry counts as
 * missing.
 */
export class Records<T extends object> {
  readonly #settings: Settings;
  readonly #kind: string;
  readonly #isWhole: (value: Partial<T>) => boolean;

  /** `isWhole` recognises an entry that this version wrote. */
  constructor(settings: Settings, kind: string, isWhole: (value: Partial<T>) => boolean) {
    this.#settings = settings;
    this.#kind = kind;
    this.#isWhole = isWhole;
  }

  async read(token: string): Promise<{ readonly value: T; readonly version: string } | undefined> {
    // A string of another form is not one of our tokens, so the store need not be asked.
    if (!isToken(token)) return undefined;
    const key = await this.#key(token);
    const entry = await this.#settings.store.get(key).catch((error: unknown) => {
      if (codeOf(error) !== "store_corrupt") throw error;
      this.#settings.report(error);
    });
    if (!entry) return undefined;
    try {
      const value = JSON.parse(entry.value) as T;
      return this.#isWhole(value) ? { value, version: entry.version } : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Returns false if the version of the entry is not `ifVersion`. `ifVersion: null` means that none
   * may exist.
   */
  async write(
    token: string,
    value: T,
    options: { readonly ifVersion?: string | null; readonly expiresAt: number },
  ): Promise<boolean> {
    try {
      await this.#settings.store.set(await this.#key(token), JSON.stringify(value), options);
      return true;
    } catch (error) {
      if (codeOf(error) === "store_conflict") return false;
      throw error;
    }
  }

  async delete(token: string): Promise<void> {
    await this.#settings.store.delete(await this.#key(token));
  }

  async lock<R>(token: string, task: () => Promise<R>): Promise<R> {
    return this.#settings.store.lock(await this.#key(token), task);
  }

  async #key(token: string): Promise<string> {
    return `bivariant:backend:${this.#kind}:${await hashOf(token)}`;
  }
}

/** Has the form of a token, so that a record can be kept under it. */
export async function hashOf(text: string): Promise<string> {
  return encode(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(text))));
}

/** Has 256 bits. RFC 6749 section 10.10 requires 128 bits against guessing, and recommends 160. */
export function randomToken(): string {
  return encode(crypto.getRandomValues(new Uint8Array(32)));
}

/**
 * Derives it with HMAC-SHA256, so that it need not be stored and does not reveal the session token.
 */
export async function csrfTokenOf(sessionToken: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytesOf(sessionToken), algorithm, false, [
    "sign",
  ]);
  return encode(new Uint8Array(await crypto.subtle.sign("HMAC", key, bytesOf("bivariant csrf"))));
}

/** Takes the same time however much of the guess is right. */
export function areEqual(given: string, expected: string): boolean {
  const [left, right] = [bytesOf(given), bytesOf(expected)];
  let difference = left.length ^ right.length;
  for (let at = 0; at < right.length; at++) difference |= (left[at] ?? 0) ^ (right[at] ?? 0);
  return difference === 0;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
