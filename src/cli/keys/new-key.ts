/** Makes an RSA key and writes it where only its owner can read it. */
import { generateKeyPair } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { ConfigurationError } from "../../errors.js";

/** RFC 7518 section 3.3 asks for 2048 or more; beyond 4096 a signature costs more than it is worth. */
export const keySizes = [2048, 3072, 4096] as const;

/**
 * Writes a new private key as PKCS#8 PEM, mode 0600, and returns it. An existing file is never overwritten: it may
 * be the key that customers have registered.
 *
 * @throws ConfigurationError `option_invalid`
 */
export async function newKey(file: string, bits: number): Promise<string> {
  if (!(keySizes as readonly number[]).includes(bits))
    throw new ConfigurationError(
      "option_invalid",
      `A key of ${bits} bits is not made here: choose ${keySizes.join(", ")}.`,
      {
        option: "bits",
      },
    );
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: bits });
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  try {
    await writeFile(file, pem, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const exists = (cause as NodeJS.ErrnoException).code === "EEXIST";
    throw new ConfigurationError(
      "option_invalid",
      exists
        ? `${file} is there already and is not overwritten: customers may have registered its public key. Name another file with --out.`
        : `${file} cannot be written. Name another file with --out.`,
      { option: "out", cause },
    );
  }
  return pem;
}
