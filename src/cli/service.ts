/**
 * Opens the service that the settings describe and gets its token, with notes while the user waits.
 */
import {
  ConfigurationError,
  isRateLimitedError,
  isTokenRequestError,
  type Variant,
} from "../errors.js";
import {
  type AccessToken,
  type ConnectOptions,
  connect,
  createService,
  type Service,
  serviceAccount,
  servicePlugin,
} from "../index.js";
import { namesClient } from "../internal.js";
import { noCredential, readAccount, readPlugin } from "./credentials.js";
import { proxyFetch } from "./proxy-fetch.js";
import type { Context } from "./run.js";
import { type Settings, waysToSet } from "./settings.js";
import { wantedLogin } from "./stored-login.js";

/**
 * Opens a service with the plugin, the service account or the stored login that the settings
 * describe. `secrets` are the credentials and the token, which must not be printed. `checkVariant`
 * runs before a token is requested.
 *
 * @throws LoginRequiredError if no usable login is stored; every error of `connect` and
 * `getAccessToken`
 */
export async function openService(
  settings: Settings,
  { output, signal }: Context,
  api?: ConnectOptions["api"],
  checkVariant?: (variant: Variant) => void,
): Promise<{
  readonly service: Service;
  readonly token: AccessToken;
  readonly secrets: readonly string[];
}> {
  const { baseUrl = "", tenant, variant, timeoutMs, retryDeadlineMs, allowInsecureHttp } = settings;
  const { unauthorizedStatuses } = settings;
  const { onEvent } = output;
  const login = await wantedLogin(settings, onEvent);
  const plugin = variant === "B" || settings.login ? undefined : await readPlugin(settings);
  const account = variant === "A" || login !== undefined ? undefined : await readAccount(settings);
  if (plugin === undefined && account === undefined && login === undefined)
    throw new ConfigurationError(
      "credential_missing",
      `${noCredential(settings)} ${waysToSet(variant)}`,
    );
  const fetch = proxyFetch(settings.env);
  const isLoginChosen = login !== undefined && plugin === undefined;
  const connected = isLoginChosen
    ? undefined
    : await output.during("asking which variant is served", () =>
        connect({
          baseUrl,
          tenantId: tenant,
          variant,
          api,
          unauthorizedStatuses,
          timeoutMs,
          retryDeadlineMs,
          allowInsecureHttp,
          onEvent,
          signal,
          fetch,
          credentials: [
            plugin && servicePlugin(plugin),
            account && serviceAccount(account),
            // With this credential `connect` asks for Variant B too. It is never sent.
            login && serviceAccount({ clientId: "stored-login", clientSecret: "unused" }),
          ].filter((one) => one !== undefined),
        }),
      );
  let service = connected as Service;
  if (login !== undefined && connected?.variant !== "A") {
    if (login.found instanceof Error) throw login.found;
    service = createService(login.found, { api, unauthorizedStatuses }) as Service;
  }
  checkVariant?.(service.variant);
  // The token is fetched before any call, so that the time limit of a call does not include this
  // wait.
  const token = await output
    .during("waiting for a token", () => service.auth.getAccessToken({ signal }))
    .catch((error: unknown) => {
      const client = service.variant === "A" ? plugin : (login?.options ?? account);
      // A refusal names the tenant itself.
      const unnamed = isTokenRequestError(error) ? undefined : tenant;
      if (client !== undefined && (isTokenRequestError(error) || isRateLimitedError(error)))
        error.message = `For ${namesClient(client, unnamed)}: ${error.message}`;
      throw error;
    });
  const secrets = [plugin?.privateKey, (login?.options ?? account)?.clientSecret, token.value];
  return { service, token, secrets: secrets.filter((one) => one !== undefined) };
}
