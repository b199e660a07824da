/** `bivariant/stores/encrypted`: encrypts the values of any token store. @packageDocumentation */
import type { TokenStore } from "../auth/shared/token-store.js";
import { StoreError } from "../errors.js";
import { requireStore } from "../options.js";
import { requireEntry, requireKey } from "./arguments.js";
import { type EncryptionKey, encryptionWith } from "./encryption.js";

export type { CryptoKeyLike, EncryptionKey } from "./encryption.js";

/**
 * Encrypts values before they reach a store, for instance one in Redis that others can read. Each
 * value is a JWE (RFC 7516, `dir` and `A256GCM`) that is bound to the key of its entry: under
 * another entry it is refused. Versions, expiry and locks are those of the store, so `ifVersion`
 * works as before. Key names stay readable; they hold base URLs, tenant ids and client ids, but no
 * secret. Someone who may write to the store can still remove an entry or bring an older value
 * back.
 *
 * Its `get` rejects with a StoreError `store_corrupt` for a value not written with this key for
 * this entry.
 *
 * @param key 256 bits: 32 bytes, or those as base64, base64url or hex, or an AES-GCM `CryptoKey`
 * @throws ConfigurationError `option_invalid`, at once
 * @example
 * import { createClient } from "redis";
 * import { redisStore } from "bivariant/stores/redis";
 *
 * const client = await createClient({ url: process.env.REDIS_URL ?? "" }).connect();
 * const key = process.env.STORE_KEY ?? ""; // openssl rand -base64 32 makes one
 * const store = encryptedStore(redisStore(client), key);
 */
export function encryptedStore(store: TokenStore, key: EncryptionKey | undefined): TokenStore {
  requireStore(store);
  const encryption = encryptionWith(key);
  return {
    lossWindowMs: store.lossWindowMs,
    async get(name) {
      requireKey(name);
      const found = await store.get(name);
      if (found === undefined || found === null) return undefined;
      const value = await encryption.open(found.value, { name: await encryption.nameOf(name) });
      if (value !== undefined) return { value, version: found.version };
      const problem =
        "The store holds a value that was not encrypted with this key for this entry.";
      throw new StoreError(
        "store_corrupt",
        `${problem} Use the key that wrote it, or delete the entry.`,
      );
    },
    async set(name, value, options) {
      requireEntry(name, value, options);
      const sealed = await encryption.seal(value, { name: await encryption.nameOf(name) });
      const written = await store.set(name, sealed, options);
      return { value, version: written.version };
    },
    delete: (name) => store.delete(name),
    lock: (name, task, options) => store.lock(name, task, options),
  };
}
