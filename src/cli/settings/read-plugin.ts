/** The service plugin that the settings describe. */
import { incomplete } from "./incomplete.js";
import { readSecret } from "./read-secret.js";
import type { ConnectionSettings } from "./read-settings.js";

export interface PluginSettings {
  readonly clientId: string;
  readonly privateKey: string;
  readonly keyId?: string;
}

/**
 * Nothing where none is begun.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`
 */
export async function readPlugin(settings: ConnectionSettings): Promise<PluginSettings | undefined> {
  const { aClientId, aPrivateKey, aPrivateKeyFile, aKeyId } = settings;
  if ([aClientId, aPrivateKey, aPrivateKeyFile, aKeyId].every((one) => one === undefined)) return undefined;
  if (aClientId === undefined) throw incomplete("A", "aClientId");
  const privateKey = await readPrivateKey(settings);
  return { clientId: aClientId, privateKey, ...(aKeyId === undefined ? {} : { keyId: aKeyId }) };
}

/** @throws ConfigurationError `credential_missing`, `credential_invalid` */
export async function readPrivateKey({ aPrivateKey, aPrivateKeyFile }: ConnectionSettings): Promise<string> {
  const key = await readSecret({
    variant: "A",
    what: "private key",
    value: aPrivateKey,
    valueName: "aPrivateKey",
    path: aPrivateKeyFile,
    pathName: "aPrivateKeyFile",
  });
  // Files of environment variables hold a PEM on one line, with `\n` written out.
  return key.startsWith("-----") && !key.includes("\n") ? key.replaceAll("\\n", "\n") : key;
}
