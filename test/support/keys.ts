// Key fixtures, each generated once per process when a test first needs it.
import { generateKeyPairSync } from "node:crypto";
import { type KeyPair, lastingKeyPair } from "./lasting-keys.js";

export type { KeyPair };

/** Makes a value when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The signing key of the tests. */
export const rsaKey: () => KeyPair = once(lastingKeyPair);
/** Another key, for rotation and mismatches. */
export const otherRsaKey: () => KeyPair = once(lastingKeyPair);
export const shortRsaKey: () => KeyPair = once(() =>
  generateKeyPairSync("rsa", { modulusLength: 1024 }),
);
export const rsaPssKey: () => KeyPair = once(() =>
  generateKeyPairSync("rsa-pss", { modulusLength: 1024 }),
);
export const ecKey: () => KeyPair = once(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
export const ed25519Key: () => KeyPair = once(() => generateKeyPairSync("ed25519"));

export function pkcs8({ privateKey }: KeyPair): string {
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export function pkcs1({ privateKey }: KeyPair): string {
  return privateKey.export({ type: "pkcs1", format: "pem" }).toString();
}

export function spki({ publicKey }: KeyPair): string {
  return publicKey.export({ type: "spki", format: "pem" }).toString();
}

export function privateJwk({ privateKey }: KeyPair): Record<string, string> {
  return privateKey.export({ format: "jwk" }) as Record<string, string>;
}

export function publicJwk({ publicKey }: KeyPair): Record<string, string> {
  return publicKey.export({ format: "jwk" }) as Record<string, string>;
}

export interface CryptoKeyOptions {
  readonly extractable?: boolean;
  readonly name?: string;
  readonly hash?: string;
}

/** Makes a CryptoKey from the private half of a pair, for RS256 by default. */
export function cryptoKey(
  pair: KeyPair,
  { extractable = true, name = "RSASSA-PKCS1-v1_5", hash = "SHA-256" }: CryptoKeyOptions = {},
): Promise<CryptoKey> {
  const der = pair.privateKey.export({ type: "pkcs8", format: "der" });
  return crypto.subtle.importKey("pkcs8", new Uint8Array(der), { name, hash }, extractable, [
    "sign",
  ]);
}
