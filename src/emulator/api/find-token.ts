// Finds the token that a call presents, by the rules that hold for a bearer whatever the route.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { shown } from "../shown.js";
import type { Deployment } from "../state.js";
import type { IssuedToken } from "../stores.js";

/** RFC 6750 section 2.1; the scheme's name is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** What a call presents, and where. */
interface Presented {
  readonly token: IssuedToken;
  /** Of the path: Variant B's paths name none, there the token alone decides. */
  readonly tenantId: string | undefined;
  /** How it was revoked; undefined: it was not. */
  readonly revoked: string | undefined;
  readonly now: number;
}

const checks: readonly Check<Presented>[] = [
  {
    rule: "bearer.lifetime",
    find({ token, now }) {
      const lateMs = now - token.expiresAt;
      if (lateMs < 0) return undefined;
      return { expected: "a token that has not expired", actual: `it expired ${lateMs / 1000} s ago` };
    },
  },
  {
    rule: "bearer.revoked",
    find: ({ revoked }) =>
      revoked === undefined ? undefined : { expected: "a token that was not revoked", actual: revoked },
  },
  {
    rule: "bearer.tenant",
    find: ({ token, tenantId }) =>
      tenantId === undefined || tenantId === token.tenantId
        ? undefined
        : { expected: `a token of ${shown(tenantId)}`, actual: "a token of another tenant" },
  },
];

/** Undefined: a call without a token, where the rules that want one are off. */
export function findToken(
  { accessTokens, authorizations, clock, switches }: Deployment,
  call: { variant: "A" | "B"; tenantId: string | undefined; authorization: string | null },
): IssuedToken | Refusal | undefined {
  const { variant, tenantId, authorization } = call;
  const value = BEARER.exec(authorization ?? "")?.[1];
  if (value === undefined) {
    const actual = authorization === null ? "no Authorization header" : "another Authorization header";
    const expected = "Authorization: Bearer <ACCESS_TOKEN>";
    return switches.refusal("bearer.present", { expected, actual });
  }
  const token = accessTokens.find(value);
  if (token?.variant !== variant) {
    const actual = token === undefined ? "an unknown token" : `a token of Variant ${token.variant}`;
    const refusal = switches.refusal("bearer.known", { expected: `a token of Variant ${variant}`, actual });
    if (refusal !== undefined || token === undefined) return refusal;
  }
  const revoked = revocation(authorizations, token);
  return firstRefusal(switches, checks, { token, tenantId, revoked, now: clock() }) ?? token;
}

/** A plugin that is gone is a matter of the rule about plugins. */
function revocation(
  authorizations: Deployment["authorizations"],
  { authorizationId, unregistered }: IssuedToken,
): string | undefined {
  if (unregistered !== undefined && unregistered !== "plugin") return `its ${unregistered} was unregistered`;
  const isRevoked = authorizationId !== undefined && authorizations.find(authorizationId)?.revoked;
  return isRevoked === true ? "what the person allowed was revoked" : undefined;
}
