// Code verifiers and their S256 challenges, made by hand.
import { createHash, randomBytes } from "node:crypto";

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
