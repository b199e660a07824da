/** Which logins rest in a store: a store finds by name only, and whoever names another tenant must be told of it. */
import type { TokenStore } from "../../auth/token-store.js";

/** Whose login it is, as it was named at `bivariant login`. */
export interface LoginName {
  readonly baseUrl: string;
  readonly tenantId?: string | undefined;
  readonly clientId: string;
}

const indexKey = JSON.stringify(["cli-logins"]);
/** Nobody has as many; beyond these the oldest are no longer told of. */
const mostNames = 1_000;

/** The logins of one client at one deployment, whatever the tenant. @throws StoreError */
export async function loginsOf(store: TokenStore, { baseUrl, clientId }: LoginName): Promise<LoginName[]> {
  const names = await read(store);
  return names.filter((one) => one.baseUrl === baseUrl && one.clientId === clientId);
}

/** @throws StoreError */
export function addLoginName(store: TokenStore, name: LoginName): Promise<void> {
  return change(store, (names) => [...names.filter((one) => !isSame(one, name)), name].slice(-mostNames));
}

/** @throws StoreError */
export function removeLoginName(store: TokenStore, name: LoginName): Promise<void> {
  return change(store, (names) => names.filter((one) => !isSame(one, name)));
}

export function isSame(left: LoginName, right: LoginName): boolean {
  return (
    left.baseUrl === right.baseUrl &&
    left.clientId === right.clientId &&
    (left.tenantId ?? "") === (right.tenantId ?? "")
  );
}

function change(store: TokenStore, to: (names: LoginName[]) => LoginName[]): Promise<void> {
  return store.lock(indexKey, async () => {
    const names = to(await read(store)).map(({ baseUrl, tenantId, clientId }) => ({
      ...{ baseUrl, tenantId, clientId },
    }));
    await store.set(indexKey, JSON.stringify(names));
  });
}

async function read(store: TokenStore): Promise<LoginName[]> {
  try {
    const names: unknown = JSON.parse((await store.get(indexKey))?.value ?? "[]");
    return Array.isArray(names) ? names : [];
  } catch (fault) {
    // What is torn there is only a list of names; a store that fails is told by whoever needs it.
    if (fault instanceof SyntaxError) return [];
    throw fault;
  }
}
