// The tokens that act for a person who logged in.

import type { ApiClient } from "../registrations/api-clients.js";
import type { Deployment } from "../state.js";
import type { Authorization } from "../stores.js";

/** What an answer carries. */
export interface PersonTokens {
  readonly tenantId: string;
  readonly accessToken: string;
  /** Undefined: the old one stays. */
  readonly refreshToken?: string | undefined;
}

/** Whom the tokens act for, and with what; undefined scopes: whatever the person has. */
export type PersonGrant = Pick<Authorization, "tenantId" | "userId" | "scopes">;

/** What a login is exchanged for: both tokens, and the authorization that ends them as one. */
export function openAuthorization(
  deployment: Deployment,
  { clientId }: ApiClient,
  { tenantId, userId, scopes }: PersonGrant,
  now: number,
): { authorizationId: string; keepUntil: number; tokens: PersonTokens } {
  const { authorizations, settings } = deployment;
  const endsAt = now + settings.refreshTokens.lifetimeSeconds * 1000;
  const granted = { tenantId, userId, clientId, scopes, revoked: false, endsAt };
  // Longer than any token of it: a token whose revocation was forgotten would live again, and the code's second
  // exchange ends them all.
  const keepUntil = endsAt + settings.tokenLifetimeSeconds * 1000;
  const authorizationId = authorizations.open(granted, keepUntil, now);
  const refreshToken = mintRefreshToken(deployment, authorizationId, granted, now);
  const tokens = { ...mintTokens(deployment, authorizationId, granted, now), refreshToken };
  return { authorizationId, keepUntil, tokens };
}

/**
 * For a code or a refresh token that nobody knows, where the rule that says so is off: the first operator who may log in
 * to the client. Undefined: there is none.
 */
export function tokensOfAnybody(
  deployment: Deployment,
  client: ApiClient,
  now: number,
): PersonTokens | undefined {
  const [person] = deployment.operators.list(client.tenantId);
  if (person === undefined) return undefined;
  const { tenantId, userId } = person;
  return openAuthorization(deployment, client, { tenantId, userId, scopes: client.scopes }, now).tokens;
}

/** `scopes`, where given, narrow what was granted for this access token alone (RFC 6749 section 6). */
export function mintTokens(
  { accessTokens, settings }: Deployment,
  authorizationId: string,
  { tenantId, clientId, userId, scopes: granted }: Authorization,
  now: number,
  scopes: ReadonlySet<string> | undefined = granted,
): PersonTokens {
  const expiresAt = now + settings.tokenLifetimeSeconds * 1000;
  const token = { variant: "B", tenantId, clientId, userId, authorizationId, scopes, expiresAt } as const;
  return { tenantId, accessToken: accessTokens.mint(token, now) };
}

export function mintRefreshToken(
  { refreshTokens, settings }: Deployment,
  authorizationId: string,
  { endsAt }: Authorization,
  now: number,
): string {
  const token = { authorizationId, rotated: false, idleAt: now + settings.refreshTokens.idleSeconds * 1000 };
  // Kept after its rotation, and for as long as there are access tokens to end: so a reuse is told from a stranger.
  return refreshTokens.mint(token, endsAt + settings.tokenLifetimeSeconds * 1000, now);
}
