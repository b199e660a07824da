/** The credentials that are examined, and the files that their secrets are in. */
import { isUtf8 } from "node:buffer";
import { type ConfigurationError, isConfigurationError } from "../errors.js";
import { readAtMost } from "../input-file.js";

export interface PluginSettings {
  readonly clientId: string;
  readonly privateKey: string;
  readonly keyId: string | undefined;
  readonly audience: string | undefined;
}

/**
 * Names who asked for a token. Neither id is secret, and a wrong one is a usual reason for a
 * refusal.
 */
export function namesClient(
  { clientId }: { readonly clientId: string },
  tenant: string | undefined,
): string {
  return `the client ${clientId}${tenant === undefined ? "" : ` of the tenant ${tenant}`}`;
}

export interface AccountSettings {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The limit in bytes. A key of 4096 bits takes 3 KiB as PEM. */
const longestSecret = 65_536;

/**
 * Reads a secret without one line break at the end, which editors and `echo` add. `names` says
 * where its file is named. `invalid` makes the error from its message, which does not quote the
 * path: that may be the secret by mistake.
 */
export async function readSecretFrom(
  source: AsyncIterable<Uint8Array>,
  what: string,
  names: string,
  invalid: (message: string) => ConfigurationError,
): Promise<string> {
  const bytes = await readAtMost(source, longestSecret).catch(
    ({ code = "no code" }: NodeJS.ErrnoException) => {
      throw invalid(
        `The file with the ${what} cannot be read (${code}). ` +
          `Set ${names} to the path of a file, not to the ${what} itself.`,
      );
    },
  );
  const problem = (text: string) =>
    invalid(`The file with the ${what} ${text}. Check the path in ${names}.`);
  if (bytes === undefined) throw problem(`is larger than ${longestSecret} bytes`);
  // Other bytes would become replacement characters, and another secret would be sent.
  if (!isUtf8(bytes)) throw problem("is not text in UTF-8");
  const secret = bytes.toString("utf8").replace(/^\ufeff|\r?\n$/g, "");
  if (secret.trim() === "") throw problem("is empty");
  return secret;
}

/** A credential that is wrong is part of what is examined, so that other checks still run. */
export function asInvalid(error: unknown): ConfigurationError {
  if (isConfigurationError(error)) return error;
  throw error;
}
