/** The service account that the settings describe. */
import { ConfigurationError } from "../../errors.js";
import { incomplete } from "./incomplete.js";
import { readSecret } from "./read-secret.js";
import type { ConnectionSettings } from "./read-settings.js";
import { namesOf } from "./setting-table.js";

export interface AccountSettings {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Nothing where none is begun.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`
 */
export async function readAccount(settings: ConnectionSettings): Promise<AccountSettings | undefined> {
  const { bClientId, bClientSecret, bClientSecretFile } = settings;
  if ([bClientId, bClientSecret, bClientSecretFile].every((one) => one === undefined)) return undefined;
  if (bClientId === undefined) throw incomplete("B", "bClientId");
  if (bClientSecret === undefined && bClientSecretFile === undefined)
    throw new ConfigurationError(
      "credential_missing",
      `Variant B's credential is incomplete: the client secret is missing. Set it with ${namesOf("bClientSecretFile")}, or with ${namesOf("bClientSecret")}. For an API client, which a person logs in to, run bivariant login first.`,
      { option: "bClientSecretFile", variant: "B" },
    );
  const clientSecret = await readSecret({
    variant: "B",
    what: "client secret",
    value: bClientSecret,
    valueName: "bClientSecret",
    path: bClientSecretFile,
    pathName: "bClientSecretFile",
  });
  return { clientId: bClientId, clientSecret };
}
