/** What a person granted, as it rests in a store: the token and, in Variant B, what renews it. */
import { StoreError, type Variant } from "../errors.js";
import type { Target } from "../variants/target.js";
import { type AccessToken, createAccessToken } from "./access-token.js";
import type { StoredValue, TokenStore } from "./token-store.js";

export interface PersonGrant {
  readonly token: AccessToken;
  /** Of the launch or login that it came from, through all its renewals: tells it from another's under the same name. */
  readonly id?: string | undefined;
  /** When that was, epoch milliseconds. */
  readonly since?: number | undefined;
  readonly refreshToken?: string | undefined;
  /** The refresh token was sent then, epoch milliseconds, and what came of it is not known yet, or never will be. */
  readonly sentAt?: number | undefined;
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

/** Whether two grants come from the same launch or login. */
export function isSameGrant(left: PersonGrant, right: PersonGrant): boolean {
  return left.id === right.id;
}

/** @throws StoreError, also `store_corrupt` for what is no grant */
export async function readGrant(store: TokenStore, key: string): Promise<StoredGrant | undefined> {
  const found = await findGrant(store, key);
  if (found === undefined) return undefined;
  const { grant, version } = found;
  if (grant !== undefined) return { grant, version };
  throw new StoreError(
    "store_corrupt",
    "What rests in the store under this person is no grant. Delete it and log in again.",
  );
}

/** For whoever replaces or deletes what rests there, even if it is no grant. @throws StoreError */
export async function findGrant(
  store: TokenStore,
  key: string,
): Promise<{ readonly grant: PersonGrant | undefined; readonly version: string } | undefined> {
  const entry = await store.get(key);
  return entry && { grant: parse(entry), version: entry.version };
}

/**
 * Writes over `ifVersion` only (`null`: only where there is none; left out: over anything); gives the new version.
 *
 * @throws StoreError `store_conflict` when somebody else wrote or forgot it first
 */
export async function writeGrant(
  store: TokenStore,
  key: string,
  { token, ...grant }: PersonGrant,
  ifVersion?: string | null,
): Promise<string> {
  const value = JSON.stringify({ token: { ...token, value: token.value }, ...grant });
  // How long a refresh token lives is not shown: with one the entry stays until it is refused or forgotten.
  const expiry = grant.refreshToken === undefined ? { expiresAt: token.expiresAt } : {};
  const over = ifVersion === undefined ? {} : { ifVersion };
  const { version } = await store.set(key, value, { ...over, ...expiry });
  return version;
}

function parse({ value }: StoredValue): PersonGrant | undefined {
  try {
    const { token, refreshToken, isOutcomeUnknown, sentAt, id, since } = JSON.parse(value);
    const isToken = typeof token.value === "string" && typeof token.expiresAt === "number";
    const isRefresh = refreshToken === undefined || typeof refreshToken === "string";
    if (isToken && isRefresh)
      return {
        ...{ token: createAccessToken(token), refreshToken, isOutcomeUnknown: isOutcomeUnknown === true },
        ...(typeof sentAt === "number" && { sentAt }),
        ...{ id: typeof id === "string" ? id : undefined, since: Number(since) || 0 },
      };
  } catch {
    // What the parser says of it may quote it.
  }
  return undefined;
}
