// Proof Key for Code Exchange (RFC 7636) as far as a server needs it: S256 only.
import { createHash } from "node:crypto";

/** A SHA-256 in base64url without padding (RFC 7636 section 4.2). */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** RFC 7636 section 4.1: 43 to 128 unreserved characters. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export function isCodeChallenge(value: unknown): value is string {
  return typeof value === "string" && S256_CHALLENGE.test(value);
}

/**
 * How the verifier fails the challenge, in words that are safe to log, or undefined if it is the right one. Where there
 * was no challenge, a verifier is a fault: RFC 9700 section 4.8.2.
 */
export function verifierFault(
  codeVerifier: string | undefined,
  codeChallenge: string | undefined,
): string | undefined {
  if (codeChallenge === undefined) {
    return codeVerifier ? "a verifier, though no challenge was sent" : undefined;
  }
  if (codeVerifier === undefined) return "absent";
  if (!CODE_VERIFIER.test(codeVerifier)) return "not 43 to 128 unreserved characters";
  const challenge = createHash("sha256").update(codeVerifier).digest("base64url");
  return challenge === codeChallenge ? undefined : "a verifier of another challenge";
}
