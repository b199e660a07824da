/**
 * The logins that people stored: their encrypted store, and when a command uses one instead of a
 * service account.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { ConfigurationError, LoginRequiredError, StoreError } from "../errors.js";
import {
  type ApiClientSettings,
  apiClient,
  type PersonAuth,
  type PersonAuthOptions,
  resumeAuth,
  type ServiceEvent,
  type TokenStore,
} from "../index.js";
import { namesClient, openInput, parseBaseUrl, readAtMost } from "../internal.js";
import { invalidFlag } from "./arguments.js";
import { hasOwnLoginClient, readLoginClient, readSecret } from "./credentials.js";
import { proxyFetch } from "./proxy-fetch.js";
import { namesOf, type Settings } from "./settings.js";

/** This is part of the `--help` of the commands that ask for a token. */
export const identityHelp: string = `Who asks, in Variant B: the service account if its client secret is set;
otherwise the login that bivariant login stored for the same base URL, tenant
and client id. --login always uses the login. Its client is --b-login-client-id,
or else --b-client-id. If a plugin is configured too, the deployment is asked
which variant it serves. If the login is over, the command exits 3: run
bivariant login again.`;

interface LoginOptions extends PersonAuthOptions<"B"> {
  readonly clientId: string;
  /** Must not be printed. */
  readonly clientSecret: string | undefined;
}

/**
 * Placeholders for using or deleting a stored login, which sends no one to the authorization
 * endpoint.
 */
const noLogin = {
  redirectUri: "http://127.0.0.1/callback",
  authorizationEndpoint: "http://127.0.0.1/",
} as const;

/**
 * Makes the options of the library. Only beginning a login needs `addresses`.
 * @throws ConfigurationError
 */
export async function loginOptions(
  settings: Settings,
  onEvent?: (event: ServiceEvent) => void,
  addresses: Pick<ApiClientSettings, "redirectUri" | "authorizationEndpoint" | "issuer"> = noLogin,
): Promise<LoginOptions> {
  const { tenant, scope, refreshPath, timeoutMs, retryDeadlineMs, allowInsecureHttp } = settings;
  const baseUrl = parseBaseUrl(settings.baseUrl, allowInsecureHttp);
  const { clientId, clientSecret } = await readLoginClient(settings);
  const authorizationParameters = scope === undefined ? {} : { scope };
  return {
    baseUrl,
    tenantId: tenant,
    clientId,
    clientSecret,
    credential: apiClient({
      ...addresses,
      clientId,
      clientSecret,
      refreshPath,
      authorizationParameters,
    }),
    fetch: proxyFetch(settings.env),
    timeoutMs,
    retryDeadlineMs,
    allowInsecureHttp,
    onEvent,
  };
}

interface WantedLogin {
  readonly options: LoginOptions;
  /** The login, or the error that says why it cannot be used. */
  readonly found: PersonAuth<"B"> | LoginRequiredError | ConfigurationError;
}

/**
 * Finds the stored login if the settings ask for one: with `--login`, settings for the API client,
 * or a client id that has no secret. Otherwise they mean a plugin or a service account, and it
 * returns undefined.
 */
export async function wantedLogin(
  settings: Settings,
  onEvent?: (event: ServiceEvent) => void,
): Promise<WantedLogin | undefined> {
  const isNamed = settings.login === true;
  if (isNamed && settings.variant === "A")
    throw invalidFlag("--login", "uses Variant B, but Variant A is named. Remove one.");
  if (!isNamed && !meansLogin(settings)) return undefined;
  const options = await loginOptions(settings, onEvent);
  const store = await openLoginStore(settings);
  const auth = store && (await resume({ ...options, store }));
  if (auth !== undefined) return { options, found: auth };
  // A grant is deleted when it ends, but its name stays in the list until the logout.
  const names = store === undefined ? [] : await readNames(store);
  if (names.some((one) => isSameLogin(one, options)))
    return { options, found: new LoginRequiredError("login_expired", "The stored login is over.") };
  const { tenantId, baseUrl } = options;
  const others = names.filter((one) => isSameLogin({ ...one, tenantId }, options));
  const without = tenantId === undefined ? " without a tenant" : "";
  const none =
    `No login is stored for ${namesClient(options, tenantId)}${without} at ${baseUrl} ` +
    `(${namesOf("storeFile")}).`;
  const message = others.length === 0 ? none : `${none} ${otherTenants(others)}`;
  if (isNamed || hasOwnLoginClient(settings))
    return { options, found: new LoginRequiredError("login_expired", message) };
  // Without any login the settings mean a service account. `readAccount` reports that its secret is
  // missing.
  if (others.length === 0) return undefined;
  const error = new ConfigurationError("credential_missing", message, {
    option: "tenantId",
    variant: "B",
  });
  return { options, found: error };
}

/** Whether the settings for Variant B describe the login of a person, without `--login`. */
function meansLogin(settings: Settings): boolean {
  const { variant, bClientId, bClientSecret, bClientSecretFile } = settings;
  if (variant === "A" || (bClientSecret ?? bClientSecretFile) !== undefined) return false;
  return hasOwnLoginClient(settings) ? bClientId === undefined : bClientId !== undefined;
}

/**
 * In Variant B the tenant is only a name that the user chose, but it must be the same to find the
 * login.
 */
function otherTenants(others: readonly LoginName[]): string {
  const ways = others.map(({ tenantId }) =>
    tenantId ? `for the tenant ${tenantId}` : "without a tenant",
  );
  return (
    `There is one ${ways.join(", and one ")}: ` +
    "set the tenant as it was at that login, or log in again."
  );
}

/** All logins have this person. They differ only by deployment, tenant and client id. */
export const cliPerson = "cli";

/**
 * The default is the state folder of the XDG specification, which ignores a relative
 * XDG_STATE_HOME.
 */
export function storePath({ storeFile, env }: Settings): string {
  if (storeFile !== undefined) return resolve(storeFile);
  const { XDG_STATE_HOME: given = "", HOME: home = "" } = env;
  const state = isAbsolute(given) ? given : join(home || homedir(), ".local", "state");
  return join(state, "bivariant", "grants");
}

/**
 * Opens the store; undefined if it does not exist.
 * @throws ConfigurationError, StoreError if it cannot be read
 */
export async function openLoginStore(settings: Settings): Promise<TokenStore | undefined> {
  const file = storePath(settings);
  return existsSync(file) ? openStore(file, settings) : undefined;
}

/**
 * Opens the store, and makes the folder above it and its key if necessary.
 * @throws ConfigurationError, StoreError
 */
export async function createLoginStore(settings: Settings): Promise<TokenStore> {
  const file = storePath(settings);
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if ((settings.storeKey ?? settings.storeKeyFile) === undefined) await createKey(`${file}.key`);
  } catch (fault) {
    throw invalidKey(`${file}.key`, `cannot be created (${codeOf(fault)})`);
  }
  return openStore(file, settings);
}

async function openStore(file: string, settings: Settings) {
  const key =
    (await readSecret(settings, "storeKey")) ?? (await readKey(`${file}.key`, settings.signal));
  // Loaded only for a stored login, since its encryption needs the whole of jose.
  const { fileStore } = await import("../stores/file.js");
  const store = fileStore(file, { key });
  // If the store cannot be used, this fails now, before a person logs in.
  await store.get("");
  return store;
}

async function createKey(path: string) {
  const key = `${randomBytes(32).toString("base64")}\n`;
  await writeFile(path, key, { mode: 0o600, flag: "wx" }).catch((fault) => {
    if (codeOf(fault) !== "EEXIST") throw fault;
  });
}

async function readKey(path: string, signal: AbortSignal) {
  const reading = Promise.all([stat(path), readAtMost(openInput(path, signal), 1_000)]);
  const [{ mode }, key] = await reading.catch((fault) => {
    throw invalidKey(path, `cannot be read (${codeOf(fault)})`);
  });
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    throw invalidKey(path, "can be read by other users; run chmod 600 on it");
  if (key === undefined) throw invalidKey(path, "is too large");
  return key.toString("utf8");
}

function invalidKey(path: string, problem: string): ConfigurationError {
  return new ConfigurationError(
    "credential_invalid",
    `The key of the stored logins ${problem}: ${path}. ` +
      `To use another key, set ${namesOf("storeKeyFile")}.`,
    { option: "storeKeyFile", variant: "B" },
  );
}

function codeOf(fault: unknown): string | undefined {
  return (fault as NodeJS.ErrnoException).code;
}

interface LoginName {
  readonly baseUrl: string;
  readonly tenantId?: string | undefined;
  readonly clientId: string;
}

interface StoredPerson extends LoginOptions {
  readonly store: TokenStore;
}

function resume({ clientId: _, clientSecret: __, ...options }: StoredPerson) {
  return resumeAuth({ ...options, person: cliPerson });
}

/** Checks that the store holds this login, and adds it to the list. @throws StoreError */
export async function rememberLogin(person: StoredPerson, auth: PersonAuth<"B">): Promise<void> {
  // A grant that could not be stored is kept in memory only. The next command would not find it.
  const stored = await resume(person);
  if ((await stored?.getAccessToken())?.value !== (await auth.getAccessToken()).value)
    throw new StoreError("store_unavailable", "The login could not be stored. Log in again.");
  const { baseUrl, tenantId, clientId } = person;
  await replaceName(person, { baseUrl, tenantId, clientId });
}

export async function forgetLogin(person: StoredPerson): Promise<boolean> {
  const auth = await resume(person);
  await auth?.forget();
  await replaceName(person);
  return auth !== undefined;
}

function isSameLogin(left: LoginName, right: LoginName): boolean {
  const key = ({ baseUrl, tenantId, clientId }: LoginName) =>
    JSON.stringify([baseUrl, tenantId ?? "", clientId]);
  return key(left) === key(right);
}

/** A store cannot list its entries, so this entry lists the names of all logins. */
const listKey = JSON.stringify(["cli-logins"]);

/** Replaces the name of this login in the list, or deletes it. */
function replaceName(person: StoredPerson, name?: LoginName) {
  const { store } = person;
  return store.lock(listKey, async () => {
    const others = (await readNames(store)).filter((one) => !isSameLogin(one, person));
    await store.set(listKey, JSON.stringify(name === undefined ? others : [...others, name]));
  });
}

async function readNames(store: TokenStore): Promise<LoginName[]> {
  return JSON.parse((await store.get(listKey))?.value ?? "[]");
}
