/** A token as it rests in a store, shared by every process of one identity. */
import { isStoreError } from "../errors.js";
import { type TimeLimitOptions, waitWithin } from "../http/time-limit.js";
import { type AccessToken, createAccessToken } from "./access-token.js";
import type { TokenStore } from "./token-store.js";

/** The token under a key; `undefined` when there is none, when it cannot be read, or when the store fails or is silent. */
export async function readStoredToken(
  store: TokenStore | undefined,
  key: string,
  limit: TimeLimitOptions,
  failed: (code: string) => void,
): Promise<AccessToken | undefined> {
  if (store === undefined) return undefined;
  try {
    const entry = await waitWithin(limit, async () => store.get(key));
    if (entry === undefined) return undefined;
    const fields = JSON.parse(entry.value) as Record<string, unknown>;
    const { value, expiresAt, issuedAt } = fields;
    if (typeof value !== "string" || value === "") return undefined;
    if (typeof expiresAt !== "number" || typeof issuedAt !== "number") return undefined;
    return createAccessToken({ ...fields, value, expiresAt, issuedAt } as Parameters<
      typeof createAccessToken
    >[0]);
  } catch (error) {
    failed(isStoreError(error) ? error.code : "store_unavailable");
    return undefined;
  }
}

/** Writes a token. A machine's token can be had again, so a failing store is told and harms nobody. */
export async function writeStoredToken(
  store: TokenStore | undefined,
  key: string,
  token: AccessToken,
  failed: (code: string) => void,
): Promise<void> {
  if (store === undefined) return;
  try {
    await store.set(key, JSON.stringify({ ...token, value: token.value }), { expiresAt: token.expiresAt });
  } catch (error) {
    failed(isStoreError(error) ? error.code : "store_unavailable");
  }
}
