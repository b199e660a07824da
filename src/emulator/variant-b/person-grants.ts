// The grants of Variant B that act for a person: the code exchange and the refresh.
import { type Checks, firstRefusal, type Refusal, unless } from "../checks.js";
import { wrongVerifier } from "../oauth.js";
import type { ApiClient } from "../registrations/api-clients.js";
import { scopeSchema } from "../registrations/fields.js";
import { shown, shownUri } from "../shown.js";
import type { AuthorizationCode, Deployment, RefreshToken } from "../state.js";
import type { Authorization } from "../stores.js";

/** The fields of section 4.2. Whether a secret is among them is not shown; a confidential client must send one. */
export interface CodeExchange {
  readonly grant: "authorization_code";
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  readonly code: string;
  readonly code_verifier: string;
  readonly redirect_uri: string;
}

/** Not shown; the fields of RFC 6749 section 6, as JSON. */
export interface RefreshRequest {
  readonly grant: "refresh_token";
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  readonly refresh_token: string;
  readonly scope?: string | undefined;
}

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

const codeChecks: Checks<CodeAttempt> = {
  "client-code.client": ({ code, request }) =>
    unless(code.clientId === request.client_id, "a code of this client", "a code of another client"),
  "client-code.unspent": ({ code }) =>
    unless(code.authorizationId === undefined, "a code not yet exchanged", "a code that was exchanged"),
  "client-code.lifetime": ({ code: { expiresAt }, now }) =>
    unless(now <= expiresAt, "a code within its lifetime", `it ended ${(now - expiresAt) / 1000} s ago`),
  "client-code.redirect-uri": ({ code: { redirectUri }, request: { redirect_uri } }) =>
    unless(redirectUri === redirect_uri, shown(redirectUri), shownUri(redirect_uri)),
  "client-code.verifier": ({ code, request }) => wrongVerifier(request.code_verifier, code.codeChallenge),
};

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

const refreshChecks: Checks<RefreshAttempt> = {
  "refresh.client": ({ authorization: { clientId }, request }) =>
    unless(clientId === request.client_id, "a refresh token of this client", "one of another client"),
  "refresh.revoked": ({ authorization }) =>
    unless(!authorization.revoked, "what the person allowed", "it was revoked"),
  "refresh.reuse": ({ token }) => unless(!token.rotated, "the newest refresh token", "one that was rotated"),
  "refresh.lifetime": ({ authorization: { endsAt }, now }) =>
    unless(now < endsAt, "a login that is not over", `it ended ${(now - endsAt) / 1000} s ago`),
  "refresh.idle": ({ token: { idleAt }, now }) =>
    unless(now < idleAt, "a refresh token in use", `idle for ${(now - idleAt) / 1000} s too long`),
  "refresh.scope"({ authorization: { scopes }, request: { scope } }) {
    const isGranted = (name: string) => scopes?.has(name) ?? scopeSchema.safeParse(name).success;
    const isFine = scope === undefined || scope.split(" ").every(isGranted);
    return unless(isFine, scopes === undefined ? "scopes" : `some of ${[...scopes].join(" ")}`, shown(scope));
  },
};

/** Synchronous: of concurrent uses of one rotating refresh token exactly one is first. */
export function refresh(
  deployment: Deployment,
  client: ApiClient,
  request: RefreshRequest,
): IssuedTokens | Refusal {
  const { clock, authorizations } = deployment;
  const { rotation, reuseDetection, idleSeconds } = deployment.settings.refreshTokens;
  const now = clock();
  const token = deployment.refreshTokens.find(request.refresh_token);
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
  deployment.refreshTokens.replace(request.refresh_token, { ...token, rotated: rotation, idleAt }, now);
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
