// Finds the token that a call presents, by the rules that hold for a bearer whatever the route.
import type { Deployment } from "../deployment.js";
import type { Refusal } from "../refusal.js";
import { shown } from "../shown.js";
import type { IssuedToken } from "../stores/access-tokens.js";

/** RFC 6750 section 2.1; the scheme's name is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** `tenantId` is that of the path: Variant B's paths name none, there the token alone decides. */
export function findToken(
  { accessTokens, authorizations, clock }: Deployment,
  call: { variant: "A" | "B"; tenantId: string | undefined; authorization: string | null },
): IssuedToken | Refusal {
  const { variant, tenantId, authorization } = call;
  const value = BEARER.exec(authorization ?? "")?.[1];
  if (value === undefined) {
    const actual = authorization === null ? "no Authorization header" : "another Authorization header";
    return { rule: "bearer.present", expected: "Authorization: Bearer <ACCESS_TOKEN>", actual };
  }
  const token = accessTokens.find(value);
  if (token?.variant !== variant) {
    const actual = token === undefined ? "an unknown token" : `a token of Variant ${token.variant}`;
    return { rule: "bearer.known", expected: `a token of Variant ${variant}`, actual };
  }
  const lateMs = clock() - token.expiresAt;
  if (lateMs >= 0) {
    const actual = `it expired ${lateMs / 1000} s ago`;
    return { rule: "bearer.lifetime", expected: "a token that has not expired", actual };
  }
  const { authorizationId } = token;
  if (authorizationId !== undefined && authorizations.find(authorizationId)?.revoked) {
    return { rule: "bearer.revoked", expected: "what the person allowed", actual: "it was revoked" };
  }
  if (tenantId !== undefined && tenantId !== token.tenantId) {
    return {
      rule: "bearer.tenant",
      expected: `a token of ${shown(tenantId)}`,
      actual: "a token of another tenant",
    };
  }
  return token;
}
