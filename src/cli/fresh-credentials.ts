/** Credentials made for one run, for an emulated deployment: a plugin's key pair and a service account's secret. */
import { generateKeyPair, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { calculateJwkThumbprint } from "jose";

export interface FreshCredentials {
  /** PKCS#8 PEM. */
  readonly privateKey: string;
  /** The public half, under the kid that the client gives it by itself: the RFC 7638 thumbprint. */
  readonly jwks: { readonly keys: readonly Record<string, unknown>[] };
  readonly clientSecret: string;
}

/** RFC 7518 section 3.3: "A key of size 2048 bits or larger MUST be used". */
const modulusBits = 2048;
const secretBytes = 32;

export async function freshCredentials(): Promise<FreshCredentials> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength: modulusBits });
  const jwk = publicKey.export({ format: "jwk" });
  const kid = await calculateJwkThumbprint({ ...jwk });
  return {
    privateKey: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    jwks: { keys: [{ ...jwk, kid, use: "sig", alg: "RS256" }] },
    clientSecret: randomBytes(secretBytes).toString("base64url"),
  };
}
