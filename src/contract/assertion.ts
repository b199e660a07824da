/**
 * Client assertions (section 2.2), right and wrong, signed with jose and not with the client of
 * this package.
 */
import {
  base64url,
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  importJWK,
  importPKCS8,
  type JWK,
} from "jose";
import { ContractError } from "./errors.js";
import type { PluginCredential } from "./target.js";

/** A key that can sign, and its kid. */
export interface Signer {
  readonly key: CryptoKey;
  readonly keyId: string;
  /** The public half, for assertions that misuse it; absent if the key cannot be exported. */
  readonly publicJwk?: JWK | undefined;
}

/** What an assertion has other than a right one. A member that is undefined is left out. */
export interface AssertionChanges {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Signs with this key instead; `kid` stays that of the plugin. */
  readonly key?: CryptoKey | Uint8Array;
  /** Replaces the signature. */
  readonly signature?: string;
}

const algorithm = "RS256";

/**
 * Imports the key of a plugin, which is a member of the target.
 * @throws ContractError `key_invalid`
 */
export async function importSigner(
  { privateKey, keyId }: Omit<PluginCredential, "clientId">,
  member = "plugin",
): Promise<Signer> {
  try {
    const key = await importKey(privateKey);
    const { name, hash, modulusLength = 0 } = key.algorithm as Partial<RsaHashedKeyAlgorithm>;
    const isUsable =
      key.type === "private" && name === "RSASSA-PKCS1-v1_5" && hash?.name === "SHA-256";
    if (!isUsable || modulusLength < 2048)
      throw new TypeError("not a private RSA key of 2048 bits for RS256");
    const publicJwk = key.extractable ? publicHalf(await exportJWK(key)) : undefined;
    const ownKid =
      typeof privateKey === "object" && "kid" in privateKey ? String(privateKey.kid) : undefined;
    const kid = keyId ?? ownKid ?? (publicJwk && (await calculateJwkThumbprint(publicJwk)));
    if (kid === undefined) throw new TypeError("a key that cannot be exported needs a keyId");
    return { key, keyId: kid, publicJwk };
  } catch {
    // The fault stays out: that of a JSON parser quotes the key.
    const message =
      `\`${member}.privateKey\` of the target cannot be used. ` +
      "Pass an RSA key as PEM (PKCS#8) or JWK, or a CryptoKey for RS256 with a keyId if it " +
      "cannot be exported.";
    throw new ContractError("key_invalid", message, [`${member}.privateKey`]);
  }
}

async function importKey(privateKey: PluginCredential["privateKey"]): Promise<CryptoKey> {
  if (privateKey instanceof globalThis.CryptoKey) return privateKey;
  const isPem = typeof privateKey === "string" && !privateKey.trim().startsWith("{");
  if (isPem) return importPKCS8(privateKey.trim(), algorithm, { extractable: true });
  const jwk: JWK = typeof privateKey === "string" ? JSON.parse(privateKey) : privateKey;
  const key = await importJWK(jwk, algorithm, { extractable: true });
  if (key instanceof Uint8Array) throw new TypeError("a symmetric key");
  return key;
}

function publicHalf({ kty, n, e }: JWK): JWK {
  return { kty, n, e } as JWK;
}

/** Signs the claims with the changes. `now` is in seconds. */
export async function signAssertion(
  { key, keyId }: Signer,
  claims: { readonly clientId: string; readonly audience: string; readonly now: number },
  changes: AssertionChanges = {},
): Promise<string> {
  const { clientId, audience, now } = claims;
  const right = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    jti: crypto.randomUUID(),
    iat: now,
    exp: now + 300,
  };
  const payload = new TextEncoder().encode(JSON.stringify({ ...right, ...changes.claims }));
  const header = { alg: algorithm, kid: keyId, ...changes.header } as { alg: string };
  const isOdd =
    changes.signature !== undefined || header.alg === "none" || "crit" in header || "b64" in header;
  if (!isOdd) return new CompactSign(payload).setProtectedHeader(header).sign(changes.key ?? key);
  // jose signs nothing of this kind, so the parts are joined here.
  const encoded = [JSON.stringify(header), payload].map((part) => base64url.encode(part)).join(".");
  if (changes.signature !== undefined || header.alg === "none")
    return `${encoded}.${changes.signature ?? ""}`;
  const bytes = new TextEncoder().encode(encoded);
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, bytes);
  return `${encoded}.${base64url.encode(new Uint8Array(signature))}`;
}
