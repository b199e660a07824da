/** The client assertion of Variant A: a short-lived JWT, signed last thing before it is sent. */
import { encode as base64url } from "jose/base64url";
import type { SigningKey } from "./signing-key.js";

/** Well under the 5 minutes of section 2.2: a fast clock must not meet the maximum. */
const lifetimeSeconds = 60;

const encoder = new TextEncoder();

export interface ClientAssertionClaims {
  readonly clientId: string;
  /** The exact token URL posted to, as one string: an array is another thing to a strict server. */
  readonly audience: string;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
}

/** Signs a new assertion with a `jti` of its own (RFC 7523 section 3; section 2.2 of the description). */
export async function signClientAssertion(claims: ClientAssertionClaims, key: SigningKey): Promise<string> {
  const header = { alg: "RS256", typ: "JWT", kid: key.keyId };
  const payload = {
    iss: claims.clientId,
    sub: claims.clientId,
    aud: claims.audience,
    jti: crypto.randomUUID(),
    // No nbf: it would be one more way to be early.
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
