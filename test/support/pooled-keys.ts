// Node's generator of RSA keys returns those of key-pool.ts in turn, in the process of each test file.
import crypto, { createPrivateKey, createPublicKey } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { inject } from "vitest";

const pool = inject("rsaKeys");
const real = crypto.generateKeyPairSync as (type: string, options: object) => unknown;
let drawn = 0;

function draw(type: string, options: object): unknown {
  const isPooled = type === "rsa" && JSON.stringify(options) === JSON.stringify({ modulusLength: 2_048 });
  const pem = pool[drawn % pool.length];
  if (!isPooled || pem === undefined) return real(type, options);
  drawn++;
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

Object.assign(crypto, { generateKeyPairSync: draw });
syncBuiltinESMExports();
