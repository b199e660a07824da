/** The settings: their flags, environment variables and help, and how a command reads them. */
import { type Command, Option } from "commander";
import type { ConfigurationError, Variant } from "../errors.js";
import { wholeNumber } from "./arguments.js";
import type { Environment } from "./output.js";

interface Setting {
  /** As commander takes it. Absent for secrets, which never come from the command line. */
  readonly flag?: string;
  readonly env?: string;
  readonly text: string;
  readonly choices?: readonly string[];
  /** The least number of milliseconds. */
  readonly least?: number;
}

/** The keys are those that commander derives from the flags. */
const settingTable = {
  baseUrl: {
    flag: "--base-url <url>",
    env: "BIVARIANT_BASE_URL",
    text: "address of the deployment, with its path prefix if it has one",
  },
  tenant: {
    flag: "--tenant <id>",
    env: "BIVARIANT_TENANT",
    text: "tenant id; not needed with --variant B",
  },
  variant: {
    flag: "--variant <A|B>",
    env: "BIVARIANT_VARIANT",
    text: "use this variant without asking the deployment",
    choices: ["A", "B"],
  },
  aClientId: {
    flag: "--a-client-id <id>",
    env: "BIVARIANT_A_CLIENT_ID",
    text: "Variant A: client id of the service plugin",
  },
  aPrivateKeyFile: {
    flag: "--a-private-key-file <path>",
    env: "BIVARIANT_A_PRIVATE_KEY_FILE",
    text: "Variant A: file with the private key, PEM or JWK",
  },
  aPrivateKey: { env: "BIVARIANT_A_PRIVATE_KEY", text: "Variant A: the private key itself" },
  aKeyId: {
    flag: "--a-key-id <kid>",
    env: "BIVARIANT_A_KEY_ID",
    text: "Variant A: kid of the registered key (default: that of the JWK, else the thumbprint)",
  },
  bClientId: {
    flag: "--b-client-id <id>",
    env: "BIVARIANT_B_CLIENT_ID",
    text: "Variant B: client id of the service account, and of the API client unless that has its own",
  },
  bClientSecretFile: {
    flag: "--b-client-secret-file <path>",
    env: "BIVARIANT_B_CLIENT_SECRET_FILE",
    text: "Variant B: file with the client secret",
  },
  bClientSecret: { env: "BIVARIANT_B_CLIENT_SECRET", text: "Variant B: the client secret itself" },
  bLoginClientId: {
    flag: "--b-login-client-id <id>",
    env: "BIVARIANT_B_LOGIN_CLIENT_ID",
    text: "Variant B: client id of the API client that people log in to (default: --b-client-id)",
  },
  bLoginClientSecretFile: {
    flag: "--b-login-client-secret-file <path>",
    env: "BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE",
    text: "Variant B: file with the secret of the API client, if it has one",
  },
  bLoginClientSecret: {
    env: "BIVARIANT_B_LOGIN_CLIENT_SECRET",
    text: "Variant B: the secret of the API client itself",
  },
  authorizationEndpoint: {
    flag: "--authorization-endpoint <url>",
    env: "BIVARIANT_B_AUTHORIZATION_ENDPOINT",
    text: "where people log in: a URL, or a path under the base URL (the description does not show it)",
  },
  scope: { flag: "--scope <scopes>", text: "scopes to request, separated by spaces (default: none)" },
  refreshPath: {
    flag: "--refresh-path <path>",
    env: "BIVARIANT_B_REFRESH_PATH",
    text: "where a login is renewed, under the base URL (not shown either; default: the token path)",
  },
  storeFile: {
    flag: "--store-file <path>",
    env: "BIVARIANT_STORE_FILE",
    text: "encrypted file of the stored logins (default: bivariant/grants.json in $XDG_STATE_HOME or ~/.local/state)",
  },
  storeKeyFile: {
    flag: "--store-key-file <path>",
    env: "BIVARIANT_STORE_KEY_FILE",
    text: "file with its key, 32 bytes as base64 (default: <store file>.key, made at the first login)",
  },
  storeKey: { env: "BIVARIANT_STORE_KEY", text: "the key of the store file itself" },
  login: { flag: "--login", text: "use the stored login, even if a secret or a plugin is configured" },
  timeoutMs: {
    flag: "--timeout-ms <ms>",
    text: "time limit of one HTTP request (default 10000)",
    least: 1,
  },
  rateLimitDeadlineMs: {
    flag: "--rate-limit-deadline-ms <ms>",
    text: "how long to wait for a rate limit or a failing token endpoint (default 60000)",
    least: 0,
  },
  allowInsecureHttp: {
    flag: "--allow-insecure-http",
    text: "allow plain http to another machine, in a network that you trust",
  },
} as const;

export type SettingName = keyof typeof settingTable;

type ValueOf<Name> = Name extends "variant"
  ? Variant
  : Name extends "login" | "allowInsecureHttp"
    ? boolean
    : Name extends "timeoutMs" | "rateLimitDeadlineMs"
      ? number
      : string;

/** The values of one run. */
export type Settings = { readonly [Name in SettingName]?: ValueOf<Name> };

/** The settings that find a deployment. */
export const targetSettings: readonly SettingName[] = ["baseUrl", "tenant", "timeoutMs", "allowInsecureHttp"];

/** The settings that find, renew and store a login. */
const storedLoginSettings: readonly SettingName[] = [
  ...(["bLoginClientId", "bLoginClientSecretFile", "bLoginClientSecret"] as const),
  ...(["refreshPath", "storeFile", "storeKeyFile", "storeKey"] as const),
];

/** The settings for a token, of a machine or of a person who logged in. */
export const identitySettings: readonly SettingName[] = [
  ...(["baseUrl", "tenant", "variant"] as const),
  ...(["aClientId", "aPrivateKeyFile", "aPrivateKey", "aKeyId"] as const),
  ...(["bClientId", "bClientSecretFile", "bClientSecret"] as const),
  ...(["timeoutMs", "rateLimitDeadlineMs", "allowInsecureHttp"] as const),
  ...storedLoginSettings,
  "login",
];

/** The settings to log a person in. */
export const loginSettings: readonly SettingName[] = [
  ...(["baseUrl", "tenant", "bClientId", "bClientSecretFile", "bClientSecret"] as const),
  ...(["authorizationEndpoint", "scope"] as const),
  ...storedLoginSettings,
  ...(["timeoutMs", "rateLimitDeadlineMs", "allowInsecureHttp"] as const),
];

/** Adds the options of some settings to a command, and lists the variables of secrets in its help. */
export function addSettings(command: Command, names: readonly SettingName[], env: Environment): Command {
  const secrets: string[] = [];
  for (const name of names) {
    const { flag, env: variable, text, choices, least }: Setting = settingTable[name];
    if (flag === undefined) {
      secrets.push(`  ${variable?.padEnd(34)}${text}`);
      continue;
    }
    const option = new Option(flag, text);
    if (choices !== undefined) option.choices(choices);
    if (least !== undefined)
      option.argParser(wholeNumber(least, 999_999_999, "a whole number of milliseconds"));
    // Shells and CI systems leave variables that are set but empty. They count as not set.
    if (variable !== undefined && env[variable] !== "") option.env(variable);
    command.addOption(option);
  }
  if (secrets.length > 0)
    command.addHelpText("after", `\nSecrets, from the environment only:\n${secrets.join("\n")}`);
  return command;
}

/** A secret, the file that may hold it, and the client that it belongs to. */
const secretSettings = [
  { value: "aPrivateKey", file: "aPrivateKeyFile" },
  { value: "bClientSecret", file: "bClientSecretFile", client: "bClientId" },
  { value: "bLoginClientSecret", file: "bLoginClientSecretFile", client: "bLoginClientId" },
  { value: "storeKey", file: "storeKeyFile" },
] as const;

/**
 * The settings of a command that commander has parsed: flags before variables, with the secrets of the environment. A
 * flag that names a file replaces the secret of the environment. A flag that names a client replaces the client of the
 * environment together with its secret, which must not be sent for another client.
 */
export function readSettings(command: Command, env: Environment): Settings {
  const settings: Partial<Record<string, unknown>> = { ...command.opts() };
  const isFlag = (name: SettingName) => command.getOptionValueSource(name) === "cli";
  const variableOf = (name: SettingName) => {
    const { env: variable }: Setting = settingTable[name];
    return (variable && env[variable]) || undefined;
  };
  for (const { value, file, ...owner } of secretSettings) {
    const client = "client" in owner ? variableOf(owner.client) : undefined;
    const isOfAnother = "client" in owner && client !== undefined && client !== settings[owner.client];
    if (isFlag(file)) continue;
    if (isOfAnother) delete settings[file];
    else settings[value] = variableOf(value);
  }
  return settings;
}

/** Which setting sets each option of the library. */
const settingOfOption: Readonly<Record<string, SettingName>> = {
  baseUrl: "baseUrl",
  tenantId: "tenant",
  variant: "variant",
  privateKey: "aPrivateKeyFile",
  keyId: "aKeyId",
  clientSecret: "bClientSecretFile",
  authorizationEndpoint: "authorizationEndpoint",
  refreshPath: "refreshPath",
  key: "storeKeyFile",
  timeoutMs: "timeoutMs",
  rateLimitDeadlineMs: "rateLimitDeadlineMs",
  allowInsecureHttp: "allowInsecureHttp",
};

/** Says with which flag or variable to set the option that an error of the library names. */
export function whereToSet({ code, option, variant }: ConfigurationError): string | undefined {
  if (code === "base_url_insecure") return `The flag is ${namesOf("allowInsecureHttp")}.`;
  if (option === undefined) return undefined;
  const name =
    option === "clientId" ? (variant === "B" ? "bClientId" : "aClientId") : settingOfOption[option];
  return name === undefined ? undefined : `Set it with ${namesOf(name)}.`;
}

/** For example `--tenant or BIVARIANT_TENANT`. */
export function namesOf(name: SettingName): string {
  const { flag, env }: Setting = settingTable[name];
  return [flag?.split(" ")[0], env].filter((one) => one !== undefined).join(" or ");
}

/** Where to set the credential of each variant. */
export const waysToConfigure: Readonly<Record<Variant, string>> = {
  A: `${namesOf("aClientId")}, and ${namesOf("aPrivateKeyFile")}`,
  B: `${namesOf("bClientId")}, and ${namesOf("bClientSecretFile")}, or log in as a person with bivariant login`,
};

/** Variables as lines for a POSIX shell. */
export function exportLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).map(([name, value]) => {
    const isPlain = /^[\w@%+=:,./-]+$/.test(value);
    return `export ${name}=${isPlain ? value : `'${value.replaceAll("'", `'\\''`)}'`}`;
  });
}
