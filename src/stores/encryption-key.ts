/** The forms in which a key for a store may be given, brought to one. */
import { ConfigurationError } from "../errors.js";

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
