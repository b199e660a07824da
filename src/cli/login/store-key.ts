/** The key of the file that logins rest in: a given one, or one made once in a file beside it. */
import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigurationError } from "../../errors.js";
import { readSecret } from "../settings/read-secret.js";
import type { ConnectionSettings } from "../settings/read-settings.js";
import { namesOf } from "../settings/setting-table.js";

const keyBytes = 32;

/** @throws ConfigurationError `credential_missing`, `credential_invalid` */
export async function readStoreKey(
  { storeKey, storeKeyFile }: ConnectionSettings,
  file: string,
): Promise<string> {
  if (storeKey === undefined && storeKeyFile === undefined) return readKeyBeside(file);
  return readSecret({
    variant: "B",
    what: "store's key",
    value: storeKey,
    valueName: "storeKey",
    path: storeKeyFile,
    pathName: "storeKeyFile",
  });
}

/** Makes the folder, and the key unless one is given or there. */
export async function makeStoreKey(
  { storeKey, storeKeyFile }: ConnectionSettings,
  file: string,
): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if (storeKey === undefined && storeKeyFile === undefined) await makeKeyBeside(file);
  } catch (fault) {
    throw refused(file, `cannot be made (${(fault as NodeJS.ErrnoException).code})`);
  }
}

/** Written as a whole and then linked: of two processes one makes the key, and nobody reads half of it. */
async function makeKeyBeside(file: string): Promise<void> {
  const path = keyBeside(file);
  const unfinished = `${path}.${randomUUID()}`;
  try {
    await writeFile(unfinished, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
    await link(unfinished, path);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== "EEXIST") throw fault;
  } finally {
    await rm(unfinished, { force: true });
  }
}

async function readKeyBeside(file: string): Promise<string> {
  const path = keyBeside(file);
  let mode: number;
  let key: string;
  try {
    ({ mode } = await stat(path));
    key = await readFile(path, "utf8");
  } catch (fault) {
    throw refused(file, `cannot be read (${(fault as NodeJS.ErrnoException).code})`);
  }
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    throw refused(file, "may be read by others: chmod 600 it");
  return key;
}

function keyBeside(file: string): string {
  return `${file}.key`;
}

function refused(file: string, why: string): ConfigurationError {
  return new ConfigurationError(
    "credential_invalid",
    `The key of the stored logins ${why}: ${keyBeside(file)}. It can be given with ${namesOf("storeKeyFile")} instead.`,
    { option: "storeKeyFile", variant: "B" },
  );
}
