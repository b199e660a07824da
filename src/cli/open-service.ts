/** From settings to a service that holds a token, with the waiting told. */
import { type AccessToken, connect, type Service } from "../index.js";
import type { Context } from "./context.js";
import { makeFetch } from "./make-fetch.js";
import { Progress } from "./progress.js";
import { readCredentials } from "./settings/read-credentials.js";
import { readSettings } from "./settings/read-settings.js";

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
  { output, env, signal }: Context,
): Promise<OpenService> {
  const settings = readSettings(flags, env);
  const { credentials, secrets } = await readCredentials(settings);
  const progress = new Progress(output);
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
  // Had before any call: the time limit of a call is not spent on waiting for a token.
  const token = await progress.during("waiting for a token", () => service.auth.getAccessToken({ signal }));
  return { service, token, progress, secrets: [...secrets, token.value] };
}
