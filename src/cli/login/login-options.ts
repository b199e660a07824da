/** What every way to a person's tokens is told, from the settings. */
import type { PersonAuthOptions } from "../../auth/auth.js";
import { ConfigurationError } from "../../errors.js";
import { type ApiClientSettings, apiClient, type ServiceEvent } from "../../index.js";
import { isUnderBase, parseBaseUrl } from "../../variants/target.js";
import { makeFetch } from "../make-fetch.js";
import { readLoginClient } from "../settings/read-login-client.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { namesOf } from "../settings/setting-table.js";

export interface LoginOptions extends PersonAuthOptions<"B"> {
  readonly clientId: string;
  /** What must not be printed. */
  readonly secrets: readonly string[];
}

export interface LoginOptionsContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onEvent: (event: ServiceEvent) => void;
}

/** Nobody is sent anywhere to use or to forget a login that is stored. */
const noLogin: Pick<ApiClientSettings, "redirectUri" | "authorizationEndpoint"> = {
  redirectUri: "http://127.0.0.1/callback",
  authorizationEndpoint: "http://127.0.0.1/",
};

/** @throws ConfigurationError */
export async function loginOptions(
  settings: ConnectionSettings,
  { env, onEvent }: LoginOptionsContext,
  client: Partial<ApiClientSettings> = {},
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
      ...{ ...noLogin, ...client, clientId, clientSecret, refreshPath, authorizationParameters },
    }),
    fetch: makeFetch(env),
    ...{ timeoutMs, rateLimitDeadlineMs, allowInsecureHttp, onEvent },
  };
}

/** Absolute, or a path under the base URL. @throws ConfigurationError */
export function authorizationEndpointOf({
  baseUrl,
  authorizationEndpoint: given,
  allowInsecureHttp,
}: ConnectionSettings): string {
  const base = parseBaseUrl(baseUrl, allowInsecureHttp);
  const refused = (why: string) =>
    new ConfigurationError(
      "credential_missing",
      `The authorization endpoint ${why}. The description does not show it: ask whoever runs the deployment.`,
      { option: "authorizationEndpoint", variant: "B" },
    );
  if (given === undefined) throw refused("is missing");
  if (URL.canParse(given)) return given;
  const url = base + given;
  if (given.startsWith("/") && URL.canParse(url) && isUnderBase(new URL(url), base)) return url;
  throw refused(
    `is neither a URL nor a path under the base URL, such as /v1/auth/authorize (${namesOf("authorizationEndpoint")})`,
  );
}
