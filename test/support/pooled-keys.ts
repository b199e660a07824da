// Before each test file: Node's generator of RSA keys returns first the keys of key-pool.ts, each
// once for each file.
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { inject } from "vitest";
import { keptKeys, keyPair, LASTING_KEYS } from "./lasting-keys.js";

const keys = inject("rsaKeys");
keptKeys.lastingKeys ??= keys.slice(0, LASTING_KEYS);
keptKeys.realGenerateKeyPairSync ??= crypto.generateKeyPairSync as (
  type: string,
  options: object,
) => unknown;
const real = keptKeys.realGenerateKeyPairSync;
const pool = keys.slice(LASTING_KEYS);

function draw(type: string, options: object): unknown {
  const isPooled =
    type === "rsa" && JSON.stringify(options) === JSON.stringify({ modulusLength: 2_048 });
  const pem = isPooled ? pool.pop() : undefined;
  return pem === undefined ? real(type, options) : keyPair(pem);
}

Object.assign(crypto, { generateKeyPairSync: draw });
syncBuiltinESMExports();
