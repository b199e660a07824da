/** The credentials that the settings describe, the plugin first. */

import type { MachineCredential } from "../../auth/credentials/credential.js";
import { servicePlugin } from "../../auth/credentials/plugins.js";
import { serviceAccount } from "../../auth/credentials/service-account.js";
import { ConfigurationError, type Variant } from "../../errors.js";
import { readAccount } from "./read-account.js";
import { readPlugin } from "./read-plugin.js";
import type { ConnectionSettings } from "./read-settings.js";
import { namesOf } from "./setting-table.js";

export interface Credentials {
  /** In order of preference. */
  readonly credentials: readonly MachineCredential[];
  /** What must not be printed. */
  readonly secrets: readonly string[];
}

/**
 * Reads the credential of the variant that is named, or of both as far as they are configured. One that is begun and
 * incomplete is an error: silently leaving it out would choose another identity.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`
 */
export async function readCredentials(settings: ConnectionSettings): Promise<Credentials> {
  const { variant } = settings;
  const isWanted = (one: Variant) => variant === undefined || variant === one;
  const plugin = isWanted("A") ? await readPlugin(settings) : undefined;
  const account = isWanted("B") ? await readAccount(settings) : undefined;
  const credentials = [
    ...(plugin === undefined ? [] : [servicePlugin(plugin)]),
    ...(account === undefined ? [] : [serviceAccount(account)]),
  ];
  if (credentials.length === 0) throw noCredential(variant);
  const secrets = [plugin?.privateKey, account?.clientSecret].filter((one) => one !== undefined);
  return { credentials, secrets };
}

function noCredential(variant: Variant | undefined): ConfigurationError {
  const ways = {
    A: `for Variant A ${namesOf("aClientId")}, and ${namesOf("aPrivateKeyFile")}`,
    B: `for Variant B ${namesOf("bClientId")}, and ${namesOf("bClientSecretFile")}, or log in as a person with bivariant login`,
  };
  const wanted = variant === undefined ? `${ways.A}; ${ways.B}` : ways[variant];
  return new ConfigurationError("credential_missing", `No credential is configured. Set ${wanted}.`);
}
