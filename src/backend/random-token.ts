/** Random tokens of the backend's own, what is stored of them, and how they are compared. */

/** 256 bits: out of reach for guessing (RFC 6749 section 10.10 asks for 128 at least, 160 better). */
const tokenBytes = 32;
/** 32 bytes in base64url without padding (RFC 4648 section 5). */
const tokenShape = /^[A-Za-z0-9_-]{43}$/;

export function randomToken(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(tokenBytes)));
}

/** Whether a text could be one of ours: anything else is refused before the store is asked. */
export function isTokenShaped(value: string): boolean {
  return tokenShape.test(value);
}

/** What is stored instead of a token: whoever reads the store can use none of them. */
export async function hashOf(...parts: readonly string[]): Promise<string> {
  const text = parts.length === 1 ? (parts[0] as string) : JSON.stringify(parts);
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(text))));
}

/**
 * A second token that only who holds the first can make (HMAC-SHA256 under it), so that it is bound to it without being
 * stored, and tells nothing of it.
 */
export async function tokenBoundTo(token: string, purpose: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytesOf(token), algorithm, false, ["sign"]);
  return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, bytesOf(purpose))));
}

/** Compares without telling by its duration how much of the guess was right. */
export function areEqual(given: string, expected: string): boolean {
  const [left, right] = [bytesOf(given), bytesOf(expected)];
  let difference = left.length ^ right.length;
  for (let at = 0; at < right.length; at++) difference |= (left[at] ?? 0) ^ (right[at] ?? 0);
  return difference === 0;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function base64url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
