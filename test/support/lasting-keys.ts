// RSA keys of modules that several test files of one process share. No file draws one of them again.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { inject } from "vitest";

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const LASTING_KEYS = 8;
/** Commands such as the fleet of the examples run outside Vitest. */
const isInVitest = process.env.VITEST !== undefined;
const pool = isInVitest ? inject("rsaKeys").slice(0, LASTING_KEYS) : [];

export function keyPair(pem: string): KeyPair {
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

export function lastingKeyPair(): KeyPair {
  if (!isInVitest) return generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = pool.pop();
  if (pem === undefined)
    throw new Error("No lasting key is left. Raise LASTING_KEYS and the keys of key-pool.ts.");
  return keyPair(pem);
}
