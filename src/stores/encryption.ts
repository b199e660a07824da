/** What a store outside this process keeps its values as: encrypted and bound to their place, or plain. */
import { CompactEncrypt, compactDecrypt } from "jose";
import { ConfigurationError } from "../errors.js";

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

/**
 * 256 bits: 32 bytes, the same as base64, base64url or hex text, or a secret AES-GCM `CryptoKey` of 256 bits that may
 * encrypt and decrypt (it need not be extractable).
 */
export type EncryptionKey = Uint8Array | string | CryptoKeyLike;

/** The parts of a `CryptoKey` that tell what it is, so that reading this needs no types of the DOM: a server has none. */
export interface CryptoKeyLike {
  readonly type: string;
  readonly algorithm: { readonly name: string };
  readonly usages: readonly string[];
}

/** A `CryptoKey`, whatever the types of its platform call that. */
export type SecretKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const keyBytes = 32;

/** How to make a key, for messages. */
export const makeKey: string = "make one with: openssl rand -base64 32";

/**
 * The key as a `CryptoKey` that cannot be exported.
 *
 * @throws ConfigurationError `option_invalid`, at once; nothing of what was given is in its message
 */
export function readEncryptionKey(key: unknown): Promise<SecretKey> {
  if (isCryptoKey(key)) return Promise.resolve(checkedCryptoKey(key));
  const bytes = typeof key === "string" ? bytesOfText(key.trim()) : key;
  if (!(bytes instanceof Uint8Array)) refuse("key is neither bytes, text nor a CryptoKey");
  if (bytes.length !== keyBytes) refuse(`key holds ${bytes.length} bytes, and ${keyBytes} are needed`);
  const importing = crypto.subtle.importKey("raw", new Uint8Array(bytes), "AES-GCM", false, [
    "encrypt",
    "decrypt",
  ]);
  // Whoever awaits it hears of a failure; that nobody may be waiting yet must not end the process.
  importing.catch(() => {});
  return importing;
}

function isCryptoKey(value: unknown): value is CryptoKey {
  return Object.prototype.toString.call(value) === "[object CryptoKey]";
}

function checkedCryptoKey(key: CryptoKey): CryptoKey {
  const { name, length } = key.algorithm as AesKeyAlgorithm;
  if (name !== "AES-GCM" || length !== 8 * keyBytes)
    refuse("key is a CryptoKey, but not AES-GCM of 256 bits");
  if (!key.usages.includes("encrypt") || !key.usages.includes("decrypt"))
    refuse("key is a CryptoKey that may not both encrypt and decrypt");
  return key;
}

function bytesOfText(text: string): Uint8Array {
  if (/^[0-9a-f]{64}$/i.test(text))
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  // 32 bytes are 43 letters of base64 and one of padding, which base64url leaves out.
  if (/^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text))
    return Uint8Array.from(atob(text.slice(0, 43).replace(/-/g, "+").replace(/_/g, "/")), (letter) =>
      letter.charCodeAt(0),
    );
  return refuse(
    "key is text, but not 32 bytes as base64, base64url or hex. A passphrase is refused: whoever gets hold of the file could guess it at leisure",
  );
}

function refuse(why: string): never {
  throw new ConfigurationError("option_invalid", `${why}; ${makeKey}`, { option: "key" });
}
