/** Which identity a command uses in Variant B: the service account, or the login that a person stored. */
import { ConfigurationError, LoginRequiredError, VariantError } from "../../errors.js";
import {
  type ApiClientSettings,
  apiClient,
  detectVariant,
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
import { findLogin, isSameLogin, type LoginName, loginsOf, openLoginStore } from "./store.js";

/** For the `--help` of the commands that ask for a token. */
export const identityHelp: string = `Who asks, in Variant B: the service account if its client secret is set; otherwise the login that bivariant login stored
for the same base URL, tenant and client id. --login always uses the login. Its client is --b-login-client-id, or else
--b-client-id. If a plugin is configured too, the deployment is asked which variant it serves. If the login is over, the
command exits 3: run bivariant login again.`;

export interface LoginOptions extends PersonAuthOptions<"B"> {
  readonly clientId: string;
  /** Must not be printed. */
  readonly secrets: readonly string[];
}

export interface LoginContext {
  readonly env: Environment;
  readonly onEvent?: (event: ServiceEvent) => void;
}

/** For stored logins, whose use and logout send no one to the authorization endpoint. */
const noLogin = {
  redirectUri: "http://127.0.0.1/callback",
  authorizationEndpoint: "http://127.0.0.1/",
} as const;

/** The options of the library for a login. `addresses` are needed to begin one. @throws ConfigurationError */
export async function loginOptions(
  settings: Settings,
  { env, onEvent }: LoginContext,
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
    credential: apiClient({
      ...{ ...addresses, clientId, clientSecret, refreshPath, authorizationParameters },
    }),
    fetch: proxyFetch(env),
    ...{ timeoutMs, rateLimitDeadlineMs, allowInsecureHttp, onEvent },
  };
}

export interface WantedLogin {
  readonly options: LoginOptions;
  /** The login, or the error that says why it cannot be used. */
  readonly found: PersonAuth<"B"> | LoginRequiredError | ConfigurationError;
}

/**
 * The stored login that the settings ask for: by `--login`, by a client of its own, or by a client id without a secret.
 * Undefined if they mean a plugin or a service account, also one whose secret is missing.
 *
 * @throws ConfigurationError, StoreError
 */
export async function wantedLogin(
  settings: Settings,
  context: LoginContext,
): Promise<WantedLogin | undefined> {
  const isNamed = settings.login === true;
  if (isNamed && settings.variant === "A")
    throw invalidFlag("--login", "uses Variant B, but Variant A is named. Remove one.");
  if (!isNamed && !meansLogin(settings)) return undefined;
  const options = await loginOptions(settings, context);
  const store = await openLoginStore(settings, context.env);
  const found = store && (await findLogin({ ...options, store }));
  if (typeof found === "object") return { options, found };
  if (found === "over")
    return { options, found: new LoginRequiredError("login_expired", "The stored login is over.") };
  const logins = store === undefined ? [] : await loginsOf(store, options);
  const others = logins.filter((one) => !isSameLogin(one, options));
  const none = `No login is stored for this base URL, tenant and client id (${namesOf("storeFile")}).`;
  const message = others.length === 0 ? none : `${none} ${otherTenants(others)}`;
  if (isNamed || hasOwnLoginClient(settings))
    return { options, found: new LoginRequiredError("login_expired", message) };
  // Without any login the settings mean a service account, whose reader reports the missing secret.
  if (others.length === 0) return undefined;
  const error = new ConfigurationError("credential_missing", message, { option: "tenantId", variant: "B" });
  return { options, found: error };
}

/** Whether the configured credential of Variant B is that of a person. */
function meansLogin(settings: Settings): boolean {
  const { variant, bClientId, bClientSecret, bClientSecretFile } = settings;
  if (variant === "A" || (bClientSecret ?? bClientSecretFile) !== undefined) return false;
  return hasOwnLoginClient(settings) ? bClientId === undefined : bClientId !== undefined;
}

/** In Variant B the tenant is a name that the user chose, and part of what a login is found by. */
function otherTenants(others: readonly LoginName[]): string {
  const tenants = others.flatMap(({ tenantId }) => tenantId || []);
  const ways = [
    ...(tenants.length < others.length ? ["without a tenant"] : []),
    ...(tenants.length === 0 ? [] : [`for the tenant ${tenants.join(", ")}`]),
  ];
  return `There is one ${ways.join(", and ")}: set the tenant as it was at that login, or log in again.`;
}

export interface UsedLogin {
  readonly auth: PersonAuth<"B">;
  /** Must not be printed. */
  readonly secrets: readonly string[];
}

/**
 * The stored login if it is to be used, "plugin" if Variant A turns out to be served, or undefined if the credentials of
 * machines decide.
 *
 * @throws LoginRequiredError if the login is over, or was asked for and does not exist
 * @throws VariantError if a plugin is configured too and neither variant is known to be served
 */
export async function useLogin(
  settings: Settings,
  context: LoginContext & { readonly signal: AbortSignal },
): Promise<UsedLogin | "plugin" | undefined> {
  const wanted = await wantedLogin(settings, context);
  if (wanted === undefined) return undefined;
  const { options, found } = wanted;
  const { variant, login: isNamed, aClientId, aPrivateKey, aPrivateKeyFile, aKeyId } = settings;
  const hasPlugin = (aClientId ?? aPrivateKey ?? aPrivateKeyFile ?? aKeyId) !== undefined;
  if (isNamed !== true && variant === undefined && hasPlugin)
    if (await servesA(settings, options, context.signal)) return "plugin";
  if (found instanceof LoginRequiredError || found instanceof ConfigurationError) throw found;
  return { auth: found, secrets: options.secrets };
}

/** As in `connect`, the plugin comes first unless Variant A is surely not served. */
async function servesA(settings: Settings, options: LoginOptions, signal: AbortSignal): Promise<boolean> {
  const { baseUrl, fetch, timeoutMs, allowInsecureHttp } = options;
  const tenantId = settings.tenant ?? "";
  const detection = await detectVariant({ baseUrl, tenantId, fetch, timeoutMs, allowInsecureHttp, signal });
  const { served, evidence } = detection;
  if (served.A === "yes") return true;
  // After a rate limit or a server error Variant A may still be served.
  const isPassing = evidence.some(
    ({ variant, status }) => variant === "A" && (status === 429 || status >= 500),
  );
  if (served.B === "yes" && !isPassing) return false;
  if (served.A === "no" && served.B === "no")
    throw new VariantError(
      "variant_not_served",
      "The deployment serves neither variant. A wrong tenant id looks the same.",
      { detection },
    );
  throw new VariantError(
    "variant_unknown",
    `It is unknown which variant the deployment serves. If you know it, set ${namesOf("variant")}.`,
    { detection },
  );
}
