// The grants that a token request can ask for, by the names of RFC 6749.

export type Grant = "client_credentials" | "authorization_code" | "refresh_token";

export const GRANTS: readonly Grant[] = ["client_credentials", "authorization_code", "refresh_token"];

/** Undefined for what is none of them. */
export function asGrant(value: unknown): Grant | undefined {
  return GRANTS.find((grant) => grant === value);
}
