// The grants that a token request can ask for, by the names of RFC 6749.
import { shown } from "./shown.js";

export type Grant = "client_credentials" | "authorization_code" | "refresh_token";

/** A name, or the URN of an extension (RFC 6749 section 4.5). */
const GRANT_TYPE = /^([a-z_]+|urn:[\w:.-]+)$/;

export const GRANTS: readonly Grant[] = ["client_credentials", "authorization_code", "refresh_token"];

/** Undefined for what is none of them. */
export function asGrant(value: unknown): Grant | undefined {
  return GRANTS.find((grant) => grant === value);
}

/** For the log: what is no grant's name may be a client secret in the wrong field. */
export function shownGrantType(value: unknown): string {
  if (typeof value !== "string" || GRANT_TYPE.test(value)) return shown(value);
  return `a string of length ${value.length}`;
}
