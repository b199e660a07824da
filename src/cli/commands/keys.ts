/**
 * `bivariant keys`: makes a key for a plugin, its JWKS, and the sheet to register the plugin with.
 */
import { createPrivateKey, generateKeyPair } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { type Command, Option } from "commander";
import type { JWK } from "jose";
import {
  ConfigurationError,
  type ConfigurationErrorCode,
  isConfigurationError,
  wireText,
} from "../../errors.js";
import { importSigningKey, readSecretFrom } from "../../internal.js";
import { invalidFlag, openFileOf } from "../arguments.js";
import { isKeyText, readPrivateKey } from "../credentials.js";
import type { Context } from "../run.js";
import {
  addSettings,
  exportLines,
  readSettings,
  type SettingName,
  type Settings,
} from "../settings.js";

export function define(keys: Command, context: Context): void {
  defineNew(keys.command("new"), context);
  defineJwks(keys.command("jwks"), context);
  defineRegistration(keys.command("registration"), context);
}

const keySettings: readonly SettingName[] = ["aPrivateKeyFile", "aPrivateKey", "aKeyId"];

function defineNew(command: Command, context: Context): void {
  const { output, env, signal } = context;
  command
    .description(
      "Write a new RSA private key (mode 0600) and print what to register. " +
        "Never overwrites a file.",
    )
    .option("--out <path>", "file for the private key", "private.pem")
    // RFC 7518 section 3.3 requires at least 2048 bits. More than 4096 only make signing slower.
    .addOption(
      new Option("--bits <bits>", "size of the key")
        .choices(["2048", "3072", "4096"])
        .default("2048"),
    );
  addSheetOptions(command, ["aClientId"], context)
    .action(async (flags: SheetFlags & { out: string; bits: string }) => {
      const sheet = readSheet(await readSettings(command, context), flags);
      const key = await createKey(flags.out, Number(flags.bits), signal);
      const registration = { ...sheet, jwks: { keys: [await publicJwk(key)] } };
      const privateKeyFile = resolve(flags.out);
      if (output.json) return output.value({ privateKeyFile, ...registration });
      output.lines(...registrationSheet(registration));
      output.note(`The private key is in ${flags.out}. Keep it secret. Use it with:`);
      output.note(
        `  $ ${exportLines({ BIVARIANT_A_PRIVATE_KEY_FILE: privateKeyFile }).join("\n")}`,
      );
      for (const name of ["BIVARIANT_A_KEY_ID", "BIVARIANT_A_PRIVATE_KEY"])
        if (env[name]) output.note(`  $ unset ${name}`);
    })
    .addHelpText(
      "after",
      `
Example:
  $ bivariant keys new --a-client-id reports --scope devices:read

Give the sheet to the customer. With --json: { "privateKeyFile", "clientId"?,
"type", "scopes", "devices"?, "jwks" }.`,
    );
}

function defineJwks(command: Command, context: Context): void {
  const { output } = context;
  command
    .description(
      "Print the JWKS of the configured private key, and of further keys during a key rotation.",
    )
    .option("--also <path...>", alsoText)
    .action(async ({ also }: Pick<SheetFlags, "also">) =>
      output.value(await configuredJwks(await readSettings(command, context), also)),
    );
  addSettings(command, keySettings, context).addHelpText(
    "after",
    `
Examples; the second until nothing signs with the old key:
  $ bivariant keys jwks > jwks.json
  $ bivariant keys jwks --a-private-key-file new.pem --also registered.json \\
      > jwks.json`,
  );
}

function defineRegistration(command: Command, context: Context): void {
  const { output } = context;
  command
    .description("Print the sheet with which a customer registers the plugin.")
    .option("--also <path...>", alsoText);
  addSheetOptions(command, ["aClientId", ...keySettings], context)
    .action(async (flags: SheetFlags) => {
      const settings = await readSettings(command, context);
      const sheet = readSheet(settings, flags);
      const registration = { ...sheet, jwks: await configuredJwks(settings, flags.also) };
      if (output.json) output.value(registration);
      else output.lines(...registrationSheet(registration));
    })
    .addHelpText(
      "after",
      `
Example:
  $ bivariant keys registration --a-client-id reports \\
      --a-private-key-file private.pem --scope devices:read

With --json: { "clientId"?, "type", "scopes", "devices"?, "jwks" }.`,
    );
}

const alsoText = "files with keys that stay registered: private keys, or the registered JWKS";

interface SheetFlags {
  readonly type: "service" | "user-interface";
  readonly scope?: readonly string[];
  readonly device?: readonly string[];
  /** Only `keys registration` has this flag. */
  readonly also?: readonly string[];
}

function addSheetOptions(
  command: Command,
  settings: readonly SettingName[],
  context: Context,
): Command {
  const type = new Option("--type <type>", "type of the plugin");
  command
    .addOption(type.choices(["service", "user-interface"]).default("service"))
    .option(
      "--scope <scope...>",
      "scopes to grant, of the form area:read, area:write or area:execute",
    )
    .option("--device <id...>", "devices to restrict the plugin to");
  return addSettings(command, settings, context);
}

/** Reads all fields of the registration except the keys (sections 1 and 2.1 of the description). */
function readSheet({ aClientId: clientId }: Settings, flags: SheetFlags) {
  const { type, scope: scopes = [], device: devices } = flags;
  // "One scope of the form area:read, area:write or area:execute" (section 5.6 of the description).
  if (!scopes.every((one) => /^[^\s:,]+:(?:read|write|execute)$/.test(one)))
    throw invalidFlag(
      "--scope",
      "must be of the form area:read, area:write or area:execute. " +
        "Separate several with spaces, without commas.",
    );
  if (devices?.includes("")) throw invalidFlag("--device", "must not be empty.");
  if (clientId === "") throw invalidFlag("--a-client-id", "must not be empty.");
  return { clientId, type: type === "service" ? type : "user interface", scopes, devices };
}

function registrationSheet(
  registration: ReturnType<typeof readSheet> & { readonly jwks: object },
): string[] {
  const { clientId, type, scopes, devices, jwks } = registration;
  return [
    "Registration of an external plugin",
    "",
    "Where          Settings, Tenant Settings, External Plugins",
    "Who            a person holding the permission write:tenant-settings",
    `Client id      ${clientId ?? "(agree on one with the customer)"}`,
    `Type           ${type}`,
    "Scopes         " +
      (scopes.join(", ") ||
        "(name them with --scope, of the form area:read, area:write or area:execute)"),
    `Devices        ${devices?.join(", ") ?? "no restriction"}`,
    "Enabled        yes",
    "JWKS           the public keys below; they are not secret",
    "",
    JSON.stringify(jwks, null, 2),
    "",
    type === "service"
      ? "A service plugin has no user to narrow against: " +
        "an administrator authorises its grant at install time."
      : "A user-interface plugin may do only what both its scopes and the rights of the operator " +
        "who launched it permit.",
    "Narrowing the grant takes effect within minutes. " +
      "A scope granted later reaches only the next token.",
  ];
}

/**
 * Writes a new private key that only the user can read, and returns it.
 * @throws ConfigurationError
 */
async function createKey(file: string, modulusLength: number, signal: AbortSignal) {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength });
  signal.throwIfAborted();
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  await writeFile(file, pem, { flag: "wx", mode: 0o600 }).catch(
    ({ code }: NodeJS.ErrnoException) => {
      throw invalidFlag(
        "--out",
        code === "EEXIST"
          ? `must name a new file: ${file} exists, and customers may have registered its key.`
          : "names a file that cannot be written " +
              `(${code === "ENOENT" ? "its folder does not exist" : code}): ${file}`,
      );
    },
  );
  return pem;
}

/**
 * Makes one JWKS from all keys. Their kids must differ, because a service finds a key by its kid.
 */
async function configuredJwks(settings: Settings, also: readonly string[] = []) {
  const own = await publicJwk(await readPrivateKey(settings), settings.aKeyId);
  const others = await Promise.all(also.map((path) => readOtherKeys(path, settings.signal)));
  const keys = [own, ...others.flat()];
  const double = keys.find((key, index) => keys.findIndex(({ kid }) => kid === key.kid) < index);
  const same = double && keys.find(({ kid }) => kid === double.kid);
  if (same === undefined) return { keys };
  throw new ConfigurationError(
    "option_invalid",
    same.n === double?.n && same.e === double?.e
      ? `The key ${wireText(same.kid)} is given twice. Remove one.`
      : `Two different keys have the kid ${wireText(same.kid)}. ` +
          "Remove --a-key-id and BIVARIANT_A_KEY_ID, so that the kid of the new key is its " +
          "thumbprint.",
    { option: "also" },
  );
}

/**
 * Returns the public half of a private key, with the kid of its assertions.
 * @throws ConfigurationError
 */
async function publicJwk(privateKey: string, keyId?: string) {
  const { keyId: kid } = await importSigningKey(privateKey, keyId);
  const text = privateKey.trim();
  const { n, e }: JWK = text.startsWith("{")
    ? JSON.parse(text)
    : createPrivateKey(text).export({ format: "jwk" });
  return { ...signing, kid, n, e } as JWK;
}

const signing = { kty: "RSA", use: "sig", alg: "RS256" } as const;

/**
 * Reads a private key or a JWKS.
 * @throws ConfigurationError; it names a file that was read, and quotes nothing of it
 */
async function readOtherKeys(file: string, signal: AbortSignal) {
  const invalid = (message: string, code: ConfigurationErrorCode = "credential_invalid") =>
    new ConfigurationError(code, message, { option: "also" });
  const text = await readSecretFrom(openFileOf("--also", file, signal), "key", "--also", invalid);
  if (!isKeyText(text))
    throw invalid(
      `--also names a file that is neither a PEM nor a JWK nor a JWKS: ${file}`,
      "key_invalid",
    );
  try {
    const { keys } = jsonIn(text) as { readonly keys?: unknown };
    return Array.isArray(keys) ? keys.map(checkedKey) : [await publicJwk(text)];
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    throw invalid(`--also ${file}: ${error.message}`, error.code);
  }
}

/** What is not JSON must be a private key as PEM. */
function jsonIn(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** A registered key keeps its kid, because programs that sign with the key use that kid. */
function checkedKey(key: Partial<JWK> | null): JWK {
  const { kty, kid, n, e, d } = key ?? {};
  const refused = (code: ConfigurationErrorCode, problem: string) =>
    new ConfigurationError(code, `the JWKS holds ${problem}`);
  if (d !== undefined)
    throw refused(
      "key_invalid",
      "a private key, which must be kept secret. Make and register a new key.",
    );
  if (kty !== "RSA" || typeof n !== "string" || typeof e !== "string")
    throw refused("key_unsupported", "a key that is not an RSA key.");
  if (typeof kid !== "string" || kid === "")
    throw refused("key_id_required", "a key without a kid, which it needs among several keys.");
  return { ...signing, kid, n, e };
}
