/** Reads a private key in any of its forms, and signs with it. */
import type { JWK } from "jose";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { inTime } from "../../clock.js";
import { ConfigurationError, type ConfigurationErrorCode } from "../../errors.js";
import { requireOptions, tagOf } from "../../options.js";
import { RecentlyUsed } from "../shared/recently-used.js";
import type { PrepareOptions } from "./credential.js";
// The import names jose's subpath, since the whole of jose takes twice as long to load. WebCrypto
// reads the keys, since jose's own reader brings the tables of all other algorithms.

/**
 * Signs with RS256 (RFC 7518 section 3.3), for instance with a key that never leaves a KMS or an
 * HSM.
 */
export interface Signer {
  /** The `kid` under which the customer registered the public key. */
  readonly keyId: string;
  /** Returns the signature itself, as long as the key. WebCrypto's ArrayBuffer is valid too. */
  sign(bytes: Uint8Array): Promise<Uint8Array | ArrayBuffer> | Uint8Array | ArrayBuffer;
}

/**
 * The parts of a node:crypto KeyObject that are used here, so that this file does not need
 * node:crypto.
 */
export interface KeyObjectLike {
  readonly type: string;
  /** Returns the key as a JWK. */
  export(options: { format: "jwk" }): unknown;
}

/** The parts of a `CryptoKey` that identify it, so that a server's types do not need the DOM. */
export interface CryptoKeyLike {
  readonly type: string;
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string };
  readonly usages: readonly string[];
}

/** PKCS#8 or PKCS#1 PEM, JWK (also as JSON text), CryptoKey, KeyObject, or a signer. */
export type PrivateKey = string | JWK | CryptoKeyLike | KeyObjectLike | Signer;

export interface SigningKey {
  readonly keyId: string;
  sign(bytes: Uint8Array): Promise<Uint8Array> | Uint8Array;
  /**
   * RFC 7638 thumbprint of the public key; absent when the key cannot be read (KMS,
   * non-extractable).
   */
  readonly thumbprint?: string;
  /** Whether a function of the caller's own signs. */
  readonly isSigner?: boolean;
}

/** The only accepted algorithm (section 2.2 of the description). */
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;
/** RFC 7518 section 3.3: "A key of size 2048 bits or larger MUST be used". */
const minimumModulusBits = 2048;

/**
 * Reads a private key. Its id is `keyId`, or else the JWK's own `kid`, or else the RFC 7638
 * thumbprint.
 *
 * @throws ConfigurationError `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required`
 */
export async function importSigningKey(privateKey: unknown, keyId?: string): Promise<SigningKey> {
  if (keyId !== undefined && (typeof keyId !== "string" || keyId === ""))
    throw keyError("key_invalid", "keyId must be a string that is not empty.", "keyId");
  if (ArrayBuffer.isView(privateKey))
    throw invalidKey('privateKey is bytes. Read the file as text: readFile(path, "utf8").');
  if (typeof privateKey === "string") return fromJwk(await jwkOfText(privateKey.trim()), keyId);
  if (typeof privateKey !== "object" || privateKey === null)
    throw invalidKey("privateKey is missing. Pass a PEM, a JWK, a key object or a signer.");
  if ("sign" in privateKey && typeof privateKey.sign === "function")
    return fromSigner(privateKey as Signer, keyId);
  if ("algorithm" in privateKey && "usages" in privateKey)
    return fromCryptoKey(privateKey as CryptoKey, keyId);
  if ("export" in privateKey && typeof privateKey.export === "function")
    return fromJwk(await jwkOfKeyObject(privateKey as KeyObjectLike), keyId);
  return fromJwk(privateKey as JWK, keyId);
}

function fromSigner(signer: Signer, keyId: string | undefined): SigningKey {
  const id = keyId ?? signer.keyId;
  if (typeof id !== "string" || id === "") {
    const message = "A signer must have a keyId, since its public key cannot be read.";
    throw keyError("key_id_required", message, "keyId");
  }
  return {
    keyId: id,
    isSigner: true,
    sign: async (bytes) => requireSignature(await signer.sign(bytes)),
  };
}

/** RFC 8017 section 8.2.1: a signature is as long as the key. */
const leastSignatureBytes = minimumModulusBits / 8;

/**
 * Checks the value that a signer returned, since the service would not say why it refuses a wrong
 * one.
 */
function requireSignature(signature: unknown): Uint8Array {
  const isBuffer = tagOf(signature) === "[object ArrayBuffer]";
  if (!isBuffer && !ArrayBuffer.isView(signature))
    throw invalidKey("The signer must return the signature as a Uint8Array or an ArrayBuffer.");
  const bytes = ArrayBuffer.isView(signature)
    ? new Uint8Array(signature.buffer, signature.byteOffset, signature.byteLength)
    : new Uint8Array(signature as ArrayBuffer);
  if (bytes.length >= leastSignatureBytes) return bytes;
  throw invalidKey(
    `The signer returned ${bytes.length} bytes, but a signature of RS256 has ` +
      `${leastSignatureBytes} or more.`,
  );
}

async function jwkOfText(text: string): Promise<JWK> {
  if (!text.startsWith("{")) return jwkOfPem(text);
  const notJson = () => invalidKey("privateKey looks like a JWK but is not JSON.");
  return orThrow(notJson, () => JSON.parse(text));
}

/**
 * Replaces the error of a failed attempt, and does not keep it as the cause, since a parser may
 * quote the key.
 */
async function orThrow<T>(
  error: () => ConfigurationError,
  attempt: () => T | Promise<T>,
): Promise<T> {
  try {
    return await attempt();
  } catch {
    throw error();
  }
}

/**
 * Reads the block of the private key. RFC 7468 section 2 allows text around it: openssl pkcs12
 * writes attributes and certificates.
 */
async function jwkOfPem(given: string): Promise<JWK> {
  // An environment variable may have "\n" in place of line breaks.
  const text = given.includes("\n") ? given : given.replace(/(?:\\r)?\\n/g, "\n");
  const blocks = [...text.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----/gm)];
  const [, label] = blocks.find((block) => block[1]?.endsWith("PRIVATE KEY")) ?? blocks[0] ?? [];
  if (label === undefined)
    throw invalidKey(
      "privateKey is neither a PEM nor a JWK as JSON. If it is the path of a file, read the file.",
    );
  const [block = "", rest] = text
    .slice(text.indexOf(`-----BEGIN ${label}-----`))
    .split(`-----END ${label}-----`);
  if (label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type: 4,ENCRYPTED/m.test(block))
    throw unsupportedKey(
      "privateKey is encrypted. Decrypt it: openssl pkey -in encrypted.pem -out private.pem",
    );
  if (label.includes("PUBLIC KEY") || label === "CERTIFICATE")
    throw notPrivate(label.toLowerCase());
  if (label === "EC PRIVATE KEY" || label === "DSA PRIVATE KEY" || label === "OPENSSH PRIVATE KEY")
    throw notRsa(`an ${label}`);
  if (label !== "PRIVATE KEY" && label !== "RSA PRIVATE KEY")
    throw notRsa("a PEM of an unknown kind");
  if (rest === undefined)
    throw invalidKey("privateKey is a truncated PEM: its END line is missing.");
  const damagedPem = () => damaged("a PEM that cannot be read");
  const content = await orThrow(damagedPem, () => atob(block.replace(/-----[^-]+-----|\s/g, "")));
  const bytes = Uint8Array.from(content, (character) => character.charCodeAt(0));
  const pkcs8 = label === "RSA PRIVATE KEY" ? pkcs8FromPkcs1(bytes) : bytes;
  const head = String.fromCharCode(...pkcs8.slice(0, 40));
  // A sequence with the version 0 (RFC 5208 section 5).
  const isKey = head.startsWith("0") && head.includes("\x02\x01\x00");
  if (!head.includes(rsaEncryption)) throw isKey ? notRsa("a key of another kind") : damagedPem();
  return orThrow(damagedPem, async () =>
    crypto.subtle.exportKey(
      "jwk",
      await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]),
    ),
  );
}

/** The AlgorithmIdentifier of rsaEncryption, 1.2.840.113549.1.1.1 (RFC 8017 appendix A.1). */
const rsaEncryption = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";

/** version 0, then AlgorithmIdentifier { rsaEncryption, NULL } (RFC 5208 section 5). */
const versionAndAlgorithm = [
  0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
  0x05, 0x00,
];

/** Wraps a PKCS#1 key (RFC 8017 appendix A.1.2), which WebCrypto does not read, as PKCS#8. */
function pkcs8FromPkcs1(key: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(der(0x30, [...versionAndAlgorithm, ...der(0x04, [...key])]));
}

/** One DER element: tag, definite length, content. */
function der(tag: number, content: readonly number[]): number[] {
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256))
    length.unshift(rest % 256);
  if (content.length < 0x80) return [tag, content.length, ...content];
  return [tag, 0x80 + length.length, ...length, ...content];
}

async function jwkOfKeyObject(key: KeyObjectLike): Promise<JWK> {
  if (key.type === "public") throw notPrivate("public key");
  if (key.type !== "private") throw symmetric();
  return orThrow(
    () => notRsa("a key of another kind"),
    () => key.export({ format: "jwk" }) as JWK,
  );
}

async function fromCryptoKey(key: CryptoKey, keyId: string | undefined): Promise<SigningKey> {
  if (key.type === "secret") throw symmetric();
  const { name, hash, modulusLength = 0 } = key.algorithm as Partial<RsaHashedKeyAlgorithm>;
  if (name !== algorithm.name || hash?.name !== algorithm.hash)
    throw unsupportedKey("privateKey must be a CryptoKey for RSASSA-PKCS1-v1_5 with SHA-256.");
  if (key.type !== "private" || !key.usages.includes("sign"))
    throw invalidKey(
      'privateKey is a CryptoKey that cannot sign. It must be private and have the usage "sign".',
    );
  requireLength(modulusLength);
  const thumbprint = key.extractable ? await calculateJwkThumbprint(key) : undefined;
  const id = keyId ?? thumbprint;
  if (id === undefined)
    throw keyError(
      "key_id_required",
      "privateKey is not extractable. Pass keyId: the kid of the registered public key.",
      "keyId",
    );
  return signingKey(id, thumbprint, key);
}

async function fromJwk(jwk: JWK, keyId: string | undefined): Promise<SigningKey> {
  if (jwk.kty === "oct") throw symmetric();
  if (typeof jwk.kty === "string" && jwk.kty !== "RSA") throw notRsa("a key of another kind");
  if (typeof jwk.n !== "string" || typeof jwk.e !== "string")
    throw invalidKey(
      "privateKey must be a PEM, a JWK, a CryptoKey, a KeyObject or a signer { keyId, sign }.",
    );
  if (typeof jwk.d !== "string" || jwk.d === "") throw notPrivate("public key");
  if (jwk.alg !== undefined && jwk.alg !== "RS256")
    throw unsupportedKey("privateKey is a JWK whose alg is not RS256. Pass a key for RS256.");
  const { kty, n, e, d, p, q, dp, dq, qi } = jwk as JWK & Record<string, string>;
  const unreadable = () => damaged("an RSA key that cannot be read");
  const key = await orThrow(unreadable, () =>
    importRsa({ kty, n, e, d, p, q, dp, dq, qi } as JsonWebKey, "sign"),
  );
  requireLength((key.algorithm as RsaHashedKeyAlgorithm).modulusLength);
  if (!(await canSign(jwk, key))) throw damaged("an RSA key whose parts do not fit together");
  const thumbprint = await calculateJwkThumbprint(jwk);
  return signingKey(keyId ?? (jwk.kid || thumbprint), thumbprint, key);
}

function importRsa(jwk: JsonWebKey, usage: "sign" | "verify"): Promise<CryptoKey> {
  return crypto.subtle.importKey("jwk", jwk, algorithm, false, [usage]);
}

/**
 * Whether a key fits its own public half. A runtime may import a damaged key, whose signatures no
 * service accepts.
 */
async function canSign({ kty, n, e }: JWK, key: CryptoKey): Promise<boolean> {
  try {
    const bytes = new Uint8Array(1);
    const signature = await crypto.subtle.sign(algorithm.name, key, bytes);
    const publicKey = await importRsa({ kty, n, e } as JsonWebKey, "verify");
    return await crypto.subtle.verify(algorithm.name, publicKey, signature, bytes);
  } catch {
    return false;
  }
}

function signingKey(keyId: string, thumbprint: string | undefined, key: CryptoKey): SigningKey {
  return {
    keyId,
    ...(thumbprint !== undefined && { thumbprint }),
    sign: async (bytes) =>
      new Uint8Array(
        await crypto.subtle.sign(algorithm.name, key, bytes as Uint8Array<ArrayBuffer>),
      ),
  };
}

const howToMakeOne =
  "Make one: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem";

export const keyError = (
  code: ConfigurationErrorCode,
  message: string,
  option = "privateKey",
  cause?: unknown,
): ConfigurationError => new ConfigurationError(code, message, { option, variant: "A", cause });
const invalidKey = (message: string) => keyError("key_invalid", message);
const unsupportedKey = (message: string) => keyError("key_unsupported", message);
const damaged = (what: string) =>
  invalidKey(`privateKey is ${what}: it may be damaged or truncated. Read it again.`);
const notPrivate = (what: string) =>
  invalidKey(`privateKey is a ${what}. Pass the private key, which signs.`);
const notRsa = (what: string) =>
  unsupportedKey(`privateKey is ${what}, but only RSA keys sign RS256. ${howToMakeOne}`);
const symmetric = () =>
  unsupportedKey(`privateKey is a symmetric key. Pass an RSA key. ${howToMakeOne}`);

function requireLength(bits: number): void {
  if (bits >= minimumModulusBits) return;
  const rule = `RS256 needs ${minimumModulusBits} or more (RFC 7518 section 3.3)`;
  throw keyError("key_too_short", `privateKey has ${bits} bits, but ${rule}. ${howToMakeOne}`);
}

/** The number of keys in text form that stay imported, since each tenant may have its own key. */
const mostTexts = 1_000;

/**
 * The imports of one private key, done or in progress, by the `keyId` that was configured with it.
 */
type Imports = Map<string | undefined, SigningKey | Promise<SigningKey>>;

const lost = Symbol("lost");

/**
 * Reads a configured key, or calls a configured function, per assertion. The same key is imported
 * only once.
 */
export class SigningKeyCache {
  readonly #texts = new RecentlyUsed<Imports>(mostTexts);
  readonly #objects = new WeakMap<object, Imports>();

  /** Without `shareInFlight` another caller's import is not awaited. */
  async read(
    source: unknown,
    usualId: string | undefined,
    options?: PrepareOptions,
  ): Promise<SigningKey> {
    const { privateKey, keyId } =
      typeof source === "function"
        ? await askForKey(source as () => unknown, usualId)
        : { privateKey: source, keyId: usualId };
    const imports = this.#importsOf(privateKey);
    const found = imports.get(keyId);
    if (found !== undefined && !(found instanceof Promise)) return found;
    if (found !== undefined && options?.shareInFlight) {
      // A worker runtime may kill an import together with its request. Half of the time limit
      // leaves time for another import.
      const shared = inTime(found, options.timeoutMs / 2, options.clock, () => lost);
      return shared.catch((error: unknown) => {
        if (error !== lost) throw error;
        if (imports.get(keyId) === found) imports.delete(keyId);
        return this.read(privateKey, keyId, options);
      });
    }
    const importing = importSigningKey(privateKey, keyId);
    if (found === undefined) imports.set(keyId, importing);
    importing.then(
      (key) => imports.set(keyId, key),
      () => {
        if (imports.get(keyId) === importing) imports.delete(keyId);
      },
    );
    return importing;
  }

  #importsOf(source: unknown): Imports {
    if (typeof source === "string") return this.#texts.get(source, () => new Map());
    if (typeof source !== "object" || source === null) return new Map();
    const found = this.#objects.get(source) ?? new Map();
    this.#objects.set(source, found);
    return found;
  }
}

/** Calls a configured function, which returns a key alone or with its `kid`. */
async function askForKey(ask: () => unknown, keyId: string | undefined) {
  let given: unknown;
  try {
    given = await ask();
  } catch (cause) {
    const message = "The function that returns privateKey failed; see the cause.";
    throw keyError("key_invalid", message, "privateKey", cause);
  }
  if (typeof given !== "object" || given === null || !("privateKey" in given))
    return { privateKey: given, keyId };
  const withId = given as { privateKey: unknown; keyId?: string };
  requireOptions("a key with its id", withId, { privateKey: true, keyId: true });
  return { privateKey: withId.privateKey, keyId: withId.keyId ?? keyId };
}
