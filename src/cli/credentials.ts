/** The credentials that the settings describe, with their secrets from files or the environment. */
import { ConfigurationError, type Variant } from "../errors.js";
import { type AccountSettings, type PluginSettings, readSecretFrom } from "../internal.js";
import { openFileOf } from "./arguments.js";
import { namesOf, type Settings, secretTable } from "./settings.js";

/**
 * Undefined if no setting of the plugin is set.
 * @throws ConfigurationError, as does `readPrivateKey`
 */
export async function readPlugin(settings: Settings): Promise<PluginSettings | undefined> {
  const { aClientId: clientId, aPrivateKey, aPrivateKeyFile, aKeyId: keyId, audience } = settings;
  if (clientId !== undefined)
    return { clientId, privateKey: await readPrivateKey(settings), keyId, audience };
  if ((aPrivateKey ?? aPrivateKeyFile ?? keyId ?? audience) === undefined) return undefined;
  throw incomplete("A", "client id", namesOf("aClientId"));
}

/**
 * @throws ConfigurationError `credential_missing`, `credential_invalid`, `key_invalid` with the
 * path of a file that was read
 */
export async function readPrivateKey(settings: Settings): Promise<string> {
  const key = await readSecret(settings, "aPrivateKey");
  const { aPrivateKeyFile: file } = settings;
  if (key !== undefined && file !== undefined && !isKeyText(key))
    throw new ConfigurationError(
      "key_invalid",
      `${namesOf("aPrivateKeyFile")} names a file that is neither a PEM nor a JWK: ${file}`,
      { option: "aPrivateKeyFile", variant: "A" },
    );
  if (key !== undefined) return key;
  throw incomplete(
    "A",
    "private key",
    `${namesOf("aPrivateKeyFile")}, or with ${namesOf("aPrivateKey")}`,
  );
}

export async function readAccount(settings: Settings): Promise<AccountSettings | undefined> {
  const { bClientId: clientId, bClientSecret, bClientSecretFile } = settings;
  if (clientId === undefined) {
    if ((bClientSecret ?? bClientSecretFile) === undefined) return undefined;
    throw incomplete("B", "client id", namesOf("bClientId"));
  }
  const clientSecret = await readSecret(settings, "bClientSecret");
  if (clientSecret !== undefined) return { clientId, clientSecret };
  const ways = `${namesOf("bClientSecretFile")}, or with ${namesOf("bClientSecret")}`;
  const more =
    " A secret in the environment is used only for the client that the environment names. " +
    "To use a login of bivariant login, pass --login.";
  throw incomplete("B", "client secret", ways, more);
}

/**
 * Whether a text is meant as a PEM or a JWK. The error for any other text names its file instead.
 */
export function isKeyText(text: string): boolean {
  return /^\s*\{|-----BEGIN /.test(text);
}

/** Says that no credential is configured, or only one that the named variant does not use. */
export function noCredential({ variant, aClientId, bClientId }: Settings): string {
  const other = variant === "A" ? bClientId && "B" : variant && aClientId && "A";
  return other
    ? `There is a credential for Variant ${other} only.`
    : "No credential is configured.";
}

/** Ignoring an incomplete credential would silently select another identity. */
function incomplete(variant: Variant, what: string, ways: string, more = ""): ConfigurationError {
  return new ConfigurationError(
    "credential_missing",
    `The credential of Variant ${variant} is incomplete: the ${what} is missing. ` +
      `Set it with ${ways}.${more}`,
    { variant },
  );
}

/**
 * Whether the API client has settings of its own. The other settings then belong to the service
 * account alone.
 */
export function hasOwnLoginClient(settings: Settings): boolean {
  const { bLoginClientId, bLoginClientSecret, bLoginClientSecretFile } = settings;
  return (bLoginClientId ?? bLoginClientSecret ?? bLoginClientSecretFile) !== undefined;
}

/**
 * Reads the settings of the API client, or else those of the service account, never some of each.
 */
export async function readLoginClient(
  settings: Settings,
): Promise<{ readonly clientId: string; readonly clientSecret: string | undefined }> {
  const isOwn = hasOwnLoginClient(settings);
  const clientId = isOwn ? settings.bLoginClientId : settings.bClientId;
  if (!clientId)
    throw new ConfigurationError(
      "credential_missing",
      `The client id of the API client is missing. Set it with ${namesOf("bLoginClientId")}; ` +
        `if there is no service account, you can use ${namesOf("bClientId")} instead.`,
      { variant: "B" },
    );
  return {
    clientId,
    clientSecret: await readSecret(settings, isOwn ? "bLoginClientSecret" : "bClientSecret"),
  };
}

/**
 * Reads a secret from the environment or its file, without one line break at the end, which editors
 * and `echo` add.
 *
 * @throws ConfigurationError `credential_invalid`; it does not quote the path, which may be the
 * secret by mistake
 */
export async function readSecret(
  settings: Settings,
  name: keyof typeof secretTable,
): Promise<string | undefined> {
  const { variant, what, file } = secretTable[name];
  const { [name]: value, [file]: path } = settings;
  const names = namesOf(file);
  const invalid = (message: string) =>
    new ConfigurationError("credential_invalid", message, { option: file, variant });
  if (value !== undefined && path !== undefined)
    throw invalid(`The ${what} is set twice, by ${namesOf(name)} and by ${names}. Remove one.`);
  if (path === undefined) return value;
  return readSecretFrom(openFileOf(names, path, settings.signal), what, names, invalid);
}
