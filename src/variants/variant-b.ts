/** Variant B as data: the general token endpoint with JSON bodies, client secrets and refresh tokens. */
import type { Target } from "./variant.js";

/** Section 4.2 of the description: the path holds no tenant. */
export function tokenEndpointOfB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/token`;
}

/** A path that no deployment serves: a gateway that answers everything alike answers this one alike too. */
export function siblingOfTokenEndpointB({ baseUrl }: Pick<Target, "baseUrl">): string {
  return `${baseUrl}/v1/auth/bivariant-detect`;
}
