/** `bivariant keys`: a key pair for a plugin, its public half, and the sheet with which a customer registers it. */
import { type Command, Option } from "commander";
import type { Context, Finish } from "../context.js";
import { exitCodes, exitCodesHelp } from "../exit-codes.js";
import { keySizes, newKey } from "../keys/new-key.js";
import { publicJwks } from "../keys/public-jwks.js";
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

function addNew(keys: Command, { output }: Context, finish: Finish): void {
  const command = keys
    .command("new")
    .description("Write a new RSA private key (mode 0600) and print what to register. Overwrites nothing.")
    .option("--out <path>", "where the private key goes", "private.pem")
    .option("--bits <bits>", `size of the key: ${keySizes.join(", ")}`, "2048");
  addSheetOptions(command.option("--a-client-id <id>", "id of the plugin")).action(
    async (flags: SheetFlags & { out: string; bits: string }) => {
      const key = await newKey(flags.out, Number(flags.bits));
      const jwks = await publicJwks([{ privateKey: key, keyId: undefined }]);
      const registration = registrationOf(flags, jwks);
      if (output.json) output.value({ privateKeyFile: flags.out, ...registration });
      else {
        output.lines([registrationSheet(registration)]);
        output.note(`The private key is in ${flags.out}. Keep it; it is written nowhere else.`);
        output.note(`Point the client at it: export BIVARIANT_A_PRIVATE_KEY_FILE=${flags.out}`);
      }
      finish(exitCodes.done);
    },
  );
  command.addHelpText(
    "after",
    `
Example:
  $ bivariant keys new --a-client-id reports --scope devices:read

${exitCodesHelp}`,
  );
}

function addJwks(keys: Command, { output, env }: Context, finish: Finish): void {
  const command = keys
    .command("jwks")
    .description("Print the JWKS of the key that really signs. While keys are exchanged: of both.")
    .option("--also <path...>", "private key files that stay registered meanwhile")
    .action(async (flags: Record<string, unknown> & { also?: string[] }) => {
      const jwks = await configuredJwks(flags, env);
      output.value(jwks);
      finish(exitCodes.done);
    });
  addSettings(command, keySettings).addHelpText(
    "after",
    `
Example:
  $ bivariant keys jwks --a-private-key-file new.pem --also old.pem > jwks.json

${exitCodesHelp}`,
  );
}

function addRegistration(keys: Command, { output, env }: Context, finish: Finish): void {
  const command = keys
    .command("registration")
    .description("Print the sheet with which a customer registers the plugin.")
    .option("--also <path...>", "private key files that stay registered meanwhile")
    .action(async (flags: Record<string, unknown> & SheetFlags & { also?: string[] }) => {
      const { aClientId } = readSettings(flags, env);
      const registration = registrationOf({ ...flags, aClientId }, await configuredJwks(flags, env));
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

${exitCodesHelp}`,
  );
}

interface SheetFlags {
  readonly aClientId?: string | undefined;
  readonly type?: Registration["type"];
  readonly scope?: readonly string[];
  readonly device?: readonly string[];
}

function addSheetOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--type <type>", "type of the plugin")
        .choices(["service", "user interface"])
        .default("service"),
    )
    .option("--scope <scope...>", "scopes to be granted, of the form area:read, area:write or area:execute")
    .option("--device <id...>", "devices to restrict the plugin to");
}

function registrationOf(flags: SheetFlags, jwks: Registration["jwks"]): Registration {
  const { aClientId, type = "service", scope = [], device } = flags;
  return { clientId: aClientId, type, scopes: scope, devices: device, jwks };
}

async function configuredJwks(
  flags: Record<string, unknown> & { also?: string[] },
  env: Context["env"],
): Promise<Registration["jwks"]> {
  const settings = readSettings(flags, env);
  const own = { privateKey: await readPrivateKey(settings), keyId: settings.aKeyId };
  const others = (flags.also ?? []).map(async (path) => ({
    privateKey: await readPrivateKey({ aPrivateKeyFile: path }),
    keyId: undefined,
  }));
  return publicJwks([own, ...(await Promise.all(others))]);
}
