/** What a person granted, as it rests in a store: the token and, in Variant B, what renews it. */
import { StoreError, type Variant } from "../errors.js";
import type { Target } from "../variants/variant.js";
import { type AccessToken, createAccessToken } from "./access-token.js";
import type { StoredValue, TokenStore } from "./token-store.js";

export interface PersonGrant {
  readonly token: AccessToken;
  readonly refreshToken?: string | undefined;
  /** The refresh token was sent and no answer came: whether it is spent nobody knows. */
  readonly isOutcomeUnknown?: boolean | undefined;
}

export interface StoredGrant {
  readonly grant: PersonGrant;
  readonly version: string;
}

/** Whose grant it is: one key in the store. */
export function grantKey(variant: Variant, target: Target, clientId: string, person: string): string {
  return JSON.stringify(["grant", variant, target.baseUrl, target.tenantId, clientId, person]);
}

/** @throws StoreError, also `store_corrupt` for what is no grant */
export async function readGrant(store: TokenStore, key: string): Promise<StoredGrant | undefined> {
  const entry = await store.get(key);
  return entry === undefined ? undefined : { grant: parse(entry), version: entry.version };
}

/**
 * Writes over `ifVersion` only (`null`: only where there is none); gives the new version.
 *
 * @throws StoreError `store_conflict` when somebody else wrote or forgot it first
 */
export async function writeGrant(
  store: TokenStore,
  key: string,
  { token, refreshToken, isOutcomeUnknown }: PersonGrant,
  ifVersion: string | null,
): Promise<string> {
  const value = JSON.stringify({ token: { ...token, value: token.value }, refreshToken, isOutcomeUnknown });
  // How long a refresh token lives is not shown: with one the entry stays until it is refused or forgotten.
  const expiry = refreshToken === undefined ? { expiresAt: token.expiresAt } : {};
  const { version } = await store.set(key, value, { ifVersion, ...expiry });
  return version;
}

function parse({ value }: StoredValue): PersonGrant {
  try {
    const { token, refreshToken, isOutcomeUnknown } = JSON.parse(value);
    const isToken = typeof token.value === "string" && typeof token.expiresAt === "number";
    const isRefresh = refreshToken === undefined || typeof refreshToken === "string";
    if (isToken && isRefresh)
      return { token: createAccessToken(token), refreshToken, isOutcomeUnknown: isOutcomeUnknown === true };
  } catch {
    // Told below: what the parser says of it may quote it.
  }
  throw new StoreError(
    "store_corrupt",
    "What rests in the store under this person is no grant. Delete it and log in again.",
  );
}
