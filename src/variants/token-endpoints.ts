/** Variant A as data: the plugin token endpoint, private_key_jwt assertions, no secrets, no refresh tokens. */
import type { Target } from "./target.js";

/** Section 4.1 of the description. The tenant id must have been checked. */
export function tokenEndpointOfA({ baseUrl, tenantId }: Target): string {
  return `${baseUrl}/api/v1/${tenantId}/external-plugin/oauth/token`;
}

/** The only accepted value (section 4.1; RFC 7523 section 2.2). */
export const clientAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** The errors of section 7.1. Every failure of the token endpoint is a 400 with one of them. */
export const errorsOfA = [
  "invalid_client",
  "invalid_grant",
  "unsupported_grant_type",
  "invalid_request",
] as const;

/** "error_description is always the same fixed text" (section 7.1); shown with and without the full stop. */
export function isFixedDescriptionOfA(description: unknown): boolean {
  return (
    description === "The token request was rejected." || description === "The token request was rejected"
  );
}

/** Section 4.2 of the description: the path holds no tenant. */
export function tokenEndpointOfB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/token`;
}

/** A path that no deployment serves: a gateway that answers everything alike answers this one alike too. */
export function siblingOfTokenEndpointB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/bivariant-detect`;
}
