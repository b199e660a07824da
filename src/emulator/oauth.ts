// The grants that a token request can ask for, by the names of RFC 6749.

import { createHash } from "node:crypto";
import { shown } from "./shown.js";

export type Grant = "client_credentials" | "authorization_code" | "refresh_token";

/** A name, or the URN of an extension (RFC 6749 section 4.5). */
const GRANT_TYPE = /^([a-z_]+|urn:[\w:.-]+)$/;

export const GRANTS: readonly Grant[] = ["client_credentials", "authorization_code", "refresh_token"];

/** Undefined for any other value. */
export function asGrant(value: unknown): Grant | undefined {
  return GRANTS.find((grant) => grant === value);
}

/** For the log: a value that is not a grant's name may be a client secret in the wrong field. */
export function shownGrantType(value: unknown): string {
  if (typeof value !== "string" || GRANT_TYPE.test(value)) return shown(value);
  return `a string of length ${value.length}`;
}

/** A SHA-256 in base64url without padding (RFC 7636 section 4.2). */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** RFC 7636 section 4.1: 43 to 128 unreserved characters. */
const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export function isCodeChallenge(value: unknown): value is string {
  return typeof value === "string" && S256_CHALLENGE.test(value);
}

/** How the verifier fails the challenge, in words that are safe to log; undefined if it is the right one. */
export function verifierFault(codeVerifier: string | undefined, codeChallenge: string): string | undefined {
  if (codeVerifier === undefined) return "absent";
  if (!CODE_VERIFIER.test(codeVerifier)) return "not 43 to 128 unreserved characters";
  const challenge = createHash("sha256").update(codeVerifier).digest("base64url");
  return challenge === codeChallenge ? undefined : "a verifier of another challenge";
}
