// The grants of Variant B that act for a person: the code exchange and the refresh.
import { type Check, firstRefusal, type Refusal } from "../checks.js";
import { verifierFault } from "../oauth.js";
import type { ApiClient } from "../registrations/clients.js";
import { scopeSchema } from "../registrations/fields.js";
import { shown, shownUri } from "../shown.js";
import type { AuthorizationCode, Deployment, RefreshToken } from "../state.js";
import type { Authorization } from "../stores.js";
import type { CodeExchange, RefreshRequest } from "./token-request.js";

/** The tokens of one answer. */
export interface IssuedTokens {
  readonly tenantId: string;
  readonly accessToken: string;
  /** Undefined: the old one stays valid, or the grant has none. */
  readonly refreshToken?: string | undefined;
}

interface CodeAttempt {
  readonly code: AuthorizationCode;
  readonly request: CodeExchange;
  readonly now: number;
}

const codeChecks: readonly Check<CodeAttempt>[] = [
  {
    rule: "client-code.client",
    find: ({ code, request }) =>
      code.clientId === request.clientId
        ? undefined
        : { expected: "a code of this client", actual: "a code of another client" },
  },
  {
    rule: "client-code.unspent",
    find: ({ code }) =>
      code.authorizationId === undefined
        ? undefined
        : { expected: "a code not yet exchanged", actual: "a code that was exchanged" },
  },
  {
    rule: "client-code.lifetime",
    find: ({ code, now }) =>
      now > code.expiresAt
        ? {
            expected: "a code within its lifetime",
            actual: `it ended ${(now - code.expiresAt) / 1000} s ago`,
          }
        : undefined,
  },
  {
    rule: "client-code.redirect-uri",
    find: ({ code, request }) =>
      code.redirectUri === request.redirectUri
        ? undefined
        : { expected: shown(code.redirectUri), actual: shownUri(request.redirectUri) },
  },
  {
    rule: "client-code.verifier",
    find({ code, request }) {
      const actual = verifierFault(request.codeVerifier, code.codeChallenge);
      return actual === undefined
        ? undefined
        : { expected: "the verifier of the request's challenge", actual };
    },
  },
];

/**
 * Synchronous: of concurrent exchanges of one code exactly one is first. A failed attempt leaves the code as it was:
 * only Variant A's description spends it on failure.
 */
export function exchangeCode(
  deployment: Deployment,
  client: ApiClient,
  request: CodeExchange,
): IssuedTokens | Refusal {
  const { clock, authorizationCodes, authorizations, switches } = deployment;
  const now = clock();
  const code = authorizationCodes.find(request.code);
  if (code === undefined) {
    const actual = "a code that was not handed out";
    return { rule: "client-code.known", expected: "a code from the authorization endpoint", actual };
  }
  const refusal = firstRefusal(switches, codeChecks, { code, request, now });
  if (refusal !== undefined) {
    // RFC 6749 section 4.1.2: "SHOULD revoke (when possible) all tokens previously issued based on that code".
    const isReuse = refusal.rule === "client-code.unspent" && code.authorizationId !== undefined;
    if (isReuse) authorizations.revoke(code.authorizationId, now);
    return refusal;
  }
  const { authorizationId, keepUntil, tokens } = openAuthorization(deployment, client, code, now);
  authorizationCodes.replace(request.code, { ...code, authorizationId }, now, keepUntil);
  return tokens;
}

interface RefreshAttempt {
  readonly token: RefreshToken;
  readonly authorization: Authorization;
  readonly request: RefreshRequest;
  readonly now: number;
}

const refreshChecks: readonly Check<RefreshAttempt>[] = [
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
export function refresh(
  deployment: Deployment,
  client: ApiClient,
  request: RefreshRequest,
): IssuedTokens | Refusal {
  const { clock, authorizations } = deployment;
  const { rotation, reuseDetection, idleSeconds } = deployment.settings.refreshTokens;
  const now = clock();
  const token = deployment.refreshTokens.find(request.refreshToken);
  const authorization = token && authorizations.find(token.authorizationId);
  if (token === undefined || authorization === undefined) {
    const expected = `a refresh token of ${shown(client.clientId)}`;
    return { rule: "refresh.known", expected, actual: "a refresh token that was not issued" };
  }
  const refusal = firstRefusal(deployment.switches, refreshChecks, { token, authorization, request, now });
  if (refusal !== undefined) {
    // RFC 9700 section 4.14.2: one of its two users stole it, and the server cannot tell which.
    if (refusal.rule === "refresh.reuse" && reuseDetection) {
      authorizations.revoke(token.authorizationId, now);
    }
    return refusal;
  }
  const idleAt = now + idleSeconds * 1000;
  deployment.refreshTokens.replace(request.refreshToken, { ...token, rotated: rotation, idleAt }, now);
  const scopes = request.scope === undefined ? authorization.scopes : new Set(request.scope.split(" "));
  const refreshToken = rotation
    ? mintRefreshToken(deployment, token.authorizationId, authorization, now)
    : undefined;
  return { ...mintAccessToken(deployment, token.authorizationId, authorization, now, scopes), refreshToken };
}

/** Issues both tokens of a login, and opens the authorization that ends them together. */
function openAuthorization(
  deployment: Deployment,
  { clientId }: ApiClient,
  { tenantId, userId, scopes }: AuthorizationCode,
  now: number,
): { authorizationId: string; keepUntil: number; tokens: IssuedTokens } {
  const { authorizations, settings } = deployment;
  const endsAt = now + settings.refreshTokens.lifetimeSeconds * 1000;
  const granted = { tenantId, userId, clientId, scopes, revoked: false, endsAt };
  // Longer than any of its tokens: a forgotten revocation would revive a token, and a second exchange of the code
  // revokes them all.
  const keepUntil = endsAt + settings.tokenLifetimeSeconds * 1000;
  const authorizationId = authorizations.open(granted, keepUntil, now);
  const refreshToken = mintRefreshToken(deployment, authorizationId, granted, now);
  const tokens = { ...mintAccessToken(deployment, authorizationId, granted, now), refreshToken };
  return { authorizationId, keepUntil, tokens };
}

/** `scopes`, if given, narrow the grant for this access token alone (RFC 6749 section 6). */
function mintAccessToken(
  { accessTokens, settings }: Deployment,
  authorizationId: string,
  { tenantId, clientId, userId, scopes: granted }: Authorization,
  now: number,
  scopes: ReadonlySet<string> | undefined = granted,
): IssuedTokens {
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = { variant: "B", tenantId, clientId, userId, authorizationId, scopes, expiresAt } as const;
  return { tenantId, accessToken: accessTokens.mint(token, expiresAt, now) };
}

function mintRefreshToken(
  { refreshTokens, settings }: Deployment,
  authorizationId: string,
  { endsAt }: Authorization,
  now: number,
): string {
  const idleAt = now + settings.refreshTokens.idleSeconds * 1000;
  // Kept after its rotation, as long as there are access tokens to end: a reuse must not look like an unknown token.
  const keepUntil = endsAt + settings.tokenLifetimeSeconds * 1000;
  return refreshTokens.mint({ authorizationId, rotated: false, idleAt }, keepUntil, now);
}
