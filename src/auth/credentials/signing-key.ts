/** Reads a private key, usually a PKCS#8 PEM or a JWK, and signs with it. Other forms are read in key-forms.ts. */
import type { JWK } from "jose";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { ConfigurationError } from "../../errors.js";
import { parseJson } from "../../http/exchange.js";
import { ifPossible, lazy } from "../lazy.js";
import { RecentlyUsed } from "../recently-used.js";
// The import names jose's subpath, since the whole of jose takes twice as long to load. WebCrypto reads the keys, since
// jose's own reader brings the tables of all other algorithms.

/** Signs with RS256 (RFC 7518 section 3.3), for instance with a key that never leaves a KMS or an HSM. */
export interface Signer {
  /** The `kid` under which the customer registered the public key. */
  readonly keyId: string;
  /** Returns the signature itself, as long as the key. WebCrypto's ArrayBuffer is valid too. */
  sign(bytes: Uint8Array): Promise<Uint8Array | ArrayBuffer> | Uint8Array | ArrayBuffer;
}

/** The parts of a node:crypto KeyObject that are used here, so that this file does not need node:crypto. */
export interface KeyObjectLike {
  readonly type: string;
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
  /** RFC 7638 thumbprint of the public key; absent when the key cannot be read (KMS, non-extractable). */
  readonly thumbprint?: string;
}

/** The only accepted algorithm (section 2.2 of the description). */
export const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;
/** RFC 7518 section 3.3: "A key of size 2048 bits or larger MUST be used". */
export const minimumModulusBits = 2048;

/** Loaded only for a key that is in another form, or cannot be used. */
const keyForms = /* @__PURE__ */ lazy(() => import("./key-forms.js"));

/**
 * Reads a private key. Its id is `keyId`, or else the JWK's own `kid`, or else the RFC 7638 thumbprint.
 *
 * @throws ConfigurationError `key_invalid`, `key_unsupported`, `key_too_short`, `key_id_required`
 */
export async function importSigningKey(privateKey: unknown, keyId?: string): Promise<SigningKey> {
  const isIdUsable = keyId === undefined || (typeof keyId === "string" && keyId !== "");
  const jwk = isIdUsable && (await usualJwk(privateKey));
  const key = jwk && (await importRsa(jwk, keyId));
  if (typeof key === "object") return key;
  const forms = await ifPossible(keyForms);
  if (forms !== undefined) return forms.importOtherForm(privateKey, keyId);
  throw new ConfigurationError(
    "key_invalid",
    "privateKey is not a usable RSA key as PKCS#8 PEM or JWK, and the code for other forms could not be loaded. Check the key, and that all files of bivariant are deployed.",
    { option: "privateKey", variant: "A" },
  );
}

/** A PEM without anything around it. An environment variable may have "\\n" in place of its line breaks. */
const pkcs8Pem = /^-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----$/;

/** Returns an RSA key in the two usual forms, and `undefined` for anything else. */
async function usualJwk(privateKey: unknown): Promise<JWK | undefined> {
  let given = privateKey;
  if (typeof given === "string") {
    const [, base64] = pkcs8Pem.exec(given.replace(/\\[rn]/g, "\n").trim()) ?? [];
    given = base64 ? await ifPossible(() => jwkOfPkcs8(bytesOf(base64))) : parseJson(given);
  }
  const { kty, n, e, d, alg = "RS256" } = Object(given) as JWK;
  const isComplete = [n, e, d].every((part) => typeof part === "string");
  return kty === "RSA" && alg === "RS256" && isComplete ? (given as JWK) : undefined;
}

/** @throws DOMException if the text is not base64 */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** @throws DOMException if it is not a private RSA key */
export async function jwkOfPkcs8(pkcs8: Uint8Array<ArrayBuffer>): Promise<JWK> {
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]);
  return (await crypto.subtle.exportKey("jwk", key)) as JWK;
}

/**
 * Imports a private RSA key. If it cannot be used, returns why: its length in bits, or "unfit" if its parts do not fit
 * together.
 */
export async function importRsa(
  jwk: JWK,
  keyId: string | undefined,
): Promise<SigningKey | "unreadable" | "unfit" | number> {
  const { kty, n, e, d, p, q, dp, dq, qi } = jwk as JWK & Record<string, string>;
  const parts = { kty, n, e, d, p, q, dp, dq, qi } as JsonWebKey;
  const key = await ifPossible(() => crypto.subtle.importKey("jwk", parts, algorithm, false, ["sign"]));
  if (key === undefined) return "unreadable";
  const bits = (key.algorithm as RsaHashedKeyAlgorithm).modulusLength;
  if (bits < minimumModulusBits) return bits;
  if (!(await ifPossible(() => canSign({ kty, n, e } as JsonWebKey, key)))) return "unfit";
  const thumbprint = await calculateJwkThumbprint(jwk);
  return signingKey(keyId ?? (jwk.kid || thumbprint), thumbprint, key);
}

/** Whether a key fits its own public half. A runtime may import a damaged key, which signs in vain. */
async function canSign(publicHalf: JsonWebKey, key: CryptoKey): Promise<boolean> {
  const bytes = new Uint8Array(1);
  const signature = await crypto.subtle.sign(algorithm.name, key, bytes);
  const publicKey = await crypto.subtle.importKey("jwk", publicHalf, algorithm, false, ["verify"]);
  return crypto.subtle.verify(algorithm.name, publicKey, signature, bytes);
}

export function signingKey(keyId: string, thumbprint: string | undefined, key: CryptoKey): SigningKey {
  return {
    keyId,
    ...(thumbprint === undefined ? {} : { thumbprint }),
    sign: async (bytes) =>
      new Uint8Array(await crypto.subtle.sign(algorithm.name, key, bytes as Uint8Array<ArrayBuffer>)),
  };
}

/** The number of keys in text form that stay imported, since each tenant may have its own key. */
const mostTexts = 1_000;

/** The imports of one private key, done or in progress, by the `keyId` that was configured with it. */
type Imports = Map<string | undefined, SigningKey | Promise<SigningKey>>;

/** Reads a configured key, or calls a configured function, per assertion. The same key is imported only once. */
export class SigningKeyCache {
  readonly #texts = new RecentlyUsed<Imports>(mostTexts);
  readonly #objects = new WeakMap<object, Imports>();

  /** If `shareInFlight` is false, another caller's import is not awaited. */
  async read(privateKey: unknown, keyId: string | undefined, shareInFlight = true): Promise<SigningKey> {
    const given =
      typeof privateKey === "function"
        ? await askForKey(privateKey as () => unknown, keyId)
        : { privateKey, keyId };
    const imports = this.#importsOf(given.privateKey);
    const found = imports.get(given.keyId);
    if (found !== undefined && (shareInFlight || !(found instanceof Promise))) return found;
    const importing = importSigningKey(given.privateKey, given.keyId);
    if (found === undefined) imports.set(given.keyId, importing);
    importing.then(
      (key) => imports.set(given.keyId, key),
      () => {
        if (imports.get(given.keyId) === importing) imports.delete(given.keyId);
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
async function askForKey(
  ask: () => unknown,
  keyId: string | undefined,
): Promise<{ privateKey: unknown; keyId: string | undefined }> {
  let given: unknown;
  try {
    given = await ask();
  } catch (cause) {
    const message = "The function that returns privateKey failed; see the cause.";
    throw new ConfigurationError("key_invalid", message, { option: "privateKey", variant: "A", cause });
  }
  if (typeof given !== "object" || given === null || !("privateKey" in given))
    return { privateKey: given, keyId };
  const withId = given as { privateKey: unknown; keyId?: string };
  return { privateKey: withId.privateKey, keyId: withId.keyId ?? keyId };
}
