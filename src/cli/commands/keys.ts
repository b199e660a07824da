/** `bivariant keys`: a key pair for a plugin, its public half, and the sheet with which a customer registers it. */
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { ConfigurationError } from "../../errors.js";
import type { Context, Finish } from "../context.js";
import { exportLines } from "../emulate/environment.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { keySizes, newKey } from "../keys/new-key.js";
import { otherKeys } from "../keys/other-keys.js";
import { jwksOf, publicJwk } from "../keys/public-jwks.js";
import { type Registration, registrationSheet } from "../keys/registration-sheet.js";
import { addSettings } from "../settings/add-settings.js";
import { readPrivateKey } from "../settings/read-plugin.js";
import { readSettings } from "../settings/read-settings.js";
import type { SettingName } from "../settings/setting-table.js";

const keySettings: readonly SettingName[] = ["aPrivateKeyFile", "aPrivateKey", "aKeyId"];

export function addKeys(program: Command, context: Context, finish: Finish): void {
  const keys = program
    .command("keys")
    .description("Make a key for a plugin, show its JWKS, write its registration sheet.");
  addNew(keys, context, finish);
  addJwks(keys, context, finish);
  addRegistration(keys, context, finish);
}

function addNew(keys: Command, { output, env }: Context, finish: Finish): void {
  const command = keys
    .command("new")
    .description("Write a new RSA private key (mode 0600) and print what to register. Overwrites nothing.")
    .option("--out <path>", "where the private key goes", "private.pem")
    .addOption(new Option("--bits <bits>", `size of the key: ${keySizes.join(", ")}`).default("2048"))
    .action(async (flags: Record<string, unknown> & SheetFlags & { out: string; bits: string }) => {
      const bits = keySizes.find((size) => size === flags.bits);
      if (bits === undefined) throw invalid("bits", `must be one of ${keySizes.join(", ")}`);
      const sheet = readSheet(flags, env);
      const key = await newKey(flags.out, bits);
      const registration = { ...sheet, jwks: await jwksOf([await publicJwk(key)]) };
      const privateKeyFile = resolve(flags.out);
      if (output.json) output.value({ privateKeyFile, ...registration });
      else {
        output.lines([registrationSheet(registration)]);
        output.note(`The private key is in ${flags.out}. It is written nowhere else, and goes to nobody.`);
        output.note("Point the client at it:");
        output.note(`  ${exportLines({ BIVARIANT_A_PRIVATE_KEY_FILE: privateKeyFile }).join("\n")}`);
        for (const name of ["BIVARIANT_A_KEY_ID", "BIVARIANT_A_PRIVATE_KEY"].filter((one) => env[one]))
          output.note(`  unset ${name}`);
      }
      finish(exitCodes.done);
    });
  addSheetOptions(command);
  addSettings(command, ["aClientId"]).addHelpText(
    "after",
    `
Example:
  $ bivariant keys new --a-client-id reports --scope devices:read

The sheet goes to the customer. With --json: { "privateKeyFile", "clientId"?, "type", "scopes", "devices"?, "jwks" }.

${exitCodesHelp}`,
  );
}

function addJwks(keys: Command, { output, env }: Context, finish: Finish): void {
  const command = keys
    .command("jwks")
    .description("Print the JWKS of the key that really signs. While keys are exchanged: of both.")
    .option("--also <path...>", alsoText)
    .action(async (flags: Record<string, unknown> & AlsoFlags) => {
      output.value(await configuredJwks(flags, env));
      finish(exitCodes.done);
    });
  addSettings(command, keySettings).addHelpText(
    "after",
    `
Examples; the second while keys are exchanged, until nothing signs with the old one any more:
  $ bivariant keys jwks > jwks.json
  $ bivariant keys jwks --a-private-key-file new.pem --also registered.json > jwks.json

${exitCodesHelp}`,
  );
}

function addRegistration(keys: Command, { output, env }: Context, finish: Finish): void {
  const command = keys
    .command("registration")
    .description("Print the sheet with which a customer registers the plugin.")
    .option("--also <path...>", alsoText)
    .action(async (flags: Record<string, unknown> & SheetFlags & AlsoFlags) => {
      const registration = { ...readSheet(flags, env), jwks: await configuredJwks(flags, env) };
      if (output.json) output.value(registration);
      else output.lines([registrationSheet(registration)]);
      finish(exitCodes.done);
    });
  addSheetOptions(command);
  addSettings(command, ["aClientId", ...keySettings]).addHelpText(
    "after",
    `
Example:
  $ bivariant keys registration --a-client-id reports --a-private-key-file private.pem --scope devices:read

With --json: { "clientId"?, "type", "scopes", "devices"?, "jwks" }.

${exitCodesHelp}`,
  );
}

const alsoText =
  "files with keys that stay registered meanwhile: private keys, or the JWKS that is registered";

interface AlsoFlags {
  readonly also?: readonly string[];
}

interface SheetFlags {
  readonly type: string;
  readonly scope?: readonly string[];
  readonly device?: readonly string[];
}

function addSheetOptions(command: Command): void {
  command
    .addOption(new Option("--type <type>", "type of the plugin: service, user-interface").default("service"))
    .option("--scope <scope...>", "scopes to be granted, of the form area:read, area:write or area:execute")
    .option("--device <id...>", "devices to restrict the plugin to");
}

/** "one scope of the form area:read, area:write or area:execute" (section 5.6 of the description). */
const scopeForm = /^[^\s:,]+:(?:read|write|execute)$/;

function readSheet(
  flags: Record<string, unknown> & SheetFlags,
  env: Context["env"],
): Omit<Registration, "jwks"> {
  const { scope: scopes = [], device: devices } = flags;
  const type = flags.type.replace("-", " ");
  if (type !== "service" && type !== "user interface")
    throw invalid("type", "must be service or user-interface");
  if (!scopes.every((one) => scopeForm.test(one)))
    throw invalid(
      "scope",
      "must be of the form area:read, area:write or area:execute; several follow each other, without commas",
    );
  const { aClientId: clientId } = readSettings({ aClientId: flags.aClientId }, env);
  return { clientId, type, scopes, devices };
}

function invalid(option: string, why: string): ConfigurationError {
  return new ConfigurationError("option_invalid", `--${option} ${why}.`, { option });
}

async function configuredJwks(
  flags: Record<string, unknown> & AlsoFlags,
  env: Context["env"],
): Promise<Registration["jwks"]> {
  // A login's --scope is another than a sheet's.
  const { scope: _scope, ...given } = flags;
  const settings = readSettings(given, env);
  const own = await publicJwk(await readPrivateKey(settings), settings.aKeyId);
  const others = await Promise.all((flags.also ?? []).map(otherKeys));
  return jwksOf([own, ...others.flat()]);
}
