// Makes RSA keys and JWTs by node:crypto alone, so that no library corrects a test's deliberate
// mistakes.
import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { type KeyPair, lastingKeyPair } from "../support/lasting-keys.js";

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly publicJwk: Record<string, unknown>;
}

export function newSigningKey(kid: string, modulusLength = 2048): SigningKey {
  return withKid(kid, generateKeyPairSync("rsa", { modulusLength }));
}

/** For a module that several test files share: a key that no file of the process gets again. */
export function lastingSigningKey(kid: string): SigningKey {
  return withKid(kid, lastingKeyPair());
}

function withKid(kid: string, { privateKey, publicKey }: KeyPair): SigningKey {
  return { kid, privateKey, publicKey, publicJwk: { ...publicKey.export({ format: "jwk" }), kid } };
}

/** Signs any header and claims by any algorithm, right or wrong. */
export function compactJws(
  header: Record<string, unknown>,
  claims: unknown,
  signer: (input: Buffer) => Buffer,
): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signer(Buffer.from(input)).toString("base64url")}`;
}

export const rs256 =
  (key: Pick<SigningKey, "privateKey">) =>
  (input: Buffer): Buffer =>
    sign("sha256", input, key.privateKey);

export const hs256 =
  (secret: string | Buffer) =>
  (input: Buffer): Buffer =>
    createHmac("sha256", secret).update(input).digest();

export interface Pkce {
  readonly codeVerifier: string;
  readonly codeChallenge: string;
}

export function s256(codeVerifier: string): string {
  return createHash("sha256").update(codeVerifier).digest("base64url");
}

export function newPkce(codeVerifier: string = randomBytes(32).toString("base64url")): Pkce {
  return { codeVerifier, codeChallenge: s256(codeVerifier) };
}
