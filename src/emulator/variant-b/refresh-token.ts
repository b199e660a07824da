// The refresh of Variant B: a new access token without the person, by rotation or without.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { scopeSchema } from "../registrations/fields.js";
import { shown } from "../shown.js";
import type { Deployment, RefreshToken } from "../state.js";
import type { Authorization } from "../stores.js";
import { mintRefreshToken, mintTokens, type PersonTokens, tokensOfAnybody } from "./person-tokens.js";
import type { RefreshRequest } from "./read-client-request.js";

interface Attempt {
  readonly token: RefreshToken;
  readonly authorization: Authorization;
  readonly request: RefreshRequest;
  readonly now: number;
}

const checks: readonly Check<Attempt>[] = [
  {
    rule: "refresh.client",
    find: ({ authorization, request }) =>
      authorization.clientId === request.clientId
        ? undefined
        : { expected: "a refresh token of this client", actual: "one of another client" },
  },
  {
    rule: "refresh.revoked",
    find: ({ authorization }) =>
      authorization.revoked ? { expected: "what the person allowed", actual: "it was revoked" } : undefined,
  },
  {
    rule: "refresh.reuse",
    find: ({ token }) =>
      token.rotated ? { expected: "the newest refresh token", actual: "one that was rotated" } : undefined,
  },
  {
    rule: "refresh.lifetime",
    find: ({ authorization: { endsAt }, now }) =>
      now >= endsAt
        ? { expected: "a login that is not over", actual: `it ended ${(now - endsAt) / 1000} s ago` }
        : undefined,
  },
  {
    rule: "refresh.idle",
    find: ({ token: { idleAt }, now }) =>
      now >= idleAt
        ? { expected: "a refresh token in use", actual: `idle for ${(now - idleAt) / 1000} s too long` }
        : undefined,
  },
  {
    rule: "refresh.scope",
    find({ authorization: { scopes }, request: { scope } }) {
      const isGranted = (name: string) => scopes?.has(name) ?? scopeSchema.safeParse(name).success;
      if (scope === undefined || scope.split(" ").every(isGranted)) return undefined;
      const expected = scopes === undefined ? "scopes" : `some of ${[...scopes].join(" ")}`;
      return { expected, actual: shown(scope) };
    },
  },
];

/** Synchronous: of concurrent uses of one rotating refresh token exactly one is first. */
export function refreshTokens(
  deployment: Deployment,
  client: ApiClient,
  request: RefreshRequest,
): PersonTokens | Refusal {
  const { clock, authorizations } = deployment;
  const refresh = deployment.settings.refreshTokens;
  const now = clock();
  const token = deployment.refreshTokens.find(request.refreshToken);
  const authorization = token && authorizations.find(token.authorizationId);
  if (token === undefined || authorization === undefined) {
    const actual = "a refresh token that was not issued";
    const finding = { expected: `a refresh token of ${shown(client.clientId)}`, actual };
    const isRuled = deployment.switches.isEnforced("refresh.known");
    const anybody = isRuled ? undefined : tokensOfAnybody(deployment, client, now);
    return anybody ?? { rule: "refresh.known", ...finding };
  }
  const refusal = firstRefusal(deployment.switches, checks, { token, authorization, request, now });
  if (refusal !== undefined) {
    // RFC 9700 section 4.14.2: one of the two who used it is a thief, and nobody can tell which.
    if (refusal.rule === "refresh.reuse" && refresh.reuseDetection) {
      authorizations.revoke(token.authorizationId, now);
    }
    return refusal;
  }
  const idleAt = now + refresh.idleSeconds * 1000;
  deployment.refreshTokens.replace(
    request.refreshToken,
    { ...token, rotated: refresh.rotation, idleAt },
    now,
  );
  const scopes = request.scope === undefined ? authorization.scopes : new Set(request.scope.split(" "));
  const refreshToken = refresh.rotation
    ? mintRefreshToken(deployment, token.authorizationId, authorization, now)
    : undefined;
  return { ...mintTokens(deployment, token.authorizationId, authorization, now, scopes), refreshToken };
}
