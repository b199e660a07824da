/** A private key in any of its forms, as the one thing the client signs with: `sign(bytes)`. */
import type { JWK } from "jose";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { exportJWK } from "jose/key/export";
import { importJWK, importPKCS8 } from "jose/key/import";
import { ConfigurationError, type ConfigurationErrorCode } from "../../errors.js";
import { RecentlyUsed } from "../recently-used.js";

// By subpath: the whole of jose takes twice as long to load.

/** Signs with RS256 (RFC 7518 section 3.3): for a key that never leaves a KMS or an HSM. */
export interface Signer {
  /** The `kid` under which the customer registered the public key. */
  readonly keyId: string;
  /** Gives the signature itself, as long as the key: WebCrypto's ArrayBuffer does too. */
  sign(bytes: Uint8Array): Promise<Uint8Array | ArrayBuffer> | Uint8Array | ArrayBuffer;
}

/** The parts of a node:crypto KeyObject that are needed here, so that this file needs no node:crypto. */
export interface KeyObjectLike {
  readonly type: string;
  export(options: { format: "jwk" }): unknown;
}

/** The parts of a `CryptoKey` that tell what it is, so that reading this needs no types of the DOM: a server has none. */
export interface CryptoKeyLike {
  readonly type: string;
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string };
  readonly usages: readonly string[];
}

/** PKCS#8 or PKCS#1 PEM, JWK (also as JSON text), CryptoKey, KeyObject, or a signer. */
export type PrivateKey = string | JWK | CryptoKeyLike | KeyObjectLike | Signer;

/** A key ready to sign. */
export interface SigningKey {
  readonly keyId: string;
  sign(bytes: Uint8Array): Promise<Uint8Array> | Uint8Array;
  /** RFC 7638 thumbprint of the public key; absent when the key cannot be read (KMS, non-extractable). */
  readonly thumbprint?: string;
}

/** Section 2.2 of the description: the only accepted algorithm. */
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;
/** RFC 7518 section 3.3: "A key of size 2048 bits or larger MUST be used". */
const minimumModulusBits = 2048;

/**
 * Reads a private key. `keyId` wins over the JWK's own `kid`, and that over the RFC 7638 thumbprint.
 *
 * @throws ConfigurationError `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required`
 */
export async function importSigningKey(privateKey: unknown, keyId?: string): Promise<SigningKey> {
  if (keyId !== undefined && (typeof keyId !== "string" || keyId === ""))
    throw refuse("key_invalid", "keyId is not a text.", "keyId");
  if (ArrayBuffer.isView(privateKey))
    throw refuse("key_invalid", 'privateKey is bytes. Read the file as text: readFile(path, "utf8").');
  if (typeof privateKey === "string") return fromText(privateKey.trim(), keyId);
  if (typeof privateKey !== "object" || privateKey === null)
    throw refuse("key_invalid", "privateKey is missing. Give a PEM, a JWK, a key object or a signer.");
  if ("sign" in privateKey && typeof privateKey.sign === "function")
    return fromSigner(privateKey as Signer, keyId);
  if ("algorithm" in privateKey && "usages" in privateKey)
    return fromCryptoKey(privateKey as CryptoKey, keyId);
  if ("export" in privateKey && typeof privateKey.export === "function")
    return fromKeyObject(privateKey as KeyObjectLike, keyId);
  return fromJwk(privateKey as JWK, keyId);
}

function fromSigner(signer: Signer, keyId: string | undefined): SigningKey {
  const id = keyId ?? signer.keyId;
  if (typeof id !== "string" || id === "")
    throw refuse("key_id_required", "A signer needs a keyId: its public key cannot be read here.", "keyId");
  return { keyId: id, sign: async (bytes) => signatureFrom(await signer.sign(bytes)) };
}

/** RFC 8017 section 8.2.1: as long as the key, which has 2048 bits or more. */
const leastSignatureBytes = minimumModulusBits / 8;

/** What is no signature would be refused opaquely, as if the key were not the registered one. */
function signatureFrom(given: unknown): Uint8Array {
  const isBuffer = Object.prototype.toString.call(given) === "[object ArrayBuffer]";
  if (!isBuffer && !ArrayBuffer.isView(given))
    throw refuse(
      "key_invalid",
      "The signer gave no bytes: a signature is a Uint8Array or an ArrayBuffer, neither encoded nor inside an object.",
    );
  // What WebCrypto gives is an ArrayBuffer.
  const bytes = ArrayBuffer.isView(given)
    ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
    : new Uint8Array(given as ArrayBuffer);
  if (bytes.length >= leastSignatureBytes) return bytes;
  throw refuse(
    "key_invalid",
    `The signer gave ${bytes.length} bytes: a signature of RS256 has ${leastSignatureBytes} or more, as many as the key.`,
  );
}

/**
 * The block of the private key, without what RFC 7468 section 2 lets stand around it (openssl pkcs12 writes attributes
 * and certificates), and with the line breaks that a text in the environment has written out.
 */
function pemIn(text: string): string {
  const lines = text.includes("\n") ? text : text.replace(/(?:\\r)?\\n/g, "\n");
  const blocks = [...lines.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----/gm)];
  const [, label] = blocks.find((block) => block[1]?.endsWith("PRIVATE KEY")) ?? blocks[0] ?? [];
  if (label === undefined) return lines;
  const block = lines.slice(lines.indexOf(`-----BEGIN ${label}-----`));
  const end = `-----END ${label}-----`;
  return block.includes(end) ? block.slice(0, block.indexOf(end) + end.length) : block;
}

async function fromText(given: string, keyId: string | undefined): Promise<SigningKey> {
  const text = given.startsWith("{") ? given : pemIn(given);
  if (text.startsWith("{")) {
    let jwk: JWK;
    try {
      jwk = JSON.parse(text);
    } catch {
      throw refuse("key_invalid", "privateKey looks like a JWK but is not JSON.");
    }
    return fromJwk(jwk, keyId);
  }
  const label = /^-----BEGIN ([A-Z0-9 ]+)-----/.exec(text)?.[1];
  if (label === undefined)
    throw refuse(
      "key_invalid",
      "privateKey is a text, but neither PEM nor a JWK as JSON. If it is the path of a file, read the file.",
    );
  if (label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw refuse(
      "key_unsupported",
      "privateKey is an encrypted PEM. Decrypt it first: openssl pkey -in encrypted.pem -out private.pem",
    );
  if (label.includes("PUBLIC KEY") || label === "CERTIFICATE")
    throw refuse(
      "key_invalid",
      `privateKey is a ${label.toLowerCase()}: the private half is needed to sign.`,
    );
  if (label === "EC PRIVATE KEY" || label === "DSA PRIVATE KEY" || label === "OPENSSH PRIVATE KEY")
    throw refuse("key_unsupported", `privateKey is an ${label}: only RSA keys sign RS256. ${howToMakeOne}`);
  if (label !== "PRIVATE KEY" && label !== "RSA PRIVATE KEY")
    throw refuse("key_unsupported", `privateKey is a PEM of an unknown kind. ${howToMakeOne}`);
  if (!text.includes(`-----END ${label}-----`))
    throw refuse("key_invalid", "privateKey is a truncated PEM: its END line is missing.");
  const pem = label === "RSA PRIVATE KEY" ? pkcs8FromPkcs1(text) : text;
  if (pem !== undefined && isPkcs8OfAnotherAlgorithm(pem))
    throw refuse("key_unsupported", `privateKey is no RSA key: only RSA keys sign RS256. ${howToMakeOne}`);
  let jwk: JWK;
  try {
    if (pem === undefined) throw undefined;
    jwk = await exportJWK(await importPKCS8(pem, "RS256", { extractable: true }));
  } catch {
    // Not kept as the cause: a parser's message may quote the key.
    throw refuse("key_invalid", "privateKey is a PEM that cannot be read; it may be damaged or cut off.");
  }
  return fromJwk(jwk, keyId);
}

/** The AlgorithmIdentifier of rsaEncryption, 1.2.840.113549.1.1.1 (RFC 8017 appendix A.1). */
const rsaEncryption = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
const otherAlgorithms: readonly string[] = [
  "\x2a\x86\x48\xce\x3d\x02\x01", // id-ecPublicKey
  "\x2b\x65\x70", // Ed25519
  "\x2b\x65\x71", // Ed448
  "\x2b\x65\x6e", // X25519
  "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a", // RSASSA-PSS
];

function isPkcs8OfAnotherAlgorithm(pem: string): boolean {
  try {
    const head = atob(pem.replace(/-----[^-]+-----|\s/g, "")).slice(0, 40);
    return !head.includes(rsaEncryption) && otherAlgorithms.some((identifier) => head.includes(identifier));
  } catch {
    return false;
  }
}

function fromKeyObject(key: KeyObjectLike, keyId: string | undefined): Promise<SigningKey> {
  if (key.type === "public")
    throw refuse("key_invalid", "privateKey is a public key: the private half is needed to sign.");
  if (key.type !== "private")
    throw refuse("key_unsupported", "privateKey is a symmetric key, which is refused.");
  let jwk: JWK;
  try {
    jwk = key.export({ format: "jwk" }) as JWK;
  } catch {
    throw refuse("key_unsupported", `privateKey is no RSA key: only RSA keys sign RS256. ${howToMakeOne}`);
  }
  return fromJwk(jwk, keyId);
}

async function fromCryptoKey(key: CryptoKey, keyId: string | undefined): Promise<SigningKey> {
  if (key.type === "secret")
    throw refuse("key_unsupported", "privateKey is a symmetric key, which is refused.");
  const { name, hash, modulusLength } = key.algorithm as Partial<RsaHashedKeyAlgorithm>;
  if (name !== algorithm.name || hash?.name !== algorithm.hash)
    throw refuse(
      "key_unsupported",
      `privateKey is a CryptoKey for another algorithm than RSASSA-PKCS1-v1_5 with SHA-256.`,
    );
  if (key.type !== "private" || !key.usages.includes("sign"))
    throw refuse("key_invalid", 'privateKey is a CryptoKey that cannot sign: it needs the usage "sign".');
  if ((modulusLength ?? 0) < minimumModulusBits) throw tooShort(modulusLength ?? 0);
  const thumbprint = key.extractable ? await thumbprintOf(await exportJWK(key)) : undefined;
  const id = keyId ?? thumbprint;
  if (id === undefined)
    throw refuse(
      "key_id_required",
      "privateKey is not extractable, so its thumbprint cannot be computed. Give keyId: the kid of the registered public key.",
      "keyId",
    );
  return withThumbprint(id, thumbprint, key);
}

async function fromJwk(jwk: JWK, keyId: string | undefined): Promise<SigningKey> {
  if (jwk.kty === "oct") throw refuse("key_unsupported", "privateKey is a symmetric key, which is refused.");
  if (typeof jwk.kty === "string" && jwk.kty !== "RSA")
    throw refuse("key_unsupported", `privateKey is no RSA key: only RSA keys sign RS256. ${howToMakeOne}`);
  if (typeof jwk.n !== "string" || typeof jwk.e !== "string")
    throw refuse(
      "key_invalid",
      "privateKey is no key in any form known here: PEM, JWK, CryptoKey, KeyObject, or a signer { keyId, sign }.",
    );
  if (typeof jwk.d !== "string")
    throw refuse("key_invalid", "privateKey is a public key: the private half is needed to sign.");
  if (jwk.alg !== undefined && jwk.alg !== "RS256")
    throw refuse("key_unsupported", "privateKey is a JWK for another algorithm than RS256.");
  const bits = modulusBits(jwk.n);
  if (bits < minimumModulusBits) throw tooShort(bits);
  let key: CryptoKey;
  try {
    const { kty, n, e, d, p, q, dp, dq, qi } = jwk as JWK & Record<string, string>;
    key = (await importJWK({ kty, n, e, d, p, q, dp, dq, qi } as JWK, "RS256", {
      extractable: false,
    })) as CryptoKey;
  } catch {
    throw refuse(
      "key_invalid",
      "privateKey is an RSA key that cannot be read; it may be damaged or cut off.",
    );
  }
  if (!(await signsFor(jwk, key)))
    throw refuse(
      "key_invalid",
      "privateKey is an RSA key whose parts do not fit; it may be damaged or cut off.",
    );
  const thumbprint = await thumbprintOf(jwk);
  return withThumbprint(keyId ?? (jwk.kid || thumbprint), thumbprint, key);
}

/** An importer may take a damaged key: it would sign what no service accepts, and the reason would be opaque. */
async function signsFor({ kty, n, e }: JWK, key: CryptoKey): Promise<boolean> {
  try {
    const bytes = new Uint8Array(1);
    const signature = await crypto.subtle.sign(algorithm.name, key, bytes);
    const publicKey = (await importJWK({ kty, n, e } as JWK, "RS256")) as CryptoKey;
    return await crypto.subtle.verify(algorithm.name, publicKey, signature, bytes);
  } catch {
    return false;
  }
}

function withThumbprint(keyId: string, thumbprint: string | undefined, key: CryptoKey): SigningKey {
  return {
    keyId,
    ...(thumbprint === undefined ? {} : { thumbprint }),
    sign: async (bytes) =>
      new Uint8Array(await crypto.subtle.sign(algorithm.name, key, bytes as Uint8Array<ArrayBuffer>)),
  };
}

async function thumbprintOf({ kty, n, e }: JWK): Promise<string> {
  return calculateJwkThumbprint({ kty, n, e } as JWK);
}

function modulusBits(n: string): number {
  let bytes: string;
  try {
    bytes = atob(n.replace(/-/g, "+").replace(/_/g, "/")).replace(/^\0+/, "");
  } catch {
    throw refuse("key_invalid", "privateKey is a JWK whose modulus is not base64url.");
  }
  return bytes === "" ? 0 : bytes.length * 8 - Math.clz32(bytes.charCodeAt(0)) + 24;
}

const howToMakeOne =
  "Make one: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem";

function tooShort(bits: number): ConfigurationError {
  return refuse(
    "key_too_short",
    `privateKey has ${bits} bits; RS256 needs ${minimumModulusBits} or more (RFC 7518 section 3.3). ${howToMakeOne}`,
  );
}

function refuse(code: ConfigurationErrorCode, message: string, option = "privateKey"): ConfigurationError {
  return new ConfigurationError(code, message, { option, variant: "A" });
}

/** version 0, then AlgorithmIdentifier { rsaEncryption, NULL } (RFC 5208 section 5). */
const versionAndAlgorithm = [
  0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/** The same key wrapped as PKCS#8, in PEM; `undefined` when the text is not base64. */
export function pkcs8FromPkcs1(pem: string): string | undefined {
  let key: number[];
  try {
    key = Array.from(atob(pem.replace(/-----[^-]+-----|\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
  const wrapped = der(0x30, [...versionAndAlgorithm, ...der(0x04, key)]);
  const base64 = btoa(wrapped.map((byte) => String.fromCharCode(byte)).join(""));
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END PRIVATE KEY-----`;
}

/** One DER element: tag, definite length, content. */
function der(tag: number, content: readonly number[]): number[] {
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  return content.length < 0x80
    ? [tag, content.length, ...content]
    : [tag, 0x80 + length.length, ...length, ...content];
}

/** Keys given as text that stay imported: one is enough but where each tenant has a key of its own. */
const mostTexts = 1_000;

/** Gives a key by what was configured. `shareInFlight` false: another caller's import is not awaited. */
export type KeyReader = (
  privateKey: unknown,
  keyId: string | undefined,
  shareInFlight?: boolean,
) => Promise<SigningKey>;

/**
 * Gives a function that reads a key or a function of one. While the same key is given, as the same object or an equal
 * text, nothing is parsed again.
 */
export function keyReader(): KeyReader {
  const texts = new RecentlyUsed<ImportedKeys>(mostTexts);
  const objects = new WeakMap<object, ImportedKeys>();
  const importedOf = (source: unknown): ImportedKeys => {
    if (typeof source === "string") return texts.get(source, () => new Map());
    if (typeof source !== "object" || source === null) return new Map();
    const found = objects.get(source) ?? new Map();
    objects.set(source, found);
    return found;
  };
  return async (privateKey, keyId, shareInFlight = true) => {
    const given =
      typeof privateKey === "function"
        ? await askForKey(privateKey as () => unknown, keyId)
        : { privateKey, keyId };
    const imported = importedOf(given.privateKey);
    const found = imported.get(given.keyId);
    if (found?.key !== undefined) return found.key;
    if (found !== undefined && shareInFlight) return found.importing;
    const importing = importSigningKey(given.privateKey, given.keyId);
    const entry: ImportedKey = { importing };
    if (found === undefined) imported.set(given.keyId, entry);
    const forget = () => {
      if (imported.get(given.keyId) === entry) imported.delete(given.keyId);
    };
    importing.then((key) => imported.set(given.keyId, { importing, key }), forget);
    return importing;
  };
}

/** By the `keyId` that was given with the key. */
type ImportedKeys = Map<string | undefined, ImportedKey>;

interface ImportedKey {
  readonly importing: Promise<SigningKey>;
  readonly key?: SigningKey;
}

/** What a function gives, alone or with its `kid`. @throws ConfigurationError `key_invalid` when it fails */
async function askForKey(
  ask: () => unknown,
  keyId: string | undefined,
): Promise<{ privateKey: unknown; keyId: string | undefined }> {
  let given: unknown;
  try {
    given = await ask();
  } catch (cause) {
    throw new ConfigurationError("key_invalid", "The function that gives privateKey failed; see the cause.", {
      option: "privateKey",
      variant: "A",
      cause,
    });
  }
  if (typeof given !== "object" || given === null || !("privateKey" in given))
    return { privateKey: given, keyId };
  const withId = given as { privateKey: unknown; keyId?: string };
  return { privateKey: withId.privateKey, keyId: withId.keyId ?? keyId };
}
