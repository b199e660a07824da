/** The stored logins of the command line: an encrypted file, its key, and the list of the logins in it. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { ConfigurationError, StoreError } from "../../errors.js";
import { type PersonAuth, type PersonAuthOptions, resumeAuth, type TokenStore } from "../../index.js";
import { fileStore } from "../../stores/file.js";
import { readSecret } from "../credentials.js";
import type { Environment } from "../output.js";
import { namesOf, type Settings } from "../settings.js";

/** All logins have this person. They differ only by deployment, tenant and client id. */
export const cliPerson = "cli";

/** The default is the state folder of the XDG specification, which ignores a relative XDG_STATE_HOME. */
export function storePath({ storeFile }: Settings, env: Environment): string {
  if (storeFile !== undefined) return resolve(storeFile);
  const { XDG_STATE_HOME: given = "", HOME: home = "" } = env;
  const state = isAbsolute(given) ? given : join(home || homedir(), ".local", "state");
  return join(state, "bivariant", "grants.json");
}

/** Opens the store; undefined if its file does not exist. @throws ConfigurationError, StoreError if it cannot be read */
export async function openLoginStore(settings: Settings, env: Environment): Promise<TokenStore | undefined> {
  const file = storePath(settings, env);
  return existsSync(file) ? openStore(file, settings) : undefined;
}

/** Opens the store, and makes its folder and its key if necessary. @throws ConfigurationError, StoreError */
export async function createLoginStore(settings: Settings, env: Environment): Promise<TokenStore> {
  const file = storePath(settings, env);
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if ((settings.storeKey ?? settings.storeKeyFile) === undefined) await createKey(`${file}.key`);
  } catch (fault) {
    throw invalidKey(`${file}.key`, `cannot be created (${codeOf(fault)})`);
  }
  return openStore(file, settings);
}

async function openStore(file: string, settings: Settings): Promise<TokenStore> {
  const key = (await readSecret(settings, "storeKey")) ?? (await readKey(`${file}.key`));
  const store = fileStore(file, { key });
  // If the file cannot be used, this fails now, before a person logs in.
  await store.get("");
  return store;
}

async function createKey(path: string): Promise<void> {
  const key = `${randomBytes(32).toString("base64")}\n`;
  await writeFile(path, key, { mode: 0o600, flag: "wx" }).catch((fault) => {
    if (codeOf(fault) !== "EEXIST") throw fault;
  });
}

async function readKey(path: string): Promise<string> {
  const reading = Promise.all([stat(path), readFile(path, "utf8")]);
  const [{ mode }, key] = await reading.catch((fault) => {
    throw invalidKey(path, `cannot be read (${codeOf(fault)})`);
  });
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    throw invalidKey(path, "can be read by other users; run chmod 600 on it");
  return key;
}

function invalidKey(path: string, problem: string): ConfigurationError {
  return new ConfigurationError(
    "credential_invalid",
    `The key of the stored logins ${problem}: ${path}. To use another key, set ${namesOf("storeKeyFile")}.`,
    { option: "storeKeyFile", variant: "B" },
  );
}

function codeOf(fault: unknown): string | undefined {
  return (fault as NodeJS.ErrnoException).code;
}

export interface LoginName {
  readonly baseUrl: string;
  readonly tenantId?: string | undefined;
  readonly clientId: string;
}

export type StoredPerson = PersonAuthOptions<"B"> & LoginName & { readonly store: TokenStore };

/**
 * Finds the stored login, or else the names of the stored logins of its client at its deployment: for other tenants,
 * or its own if it is over. A grant is deleted when it ends, but its name stays in the list until the logout.
 *
 * @throws StoreError
 */
export async function findLogin(person: StoredPerson): Promise<PersonAuth<"B"> | LoginName[]> {
  const auth = await resumeAuth({ ...person, person: cliPerson });
  if (auth !== undefined) return auth;
  const names = await readNames(person.store);
  return names.filter((one) => isSameLogin({ ...one, tenantId: person.tenantId }, person));
}

/** Checks that the store holds this login, and adds it to the list. @throws StoreError */
export async function rememberLogin(person: StoredPerson, auth: PersonAuth<"B">): Promise<void> {
  // A grant that could not be stored is kept in memory only. The next command would not find it.
  const stored = await resumeAuth({ ...person, person: cliPerson });
  if ((await stored?.getAccessToken())?.value !== (await auth.getAccessToken()).value)
    throw new StoreError("store_unavailable", "The login could not be stored. Log in again.");
  const { baseUrl, tenantId, clientId } = person;
  const name = { baseUrl, tenantId, clientId };
  await changeNames(person.store, (names) => [...names.filter((one) => !isSameLogin(one, name)), name]);
}

export async function forgetLogin(person: StoredPerson): Promise<boolean> {
  const found = await findLogin(person);
  const isStored = !Array.isArray(found);
  if (isStored) await found.forget();
  await changeNames(person.store, (names) => names.filter((one) => !isSameLogin(one, person)));
  return isStored;
}

export function isSameLogin(left: LoginName, right: LoginName): boolean {
  const key = ({ baseUrl, tenantId, clientId }: LoginName) =>
    JSON.stringify([baseUrl, tenantId ?? "", clientId]);
  return key(left) === key(right);
}

/** A store cannot list its entries, so this entry lists the names of all logins. */
const listKey = JSON.stringify(["cli-logins"]);

function changeNames(store: TokenStore, change: (names: LoginName[]) => LoginName[]): Promise<void> {
  return store.lock(listKey, async () => {
    await store.set(listKey, JSON.stringify(change(await readNames(store))));
  });
}

async function readNames(store: TokenStore): Promise<LoginName[]> {
  return JSON.parse((await store.get(listKey))?.value ?? "[]");
}
