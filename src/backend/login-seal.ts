/**
 * Seals pending logins for cookies (JWE, RFC 7516), with one key for all processes that share the
 * store.
 */
import { EncryptJWT, jwtDecrypt } from "jose";
import { decode } from "jose/base64url";
import { codeOf } from "../errors.js";
import type { Settings } from "./backend-options.js";
import { isToken, randomToken } from "./records.js";

const keyName = "bivariant:backend:login-key";
/**
 * After this time another key is made, so that one that leaked is of no use for ever. The logins
 * that are then pending must be started again.
 */
const keyLifetimeMs = 90 * 24 * 3_600_000;
/**
 * After this time the key is read again, so that the use of a key ends when it is deleted from the
 * store.
 */
const cachedMs = 60_000;

export class LoginSeal {
  readonly #settings: Settings;
  #cached: { readonly key: Uint8Array; readonly readAt: number } | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /**
   * Seals a login, which only `open` with the same name of its cookie accepts, until `expiresAt`.
   */
  async seal(name: string, login: object, expiresAt: number): Promise<string> {
    const token = new EncryptJWT({ login }).setProtectedHeader({ alg: "dir", enc: "A256GCM" });
    const key = (await this.#key()) ?? (await this.#newKey());
    return token.setAudience(name).setExpirationTime(new Date(expiresAt)).encrypt(key);
  }

  /**
   * Returns `undefined` for what is expired or was not sealed here. Writes nothing.
   * @throws StoreError
   */
  async open(name: string, sealed: string): Promise<unknown> {
    const key = await this.#key();
    if (key === undefined) return undefined;
    const opened = jwtDecrypt(sealed, key, {
      audience: name,
      currentDate: new Date(this.#settings.clock.now()),
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    return opened.then(({ payload }) => payload.login).catch(() => undefined);
  }

  async #key(): Promise<Uint8Array | undefined> {
    const { store, clock } = this.#settings;
    if (this.#cached !== undefined && clock.now() - this.#cached.readAt < cachedMs)
      return this.#cached.key;
    const found = await store.get(keyName).catch((error: unknown) => {
      if (codeOf(error) !== "store_corrupt") throw error;
    });
    // A token has the 256 bits of a key.
    if (!found || !isToken(found.value)) return undefined;
    this.#cached = { key: decode(found.value), readAt: clock.now() };
    return this.#cached.key;
  }

  /**
   * If several processes make a key, the first one wins. An entry that cannot be read is replaced.
   */
  async #newKey(): Promise<Uint8Array> {
    const { store, clock } = this.#settings;
    const made = randomToken();
    const expiresAt = clock.now() + keyLifetimeMs;
    try {
      await store.set(keyName, made, { ifVersion: null, expiresAt });
    } catch (error) {
      if (codeOf(error) !== "store_conflict") throw error;
    }
    const key = await this.#key();
    if (key !== undefined) return key;
    await store.set(keyName, made, { expiresAt });
    return (await this.#key()) ?? decode(made);
  }
}
