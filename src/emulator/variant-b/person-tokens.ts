// The tokens that act for a person who logged in.
import type { Deployment } from "../deployment.js";
import type { Authorization } from "../stores/authorizations.js";

/** What an answer carries. */
export interface PersonTokens {
  readonly tenantId: string;
  readonly accessToken: string;
  /** Undefined: the old one stays. */
  readonly refreshToken?: string | undefined;
}

/** What a refresh token stands for. */
export interface RefreshToken {
  readonly authorizationId: string;
  /** Whether a newer one took its place. */
  readonly rotated: boolean;
  /** Epoch milliseconds; from this instant on it has been idle for too long. */
  readonly idleAt: number;
}

/** `scopes`, where given, narrow what was granted for this access token alone (RFC 6749 section 6). */
export function mintTokens(
  { accessTokens, tokenLifetimeSeconds }: Deployment,
  authorizationId: string,
  { tenantId, clientId, userId, scopes: granted }: Authorization,
  now: number,
  scopes: ReadonlySet<string> | undefined = granted,
): PersonTokens {
  const expiresAt = now + tokenLifetimeSeconds * 1000;
  const token = { variant: "B", tenantId, clientId, userId, authorizationId, scopes, expiresAt } as const;
  return { tenantId, accessToken: accessTokens.mint(token, now) };
}

export function mintRefreshToken(
  { refreshTokens, refresh, tokenLifetimeSeconds }: Deployment,
  authorizationId: string,
  { endsAt }: Authorization,
  now: number,
): string {
  const token = { authorizationId, rotated: false, idleAt: now + refresh.idleMs };
  // Kept after its rotation, and for as long as there are access tokens to end: so a reuse is told from a stranger.
  return refreshTokens.mint(token, endsAt + tokenLifetimeSeconds * 1000, now);
}
