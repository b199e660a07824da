/** Reads the rarer forms of a private key, and says what is wrong with a key that cannot be used. Loaded lazily. */
import type { JWK } from "jose";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { ConfigurationError, type ConfigurationErrorCode } from "../../errors.js";
import {
  algorithm,
  bytesOf,
  importRsa,
  jwkOfPkcs8,
  type KeyObjectLike,
  minimumModulusBits,
  type Signer,
  type SigningKey,
  signingKey,
} from "./signing-key.js";

/** Reads a key in any form, with the errors of `importSigningKey`. */
export async function importOtherForm(privateKey: unknown, keyId?: string): Promise<SigningKey> {
  if (keyId !== undefined && (typeof keyId !== "string" || keyId === ""))
    throw keyError("key_invalid", "keyId must be a string that is not empty.", "keyId");
  if (ArrayBuffer.isView(privateKey))
    throw invalidKey('privateKey is bytes. Read the file as text: readFile(path, "utf8").');
  if (typeof privateKey === "string") return fromText(privateKey.trim(), keyId);
  if (typeof privateKey !== "object" || privateKey === null)
    throw invalidKey("privateKey is missing. Pass a PEM, a JWK, a key object or a signer.");
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
  if (typeof id !== "string" || id === "") {
    const message = "A signer must have a keyId, since its public key cannot be read.";
    throw keyError("key_id_required", message, "keyId");
  }
  return { keyId: id, sign: async (bytes) => requireSignature(await signer.sign(bytes)) };
}

/** RFC 8017 section 8.2.1: a signature is as long as the key. */
const leastSignatureBytes = minimumModulusBits / 8;

/** Checks the value that a signer returned, since the service would not say why it refuses a wrong one. */
function requireSignature(signature: unknown): Uint8Array {
  const isBuffer = Object.prototype.toString.call(signature) === "[object ArrayBuffer]";
  if (!isBuffer && !ArrayBuffer.isView(signature))
    throw invalidKey(
      "The signer must return the bytes of the signature, as a Uint8Array or an ArrayBuffer, neither encoded nor inside an object.",
    );
  const bytes = ArrayBuffer.isView(signature)
    ? new Uint8Array(signature.buffer, signature.byteOffset, signature.byteLength)
    : new Uint8Array(signature as ArrayBuffer);
  if (bytes.length >= leastSignatureBytes) return bytes;
  throw invalidKey(
    `The signer returned ${bytes.length} bytes, but a signature of RS256 has ${leastSignatureBytes} or more, as many as the key.`,
  );
}

async function fromText(text: string, keyId: string | undefined): Promise<SigningKey> {
  if (!text.startsWith("{")) return fromPem(privateKeyBlockOf(text), keyId);
  const notJson = () => invalidKey("privateKey looks like a JWK but is not JSON.");
  return fromJwk(await orThrow(notJson, () => JSON.parse(text)), keyId);
}

/** Replaces the error of a failed attempt, and does not keep it as the cause, since a parser may quote the key. */
async function orThrow<T>(error: () => ConfigurationError, attempt: () => T | Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch {
    throw error();
  }
}

/**
 * Returns the block of the private key, with real line breaks in place of the "\n" of an environment variable. RFC 7468
 * section 2 allows text around it: openssl pkcs12 writes attributes and certificates.
 */
function privateKeyBlockOf(text: string): string {
  const lines = text.includes("\n") ? text : text.replace(/(?:\\r)?\\n/g, "\n");
  const blocks = [...lines.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----/gm)];
  const [, label] = blocks.find((block) => block[1]?.endsWith("PRIVATE KEY")) ?? blocks[0] ?? [];
  if (label === undefined) return lines;
  const block = lines.slice(lines.indexOf(`-----BEGIN ${label}-----`));
  const end = `-----END ${label}-----`;
  return block.includes(end) ? block.slice(0, block.indexOf(end) + end.length) : block;
}

async function fromPem(text: string, keyId: string | undefined): Promise<SigningKey> {
  const label = /^-----BEGIN ([A-Z0-9 ]+)-----/.exec(text)?.[1];
  if (label === undefined)
    throw invalidKey(
      "privateKey is a string, but neither a PEM nor a JWK as JSON. If it is the path of a file, read the file.",
    );
  if (label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw unsupportedKey(
      "privateKey is an encrypted PEM. Decrypt it first: openssl pkey -in encrypted.pem -out private.pem",
    );
  if (label.includes("PUBLIC KEY") || label === "CERTIFICATE") throw notPrivate(label.toLowerCase());
  if (label === "EC PRIVATE KEY" || label === "DSA PRIVATE KEY" || label === "OPENSSH PRIVATE KEY")
    throw notRsa(`an ${label}`);
  if (label !== "PRIVATE KEY" && label !== "RSA PRIVATE KEY") throw notRsa("a PEM of an unknown kind");
  if (!text.includes(`-----END ${label}-----`))
    throw invalidKey("privateKey is a truncated PEM: its END line is missing.");
  const damagedPem = () => damaged("a PEM that cannot be read");
  const bytes = await orThrow(damagedPem, () => bytesOf(text.replace(/-----[^-]+-----/g, "")));
  const pkcs8 = label === "RSA PRIVATE KEY" ? pkcs8FromPkcs1(bytes) : bytes;
  if (!String.fromCharCode(...pkcs8.slice(0, 40)).includes(rsaEncryption))
    throw notRsa("a key of another kind");
  return fromJwk(await orThrow(damagedPem, () => jwkOfPkcs8(pkcs8)), keyId);
}

/** The AlgorithmIdentifier of rsaEncryption, 1.2.840.113549.1.1.1 (RFC 8017 appendix A.1). */
const rsaEncryption = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";

/** version 0, then AlgorithmIdentifier { rsaEncryption, NULL } (RFC 5208 section 5). */
const versionAndAlgorithm = [
  0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/** Wraps a PKCS#1 key (RFC 8017 appendix A.1.2), which WebCrypto does not read, as PKCS#8. */
function pkcs8FromPkcs1(key: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(der(0x30, [...versionAndAlgorithm, ...der(0x04, [...key])]));
}

/** One DER element: tag, definite length, content. */
function der(tag: number, content: readonly number[]): number[] {
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  if (content.length < 0x80) return [tag, content.length, ...content];
  return [tag, 0x80 + length.length, ...length, ...content];
}

async function fromKeyObject(key: KeyObjectLike, keyId: string | undefined): Promise<SigningKey> {
  if (key.type === "public") throw notPrivate("public key");
  if (key.type !== "private") throw symmetric();
  const jwk = await orThrow(
    () => notRsa("a key of another kind"),
    () => key.export({ format: "jwk" }),
  );
  return fromJwk(jwk as JWK, keyId);
}

async function fromCryptoKey(key: CryptoKey, keyId: string | undefined): Promise<SigningKey> {
  if (key.type === "secret") throw symmetric();
  const { name, hash, modulusLength = 0 } = key.algorithm as Partial<RsaHashedKeyAlgorithm>;
  if (name !== algorithm.name || hash?.name !== algorithm.hash)
    throw unsupportedKey(
      "privateKey must be a CryptoKey for RSASSA-PKCS1-v1_5 with SHA-256, not for another algorithm.",
    );
  if (key.type !== "private" || !key.usages.includes("sign"))
    throw invalidKey(
      'privateKey is a CryptoKey that cannot sign. It must be private and have the usage "sign".',
    );
  if (modulusLength < minimumModulusBits) throw tooShort(modulusLength);
  const thumbprint = key.extractable ? await calculateJwkThumbprint(key) : undefined;
  const id = keyId ?? thumbprint;
  if (id === undefined)
    throw keyError(
      "key_id_required",
      "privateKey is not extractable, so its thumbprint cannot be computed. Pass keyId: the kid of the registered public key.",
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
  if (typeof jwk.d !== "string") throw notPrivate("public key");
  if (jwk.alg !== undefined && jwk.alg !== "RS256")
    throw unsupportedKey("privateKey is a JWK for an algorithm other than RS256.");
  const key = await importRsa(jwk, keyId);
  if (typeof key === "object") return key;
  if (typeof key === "number") throw tooShort(key);
  throw damaged(
    key === "unfit" ? "an RSA key whose parts do not fit together" : "an RSA key that cannot be read",
  );
}

const howToMakeOne =
  "Make one: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out private.pem";

const keyError = (code: ConfigurationErrorCode, message: string, option = "privateKey") =>
  new ConfigurationError(code, message, { option, variant: "A" });
const invalidKey = (message: string) => keyError("key_invalid", message);
const unsupportedKey = (message: string) => keyError("key_unsupported", message);
const damaged = (what: string) => invalidKey(`privateKey is ${what}. It may be damaged or truncated.`);
const notPrivate = (what: string) =>
  invalidKey(`privateKey is a ${what}. Pass the private key, which signs.`);
const notRsa = (what: string) =>
  unsupportedKey(`privateKey is ${what}, but only RSA keys sign RS256. ${howToMakeOne}`);
const symmetric = () => unsupportedKey(`privateKey is a symmetric key. Pass an RSA key. ${howToMakeOne}`);
const tooShort = (bits: number) =>
  keyError(
    "key_too_short",
    `privateKey has ${bits} bits, but RS256 needs ${minimumModulusBits} or more (RFC 7518 section 3.3). ${howToMakeOne}`,
  );
