/**
 * Prepares values for a store outside this process: encrypted and bound to their place, or as plain
 * text.
 */
import { CompactEncrypt, compactDecrypt } from "jose";
import { decode, encode } from "jose/base64url";
import { invalidOption } from "../options.js";

/**
 * A key of 256 bits: 32 bytes, or a string that holds them as base64, base64url or hex, or a secret
 * AES-GCM `CryptoKey` that may encrypt and decrypt and need not be extractable.
 */
export type EncryptionKey = Uint8Array | string | CryptoKeyLike;

/** The parts of a `CryptoKey` that are read, because a server may not have the DOM types. */
export interface CryptoKeyLike {
  readonly type: string;
  readonly algorithm: { readonly name: string };
  readonly usages: readonly string[];
}

/**
 * Where a value belongs. An encrypted value is bound to its place and cannot be decrypted
 * elsewhere.
 */
interface Place {
  /** The name that replaces the key name. */
  readonly name: string;
  /** Known before the write only to a store that makes its versions itself. */
  readonly version?: string;
  readonly expiresAt?: number | undefined;
}

export interface Encryption {
  readonly cipher: "dir+A256GCM" | "none";
  /** Identifies the key without revealing anything about it. It is `undefined` without a key. */
  keyId(): Promise<string | undefined>;
  /** Replaces a key name where others may read it, because it may hold client ids and base URLs. */
  nameOf(key: string): Promise<string>;
  seal(value: string, place: Place): Promise<string>;
  /** Returns `undefined` for a value that was not sealed with this key for this place. */
  open(sealed: string, place: Place): Promise<string | undefined>;
}

export const plaintext: Encryption = {
  cipher: "none",
  keyId: async () => undefined,
  // A hash can be the name of a file, however long the key is.
  async nameOf(key) {
    const bytes = new TextEncoder().encode(JSON.stringify(key));
    return encode(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  },
  seal: async (value) => value,
  open: async (sealed) => sealed,
};

/**
 * Makes each value a compact JWE (`dir` and `A256GCM`, RFC 7518) with its place in the protected
 * header.
 */
export function encryptionWith(key: EncryptionKey | undefined): Encryption {
  const reading = readEncryptionKey(key);
  let deriving: Promise<SecretKey> | undefined;
  const authenticate = async (text: string): Promise<string> => {
    deriving ??= reading.then(deriveNameKey);
    const bytes = new TextEncoder().encode(text);
    return encode(new Uint8Array(await crypto.subtle.sign("HMAC", await deriving, bytes)));
  };
  return {
    cipher: "dir+A256GCM",
    // This differs from every key name, because the JSON of a name starts with a quotation mark.
    keyId: () => authenticate("key id"),
    // JSON keeps a lone surrogate. UTF-8 alone would lose it, and two names would become one.
    nameOf: (name) => authenticate(JSON.stringify(name)),
    async seal(value, { name, version, expiresAt }) {
      return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(value)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", name, version, expiresAt })
        .encrypt(await reading);
    },
    async open(sealed, place) {
      try {
        const { plaintext: bytes, protectedHeader } = await compactDecrypt(sealed, await reading, {
          keyManagementAlgorithms: ["dir"],
          contentEncryptionAlgorithms: ["A256GCM"],
        });
        const isAtPlace = (["name", "version", "expiresAt"] as const).every(
          (field) => protectedHeader[field] === place[field],
        );
        return isAtPlace ? (JSON.parse(new TextDecoder().decode(bytes)) as string) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

type SecretKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * Derives a key for names from a key that can only encrypt. It is two blocks of the AES-GCM key
 * stream under one fixed nonce. The random nonce of a value equals that one with a chance of 2^-96.
 */
async function deriveNameKey(key: SecretKey): Promise<SecretKey> {
  const iv = new TextEncoder().encode("bivariant/v1");
  const stream = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new Uint8Array(32));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", stream.slice(0, 32), algorithm, false, ["sign"]);
}

export const makeKey = "Make a key with: openssl rand -base64 32";

/**
 * Returns the key as a `CryptoKey` that cannot be exported. Error messages contain no part of the
 * key.
 */
function readEncryptionKey(key: unknown): Promise<SecretKey> {
  if (Object.prototype.toString.call(key) === "[object CryptoKey]") {
    const { algorithm, usages } = key as CryptoKey;
    if (algorithm.name !== "AES-GCM" || (algorithm as AesKeyAlgorithm).length !== 256)
      throw invalidKey("must be an AES-GCM key of 256 bits if it is a CryptoKey");
    if (!usages.includes("encrypt") || !usages.includes("decrypt"))
      throw invalidKey("must be allowed to both encrypt and decrypt");
    return Promise.resolve(key as CryptoKey);
  }
  const bytes = typeof key === "string" ? bytesOfText(key.trim()) : key;
  if (!(bytes instanceof Uint8Array)) throw invalidKey("must be bytes, text or a CryptoKey");
  if (bytes.length !== 32) throw invalidKey(`must hold 32 bytes, not ${bytes.length}`);
  const usages = ["encrypt", "decrypt"] as const;
  const importing = crypto.subtle.importKey("raw", new Uint8Array(bytes), "AES-GCM", false, usages);
  // The first use reports a failure. Until then, the rejection must not end the process.
  importing.catch(() => {});
  return importing;
}

function bytesOfText(text: string): Uint8Array {
  if (/^[0-9a-f]{64}$/i.test(text))
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  // 32 bytes are 43 characters of base64, and one of padding, which may be left out.
  if (!/^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text))
    throw invalidKey(
      "must be 32 bytes as base64, base64url or hex if it is text. " +
        "A passphrase is refused, because it can be guessed from a copy of the store",
    );
  return decode(text.slice(0, 43).replace(/\+/g, "-").replace(/\//g, "_"));
}

function invalidKey(problem: string): Error {
  return invalidOption("key", problem, `${makeKey}.`);
}
