/** Decides whether a command uses the service account of Variant B or the login that a person stored. */
import { ConfigurationError, LoginRequiredError } from "../../errors.js";
import {
  type ApiClientSettings,
  apiClient,
  type PersonAuth,
  type PersonAuthOptions,
  type ServiceEvent,
} from "../../index.js";
import { parseBaseUrl } from "../../variants/target.js";
import { invalidFlag } from "../arguments.js";
import { hasOwnLoginClient, readLoginClient } from "../credentials.js";
import type { Environment } from "../output.js";
import { proxyFetch } from "../proxy-fetch.js";
import { namesOf, type Settings } from "../settings.js";
import { findLogin, isSameLogin, type LoginName, openLoginStore } from "./store.js";

/** This is part of the `--help` of the commands that ask for a token. */
export const identityHelp: string = `Who asks, in Variant B: the service account if its client secret is set; otherwise the login that bivariant login stored
for the same base URL, tenant and client id. --login always uses the login. Its client is --b-login-client-id, or else
--b-client-id. If a plugin is configured too, the deployment is asked which variant it serves. If the login is over, the
command exits 3: run bivariant login again.`;

export interface LoginOptions extends PersonAuthOptions<"B"> {
  readonly clientId: string;
  /** Must not be printed. */
  readonly secrets: readonly string[];
}

/** Placeholders for using or deleting a stored login, which sends no one to the authorization endpoint. */
const noLogin = {
  redirectUri: "http://127.0.0.1/callback",
  authorizationEndpoint: "http://127.0.0.1/",
} as const;

/** Makes the options of the library. Only beginning a login needs `addresses`. @throws ConfigurationError */
export async function loginOptions(
  settings: Settings,
  env: Environment,
  onEvent?: (event: ServiceEvent) => void,
  addresses: Pick<ApiClientSettings, "redirectUri" | "authorizationEndpoint"> = noLogin,
): Promise<LoginOptions> {
  const { tenant, scope, refreshPath, timeoutMs, rateLimitDeadlineMs, allowInsecureHttp } = settings;
  const baseUrl = parseBaseUrl(settings.baseUrl, allowInsecureHttp);
  const { clientId, clientSecret } = await readLoginClient(settings);
  const authorizationParameters = scope === undefined ? {} : { scope };
  return {
    baseUrl,
    tenantId: tenant,
    clientId,
    secrets: clientSecret === undefined ? [] : [clientSecret],
    credential: apiClient({ ...addresses, clientId, clientSecret, refreshPath, authorizationParameters }),
    fetch: proxyFetch(env),
    ...{ timeoutMs, rateLimitDeadlineMs, allowInsecureHttp, onEvent },
  };
}

interface WantedLogin {
  readonly options: LoginOptions;
  /** The login, or the error that says why it cannot be used. */
  readonly found: PersonAuth<"B"> | LoginRequiredError | ConfigurationError;
}

/**
 * Finds the stored login if the settings ask for one: with `--login`, settings for the API client, or a
 * client id that has no secret. Otherwise they mean a plugin or a service account, and it returns undefined.
 */
export async function wantedLogin(
  settings: Settings,
  env: Environment,
  onEvent?: (event: ServiceEvent) => void,
): Promise<WantedLogin | undefined> {
  const isNamed = settings.login === true;
  if (isNamed && settings.variant === "A")
    throw invalidFlag("--login", "uses Variant B, but Variant A is named. Remove one.");
  if (!isNamed && !meansLogin(settings)) return undefined;
  const options = await loginOptions(settings, env, onEvent);
  const store = await openLoginStore(settings, env);
  const others = store === undefined ? [] : await findLogin({ ...options, store });
  if (!Array.isArray(others)) return { options, found: others };
  if (others.some((one) => isSameLogin(one, options)))
    return { options, found: new LoginRequiredError("login_expired", "The stored login is over.") };
  const none = `No login is stored for this base URL, tenant and client id (${namesOf("storeFile")}).`;
  const message = others.length === 0 ? none : `${none} ${otherTenants(others)}`;
  if (isNamed || hasOwnLoginClient(settings))
    return { options, found: new LoginRequiredError("login_expired", message) };
  // Without any login the settings mean a service account. `readAccount` reports that its secret is missing.
  if (others.length === 0) return undefined;
  const error = new ConfigurationError("credential_missing", message, { option: "tenantId", variant: "B" });
  return { options, found: error };
}

/** Whether the settings for Variant B describe the login of a person, without `--login`. */
function meansLogin(settings: Settings): boolean {
  const { variant, bClientId, bClientSecret, bClientSecretFile } = settings;
  if (variant === "A" || (bClientSecret ?? bClientSecretFile) !== undefined) return false;
  return hasOwnLoginClient(settings) ? bClientId === undefined : bClientId !== undefined;
}

/** In Variant B the tenant is only a name that the user chose, but it must be the same to find the login. */
function otherTenants(others: readonly LoginName[]): string {
  const tenants = others.flatMap(({ tenantId }) => tenantId || []);
  const ways = [
    ...(tenants.length < others.length ? ["without a tenant"] : []),
    ...(tenants.length === 0 ? [] : [`for the tenant ${tenants.join(", ")}`]),
  ];
  return `There is one ${ways.join(", and ")}: set the tenant as it was at that login, or log in again.`;
}
