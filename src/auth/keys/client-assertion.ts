/** The client assertion of Variant A: a short-lived JWT, signed just before it is sent. */
import { encode as base64url } from "jose/base64url";
import type { SigningKey } from "./signing-key.js";

/** Well under the 5 minutes of section 2.2, so that a fast clock does not reach the maximum. */
const lifetimeSeconds = 60;

const encoder = new TextEncoder();

export interface ClientAssertionClaims {
  readonly clientId: string;
  /** The exact token URL, as one string: a strict server refuses an array. */
  readonly audience: string;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
}

/** Signs a new assertion with its own `jti` (RFC 7523 section 3; section 2.2 of the description). */
export async function signClientAssertion(claims: ClientAssertionClaims, key: SigningKey): Promise<string> {
  const header = { alg: "RS256", typ: "JWT", kid: key.keyId };
  const payload = {
    iss: claims.clientId,
    sub: claims.clientId,
    aud: claims.audience,
    jti: crypto.randomUUID(),
    // Without nbf, which could only make an assertion too early.
    iat: claims.issuedAt,
    exp: claims.issuedAt + lifetimeSeconds,
  };
  const signed = `${encode(header)}.${encode(payload)}`;
  const signature = await key.sign(encoder.encode(signed));
  return `${signed}.${base64url(signature)}`;
}

function encode(part: object): string {
  return base64url(JSON.stringify(part));
}
