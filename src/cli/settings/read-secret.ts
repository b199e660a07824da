/** A secret from a file or from the environment, never from the command line. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigurationError, type Variant } from "../../errors.js";
import { namesOf, type SettingName } from "./setting-table.js";

/** Bytes. The key of 4096 bits takes 3 KiB as PEM. */
const longestSecret = 65_536;

export interface SecretSource {
  readonly variant: Variant;
  /** What it is called in messages. */
  readonly what: string;
  readonly value: string | undefined;
  readonly valueName: SettingName;
  readonly path: string | undefined;
  readonly pathName: SettingName;
}

/**
 * Reads a secret. One line break at its end, which editors and `echo` leave, does not belong to it.
 *
 * @throws ConfigurationError `credential_missing`, `credential_invalid`; they quote what is surely a path: a secret may stand in its place
 */
export async function readSecret(source: SecretSource): Promise<string> {
  const { variant, what, value, path, valueName, pathName } = source;
  const fail = (code: "credential_missing" | "credential_invalid", message: string) =>
    new ConfigurationError(code, message, { option: pathName, variant });
  if (value !== undefined && path !== undefined)
    throw fail(
      "credential_invalid",
      `The ${what} is given twice, by ${namesOf(valueName)} and by ${namesOf(pathName)}. Leave one out.`,
    );
  if (value !== undefined) return value;
  if (path === undefined)
    throw fail(
      "credential_missing",
      `Variant ${variant}'s credential is incomplete: the ${what} is missing. Set it with ${namesOf(pathName)}, or with ${namesOf(valueName)}.`,
    );
  if (looksLikeContent(path))
    throw fail(
      "credential_invalid",
      `${namesOf(pathName)} holds the ${what} itself. Give the path of a file.`,
    );
  let bytes: Buffer;
  try {
    bytes = await readBounded(path);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    throw fail(
      "credential_invalid",
      (await isSurelyPath(path, code))
        ? `The file with the ${what} cannot be read (${code}): ${path}`
        : `The file with the ${what} cannot be read (${code ?? "no code"}). Give its path with ${namesOf(pathName)}; does that hold the ${what} itself by mistake?`,
    );
  }
  if (bytes.length > longestSecret)
    throw fail(
      "credential_invalid",
      `The file with the ${what} holds more than ${longestSecret} bytes, as none does: ${path}`,
    );
  const secret = bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .replace(/\r?\n$/, "");
  if (secret.trim() === "") throw fail("credential_invalid", `The file with the ${what} is empty: ${path}`);
  return secret;
}

/** At most one byte more than a secret may have: a file, a pipe and a device without end alike. */
async function readBounded(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { end: longestSecret })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** There is something of that name, or a folder that it would be in. */
async function isSurelyPath(path: string, code: string | undefined): Promise<boolean> {
  if (code === "EISDIR" || code === "EACCES") return true;
  if (!path.includes("/")) return false;
  return stat(dirname(path)).then(
    (folder) => folder.isDirectory(),
    () => false,
  );
}

/** Told at once, before anything tries to open it. */
function looksLikeContent(path: string): boolean {
  return /[\r\n{}]|-----/.test(path) || path.length > 1024;
}
