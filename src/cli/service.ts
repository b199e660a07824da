/** From settings to a service that holds a token, with notes while the user waits. */
import { type AccessToken, connect, createService, type Service } from "../index.js";
import { readCredentials } from "./credentials.js";
import { useLogin } from "./login/identity.js";
import { proxyFetch } from "./proxy-fetch.js";
import type { Context } from "./run.js";
import type { Settings } from "./settings.js";

export interface OpenService {
  readonly service: Service;
  readonly token: AccessToken;
  /** The credentials and the token, which must not be printed. */
  readonly secrets: readonly string[];
}

/** @throws every error of `connect` and `getAccessToken` */
export async function openService(settings: Settings, context: Context): Promise<OpenService> {
  const { output, env, signal } = context;
  const { onEvent } = output;
  const login = await output.during("looking for a login and for the served variant", () =>
    useLogin(settings, { env, onEvent, signal }),
  );
  const { service, secrets } =
    login === undefined || login === "plugin"
      ? await connectMachine(login === undefined ? settings : { ...settings, variant: "A" }, context)
      : { service: createService(login.auth) as Service, secrets: login.secrets };
  // Before any call, so that the time limit of a call does not include the wait for a token.
  const token = await output.during("waiting for a token", () => service.auth.getAccessToken({ signal }));
  return { service, token, secrets: [...secrets, token.value] };
}

async function connectMachine(
  settings: Settings,
  { output, env, signal }: Context,
): Promise<Pick<OpenService, "service" | "secrets">> {
  const { credentials, secrets } = await readCredentials(settings);
  const { baseUrl = "", tenant, variant, timeoutMs, rateLimitDeadlineMs, allowInsecureHttp } = settings;
  const service = await output.during("asking which variant is served", () =>
    connect({
      ...{
        baseUrl,
        tenantId: tenant,
        variant,
        credentials,
        timeoutMs,
        rateLimitDeadlineMs,
        allowInsecureHttp,
      },
      ...{ fetch: proxyFetch(env), onEvent: output.onEvent, signal },
    }),
  );
  return { service, secrets };
}
