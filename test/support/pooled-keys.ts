// In the process of a test file Node's generator of RSA keys returns first those of key-pool.ts, each once.
import crypto, { createPrivateKey, createPublicKey } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { inject } from "vitest";

const pool = [...inject("rsaKeys")];
const real = crypto.generateKeyPairSync as (type: string, options: object) => unknown;

function draw(type: string, options: object): unknown {
  const isPooled = type === "rsa" && JSON.stringify(options) === JSON.stringify({ modulusLength: 2_048 });
  const pem = isPooled ? pool.pop() : undefined;
  if (pem === undefined) return real(type, options);
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

Object.assign(crypto, { generateKeyPairSync: draw });
syncBuiltinESMExports();
