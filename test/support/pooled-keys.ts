// Before each test file: Node's generator of RSA keys returns first the keys of key-pool.ts, each once for each file.
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { inject } from "vitest";
import { keyPair, LASTING_KEYS } from "./lasting-keys.js";

type Generate = (type: string, options: object) => unknown;
const kept = globalThis as { realGenerateKeyPairSync?: Generate };
kept.realGenerateKeyPairSync ??= crypto.generateKeyPairSync as Generate;
const real = kept.realGenerateKeyPairSync;
const pool = inject("rsaKeys").slice(LASTING_KEYS);

function draw(type: string, options: object): unknown {
  const isPooled = type === "rsa" && JSON.stringify(options) === JSON.stringify({ modulusLength: 2_048 });
  const pem = isPooled ? pool.pop() : undefined;
  return pem === undefined ? real(type, options) : keyPair(pem);
}

Object.assign(crypto, { generateKeyPairSync: draw });
syncBuiltinESMExports();
