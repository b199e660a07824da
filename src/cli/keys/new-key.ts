/** Makes an RSA key and writes it where only its owner can read it. */
import { generateKeyPair } from "node:crypto";
import { lstat, open, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { ConfigurationError } from "../../errors.js";

/** RFC 7518 section 3.3 asks for 2048 or more; beyond 4096 a signature costs more than it is worth. */
export const keySizes = ["2048", "3072", "4096"] as const;
export type KeySize = (typeof keySizes)[number];

const ownerOnly = 0o600;

/**
 * Writes a new private key as PKCS#8 PEM, mode 0600 whatever the umask, and returns it. An existing file is never
 * overwritten: it may be the key that customers have registered.
 *
 * @throws ConfigurationError `option_invalid`
 */
export async function newKey(file: string, size: KeySize): Promise<string> {
  // Before the key is made, which takes seconds; opening the file decides.
  if ((await lstat(file).catch(() => undefined)) !== undefined) throw isThere(file);
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: Number(size) });
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  try {
    const handle = await open(file, "wx", ownerOnly);
    try {
      await handle.chmod(ownerOnly);
      await handle.writeFile(pem);
    } catch (fault) {
      await rm(file, { force: true });
      throw fault;
    } finally {
      await handle.close();
    }
  } catch (fault) {
    const { code = "no code" } = fault as NodeJS.ErrnoException;
    if (code === "EEXIST") throw isThere(file);
    const why = code === "ENOENT" ? "its folder does not exist" : code;
    throw refused(`The private key cannot be written to ${file || "a file without a name"} (${why}).`);
  }
  return pem;
}

function isThere(file: string): ConfigurationError {
  return refused(`${file} is there already, and is not overwritten: customers may have registered its key.`);
}

function refused(message: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `${message} Name another file with --out.`, {
    option: "out",
  });
}
