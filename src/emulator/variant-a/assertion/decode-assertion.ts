// Reads a client assertion without believing any of it.
import { decodeProtectedHeader } from "jose/decode/protected_header";
import { decodeJwt } from "jose/jwt/decode";

/** Header and claims as received, unverified. */
export interface DecodedAssertion {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** RFC 7515 section 7.1. The last part may be empty here, so that alg none is refused as an algorithm. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Undefined if it is no JWT in compact form. */
export function decodeAssertion(assertion: string): DecodedAssertion | undefined {
  if (!COMPACT_JWS.test(assertion)) return undefined;
  try {
    return { header: { ...decodeProtectedHeader(assertion) }, claims: { ...decodeJwt(assertion) } };
  } catch {
    return undefined;
  }
}
