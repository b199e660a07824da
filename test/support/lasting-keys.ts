// RSA keys of modules that several test files of one process share. No file draws one of them
// again.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const LASTING_KEYS = 8;

/**
 * What pooled-keys.ts keeps for the process. Programs outside of Vitest import this folder too, and
 * have none of it.
 */
export const keptKeys = globalThis as {
  lastingKeys?: string[];
  realGenerateKeyPairSync?: (type: string, options: object) => unknown;
};

export function keyPair(pem: string): KeyPair {
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

export function lastingKeyPair(): KeyPair {
  const { lastingKeys } = keptKeys;
  if (lastingKeys === undefined) return generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = lastingKeys.pop();
  if (pem === undefined)
    throw new Error("No lasting key is left. Raise LASTING_KEYS and the keys of key-pool.ts.");
  return keyPair(pem);
}
