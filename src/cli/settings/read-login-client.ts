/** The API client that a person logs in to, as the settings describe it: its own, or the one client there is. */
import { ConfigurationError } from "../../errors.js";
import { readSecret } from "./read-secret.js";
import type { ConnectionSettings } from "./read-settings.js";
import { namesOf } from "./setting-table.js";

export interface LoginClientSettings {
  readonly clientId: string;
  /** Sent only if given: many API clients have none. */
  readonly clientSecret?: string | undefined;
}

/** Whether the client of logins has settings of its own, so that the others are the service account's alone. */
export function hasOwnLoginClient({
  bLoginClientId,
  bLoginClientSecret,
  bLoginClientSecretFile,
}: ConnectionSettings): boolean {
  return [bLoginClientId, bLoginClientSecret, bLoginClientSecretFile].some((one) => one !== undefined);
}

/**
 * Where logins have settings of their own the service account's secret goes nowhere: it would be sent to where it does
 * not belong, and be refused after the person has logged in.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`
 */
export async function readLoginClient(settings: ConnectionSettings): Promise<LoginClientSettings> {
  const isOwn = hasOwnLoginClient(settings);
  const clientId = isOwn ? settings.bLoginClientId : settings.bClientId;
  if (clientId === undefined)
    throw new ConfigurationError(
      "credential_missing",
      `The client id of the API client is missing. Set it with ${namesOf("bLoginClientId")}, or without a service account with ${namesOf("bClientId")}.`,
      { variant: "B" },
    );
  const clientSecret = isOwn
    ? await readOptional(settings, "bLoginClientSecret", "bLoginClientSecretFile")
    : await readOptional(settings, "bClientSecret", "bClientSecretFile");
  return { clientId, clientSecret };
}

async function readOptional(
  settings: ConnectionSettings,
  valueName: "bLoginClientSecret" | "bClientSecret",
  pathName: "bLoginClientSecretFile" | "bClientSecretFile",
): Promise<string | undefined> {
  const { [valueName]: value, [pathName]: path } = settings;
  if (value === undefined && path === undefined) return undefined;
  return readSecret({ variant: "B", what: "client secret", value, valueName, path, pathName });
}
