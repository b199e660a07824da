/** A service account that was refused although a person logged in with its client id: a likely mix-up, and told as one. */
import { isTokenRequestError, TokenRequestError } from "../../errors.js";
import { parseBaseUrl } from "../../variants/target.js";
import { hasOwnLoginClient } from "../settings/read-login-client.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { namesOf } from "../settings/setting-table.js";
import { loginsOf } from "./login-index.js";
import { openLoginStore } from "./login-store.js";

/** The same error with that cause before all others, or the error as it is. */
export async function explainByLogin(
  error: unknown,
  settings: ConnectionSettings,
  env: Readonly<Record<string, string | undefined>>,
): Promise<unknown> {
  const { bClientId: clientId, allowInsecureHttp } = settings;
  if (!isTokenRequestError(error) || error.variant !== "B" || clientId === undefined) return error;
  if (hasOwnLoginClient(settings)) return error;
  try {
    const baseUrl = parseBaseUrl(settings.baseUrl, allowInsecureHttp);
    const opened = await openLoginStore(settings, env);
    const logins = opened === undefined ? [] : await loginsOf(opened.store, { baseUrl, clientId });
    if (logins.length === 0) return error;
  } catch {
    // A store that cannot be read explains nothing.
    return error;
  }
  const cause = {
    id: "secret_of_api_client",
    summary: "The client id is that of an API client, which people log in to, and not of a service account",
    evidence: `A login with the client id ${clientId} is stored, and with a client secret the service account is asked for.`,
    remedy: `Use the login with --login; or name the API client by ${namesOf("bLoginClientId")}, and its secret by ${namesOf("bLoginClientSecretFile")}, in place of the service account's.`,
  };
  const { message, variant, status, error: code, errorDescription, errorUri, causes, retryAt } = error;
  // What the library takes for likeliest is what this cause rules out.
  const [told = ""] = message.split(" Most likely: ");
  return new TokenRequestError(`${told} Most likely: ${cause.summary}. ${cause.remedy}`, {
    ...{ variant, status, error: code, errorDescription, errorUri, retryAt },
    causes: [cause, ...causes],
  });
}
