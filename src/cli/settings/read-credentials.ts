/** The credentials that the settings describe, the plugin first. */

import type { MachineCredential } from "../../auth/credential.js";
import { serviceAccount } from "../../auth/service-account.js";
import { servicePlugin } from "../../auth/service-plugin.js";
import { ConfigurationError, type Variant } from "../../errors.js";
import { readSecret } from "./read-secret.js";
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
  const found = [plugin, account].filter((one) => one !== undefined);
  if (found.length === 0) throw noCredential(variant);
  return {
    credentials: found.map(({ credential }) => credential),
    secrets: found.map(({ secret }) => secret),
  };
}

type Found = { readonly credential: MachineCredential; readonly secret: string };

async function readPlugin(settings: ConnectionSettings): Promise<Found | undefined> {
  const { aClientId, aPrivateKey, aPrivateKeyFile, aKeyId } = settings;
  if ([aClientId, aPrivateKey, aPrivateKeyFile, aKeyId].every((one) => one === undefined)) return undefined;
  if (aClientId === undefined) throw noClientId("A");
  const secret = await readSecret({
    variant: "A",
    what: "private key",
    value: aPrivateKey,
    valueName: "aPrivateKey",
    path: aPrivateKeyFile,
    pathName: "aPrivateKeyFile",
  });
  const privateKey = withLineBreaks(secret);
  const credential = servicePlugin({
    clientId: aClientId,
    privateKey,
    ...(aKeyId === undefined ? {} : { keyId: aKeyId }),
  });
  return { credential, secret };
}

async function readAccount(settings: ConnectionSettings): Promise<Found | undefined> {
  const { bClientId, bClientSecret, bClientSecretFile } = settings;
  if ([bClientId, bClientSecret, bClientSecretFile].every((one) => one === undefined)) return undefined;
  if (bClientId === undefined) throw noClientId("B");
  const secret = await readSecret({
    variant: "B",
    what: "client secret",
    value: bClientSecret,
    valueName: "bClientSecret",
    path: bClientSecretFile,
    pathName: "bClientSecretFile",
  });
  return { credential: serviceAccount({ clientId: bClientId, clientSecret: secret }), secret };
}

/** Files of environment variables hold a PEM on one line, with `\n` written out. */
function withLineBreaks(key: string): string {
  return key.startsWith("-----") && !key.includes("\n") ? key.replaceAll("\\n", "\n") : key;
}

function noClientId(variant: Variant): ConfigurationError {
  const name = variant === "A" ? "aClientId" : "bClientId";
  return new ConfigurationError(
    "credential_missing",
    `Variant ${variant}'s credential is incomplete: the client id is missing. Set it with ${namesOf(name)}.`,
    { option: name, variant },
  );
}

function noCredential(variant: Variant | undefined): ConfigurationError {
  const ways = {
    A: `for Variant A ${namesOf("aClientId")}, and ${namesOf("aPrivateKeyFile")}`,
    B: `for Variant B ${namesOf("bClientId")}, and ${namesOf("bClientSecretFile")}`,
  };
  const wanted = variant === undefined ? `${ways.A}; ${ways.B}` : ways[variant];
  return new ConfigurationError("credential_missing", `No credential is configured. Set ${wanted}.`);
}
