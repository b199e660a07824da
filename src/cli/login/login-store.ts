/** The logins of the command line, as they rest in their file: to find, to remember and to forget one. */
import { stat } from "node:fs/promises";
import type { PersonAuth } from "../../auth/auth.js";
import { grantKey, readGrant } from "../../auth/stored-grant.js";
import type { TokenStore } from "../../auth/token-store.js";
import { StoreError } from "../../errors.js";
import { resumeAuth } from "../../index.js";
import { fileStore } from "../../stores/file.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { addLoginName, removeLoginName } from "./login-index.js";
import type { LoginOptions } from "./login-options.js";
import { makeStoreKey, readStoreKey } from "./store-key.js";
import { storePath } from "./store-path.js";

/** One login for each deployment, tenant and client id. */
export const cliPerson = "cli";

export interface LoginStore {
  readonly file: string;
  readonly store: TokenStore;
}

/**
 * `undefined` where there is no file yet, unless it is to be made.
 *
 * @throws ConfigurationError, StoreError when it cannot be read
 */
export async function openLoginStore(
  settings: ConnectionSettings,
  env: Readonly<Record<string, string | undefined>>,
  { isMade = false }: { readonly isMade?: boolean } = {},
): Promise<LoginStore | undefined> {
  const file = storePath(settings, env);
  if (isMade) await makeStoreKey(settings, file);
  else if (!(await exists(file))) return undefined;
  const store = fileStore(file, { key: await readStoreKey(settings, file) });
  // A file that cannot be used is told before anybody logs in.
  await store.get("");
  return { file, store };
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

export type StoredPerson = LoginOptions & { readonly store: TokenStore };

/** The login that rests there, or "over" for one that was there and has ended, or nothing. */
export async function findLogin(person: StoredPerson): Promise<PersonAuth<"B"> | "over" | undefined> {
  const auth = await resumeAuth({ ...person, person: cliPerson });
  if (auth !== undefined) return auth;
  return (await person.store.get(markOf(person))) === undefined ? undefined : "over";
}

/** Makes sure that this very login rests there, and remembers that there was one. @throws StoreError */
export async function rememberLogin(person: StoredPerson, auth: PersonAuth<"B">): Promise<void> {
  // A grant that could not be stored is served from memory: of no use to the next command, which would find none, or
  // the one of whoever logged in before.
  const stored = await readGrant(person.store, grantKey("B", auth, person.clientId, auth.person));
  if (stored?.grant.token.value !== (await auth.getAccessToken()).value)
    throw new StoreError("store_unavailable", "The login could not be stored. Log in again.");
  await person.store.set(markOf(person), "logged in");
  await addLoginName(person.store, person);
}

/** Gives whether there was one. */
export async function forgetLogin(person: StoredPerson): Promise<boolean> {
  const found = await findLogin(person);
  if (typeof found === "object") await found.forget();
  await person.store.delete(markOf(person));
  await removeLoginName(person.store, person);
  return typeof found === "object";
}

/** Outlives the grant, which ends by itself: so that its end is told, and not taken for a missing secret. */
function markOf({ baseUrl, tenantId, clientId }: StoredPerson): string {
  return JSON.stringify(["cli-login", baseUrl, tenantId ?? null, clientId]);
}
