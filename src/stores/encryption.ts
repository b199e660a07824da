/** What a store outside this process keeps its values as: encrypted and bound to their place, or plain. */
import { CompactEncrypt, compactDecrypt } from "jose";
import { type EncryptionKey, readEncryptionKey } from "./encryption-key.js";

/** Where a value belongs. All of it is bound to an encrypted value: moved or changed, the value does not open. */
export interface Place {
  /** What stands for the key name. */
  readonly name: string;
  readonly version: string;
  /** Epoch milliseconds. */
  readonly expiresAt?: number | undefined;
}

export interface Encryption {
  readonly cipher: "dir+A256GCM" | "none";
  /** Tells keys apart and says nothing about them; `undefined` without a key. */
  keyId(): Promise<string | undefined>;
  /** Stands for a key name, which may hold client ids and base URLs, where others may read. */
  nameOf(key: string): Promise<string>;
  seal(value: string, place: Place): Promise<string>;
  /** `undefined`: it is no value of this place and this key. */
  open(sealed: string, place: Place): Promise<string | undefined>;
}

/** Values and key names as they are. */
export const plaintext: Encryption = {
  cipher: "none",
  keyId: async () => undefined,
  nameOf: async (key) => key,
  seal: async (value) => value,
  open: async (sealed) => sealed,
};

/**
 * Values as JWE in compact form (RFC 7516; `dir` and `A256GCM` of RFC 7518), with their place in the protected header,
 * and key names as HMAC-SHA-256. The length of a value, its expiry and when it changes can be seen.
 *
 * @throws ConfigurationError `option_invalid` for what is no key
 * @example
 * const encryption = encryptionWith(process.env.STORE_KEY);
 * const name = await encryption.nameOf("token of acme");
 * const sealed = await encryption.seal("secret", { name, version: "1" });
 */
export function encryptionWith(key: EncryptionKey): Encryption {
  const reading = readEncryptionKey(key);
  let deriving: Promise<CryptoKey> | undefined;
  const authenticate = async (text: string): Promise<string> => {
    deriving ??= reading.then(deriveNameKey);
    const bytes = new TextEncoder().encode(text);
    return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", await deriving, bytes)));
  };
  return {
    cipher: "dir+A256GCM",
    // Never the JSON of a key name, which begins with a quotation mark.
    keyId: () => authenticate("key id"),
    // As JSON, since half a surrogate pair would be lost in UTF-8, and two names would be one.
    nameOf: (name) => authenticate(JSON.stringify(name)),
    async seal(value, { name, version, expiresAt }) {
      const place = { name, version, ...(expiresAt === undefined ? {} : { expiresAt }) };
      return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(value)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", ...place })
        .encrypt(await reading);
    },
    async open(sealed, place) {
      try {
        const { plaintext: bytes, protectedHeader } = await compactDecrypt(sealed, await reading, {
          keyManagementAlgorithms: ["dir"],
          contentEncryptionAlgorithms: ["A256GCM"],
        });
        const { name, version, expiresAt } = protectedHeader;
        if (name !== place.name || version !== place.version || expiresAt !== place.expiresAt)
          return undefined;
        return JSON.parse(new TextDecoder().decode(bytes)) as string;
      } catch {
        return undefined;
      }
    },
  };
}

/**
 * A key for names out of one that can only encrypt: two blocks of its AES-GCM key stream. One message under one fixed
 * nonce is all that it ever encrypts so, and the random nonces of the values meet that one with a chance of 2^-96.
 */
async function deriveNameKey(key: CryptoKey): Promise<CryptoKey> {
  const iv = new TextEncoder().encode("bivariant/v1");
  const stream = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new Uint8Array(32));
  return crypto.subtle.importKey("raw", stream.slice(0, 32), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}
