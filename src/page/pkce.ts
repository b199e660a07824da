/** The code verifier and its S256 challenge (RFC 7636 section 4), made with WebCrypto. */

/** 256 bits, as RFC 7636 section 4.1 recommends. */
const VERIFIER_BYTES = 32;

/** Base64url without padding, RFC 7636 appendix A. */
function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace("=", "");
}

export function createVerifier(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(VERIFIER_BYTES)));
}

export async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}
