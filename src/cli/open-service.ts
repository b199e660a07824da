/** From settings to a service that holds a token, with the waiting told. */
import { type AccessToken, connect, createService, type Service } from "../index.js";
import type { Context } from "./context.js";
import { explainByLogin } from "./login/explain-by-login.js";
import { useLogin } from "./login/use-login.js";
import { makeFetch } from "./make-fetch.js";
import { Progress } from "./progress.js";
import { readCredentials } from "./settings/read-credentials.js";
import { type ConnectionSettings, readSettings } from "./settings/read-settings.js";

export interface OpenService {
  readonly service: Service;
  readonly token: AccessToken;
  readonly progress: Progress;
  /** What must not be printed: the credentials, and the token unless it was asked for. */
  readonly secrets: readonly string[];
}

/** @throws every error of `connect` and `getAccessToken` */
export async function openService(
  flags: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<OpenService> {
  const { output, env, signal } = context;
  const settings = readSettings(flags, env);
  const progress = new Progress(output);
  const { onEvent } = progress;
  const login = await progress.during("looking for a login, and for what is served", () =>
    useLogin(settings, { env, onEvent, signal }),
  );
  const { service, secrets } =
    login === undefined || login === "plugin"
      ? await connectMachine(
          login === undefined ? settings : { ...settings, variant: "A" },
          context,
          progress,
        )
      : { service: createService(login.auth) as Service, secrets: login.secrets };
  // Had before any call: the time limit of a call is not spent on waiting for a token.
  const token = await progress.during("waiting for a token", () =>
    service.auth.getAccessToken({ signal }).catch(async (error: unknown) => {
      throw login === undefined ? await explainByLogin(error, settings, env) : error;
    }),
  );
  return { service, token, progress, secrets: [...secrets, token.value] };
}

async function connectMachine(
  settings: ConnectionSettings,
  { env, signal }: Context,
  progress: Progress,
): Promise<Pick<OpenService, "service" | "secrets">> {
  const { credentials, secrets } = await readCredentials(settings);
  const { baseUrl = "", tenant, variant, timeoutMs, rateLimitDeadlineMs, allowInsecureHttp } = settings;
  const service = await progress.during("asking which variant is served", () =>
    connect({
      baseUrl,
      tenantId: tenant,
      variant,
      credentials,
      timeoutMs,
      rateLimitDeadlineMs,
      allowInsecureHttp,
      fetch: makeFetch(env),
      onEvent: progress.onEvent,
      signal,
    }),
  );
  return { service, secrets };
}
