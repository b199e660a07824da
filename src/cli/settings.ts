/** The settings: their flags, environment variables and help, and how a command reads them. */
import { type Command, Option } from "commander";
import type { ConfigurationError, Variant } from "../errors.js";
import { wholeNumber } from "./arguments.js";
import type { Environment } from "./output.js";

interface Setting {
  readonly text: string;
  /** The name of the value in the help. Absent for switches and secrets. */
  readonly value?: string;
  /** A secret has no flag, because other users can see the command line. */
  readonly isSecret?: true;
  /** The variable, if it is not BIVARIANT_ and the name in upper case; false if there is none. */
  readonly env?: string | false;
  readonly choices?: readonly string[];
  /** The least number of milliseconds, and the default. */
  readonly least?: number;
  readonly default?: number;
}

/**
 * The flags follow from the keys: `aClientId` is --a-client-id, and its variable
 * BIVARIANT_A_CLIENT_ID.
 */
const settingTable = {
  baseUrl: { value: "url", text: "address of the deployment, with its path prefix if it has one" },
  tenant: { value: "id", text: "tenant id, which Variant A needs; in Variant B only a local name" },
  variant: {
    value: "A|B",
    text: "use this variant without asking the deployment",
    choices: ["A", "B"],
  },
  aClientId: { value: "id", text: "Variant A: client id of the service plugin" },
  aPrivateKeyFile: { value: "path", text: "Variant A: file with the private key, PEM or JWK" },
  aPrivateKey: { isSecret: true, text: "Variant A: the private key itself" },
  aKeyId: {
    value: "kid",
    text: "Variant A: kid of the key (default: that of the JWK, else the thumbprint)",
  },
  audience: {
    value: "url",
    env: "BIVARIANT_A_AUDIENCE",
    text: "Variant A: aud of the assertion, if a proxy rewrites the token URL (default: that URL)",
  },
  bClientId: { value: "id", text: "Variant B: client id of the service account" },
  bClientSecretFile: { value: "path", text: "Variant B: file with the client secret" },
  bClientSecret: { isSecret: true, text: "Variant B: the client secret itself" },
  bLoginClientId: {
    value: "id",
    text: "Variant B: id of the API client for logins",
  },
  bLoginClientSecretFile: {
    value: "path",
    text: "Variant B: file with the API client's secret, if any",
  },
  bLoginClientSecret: { isSecret: true, text: "Variant B: the API client's secret itself" },
  authorizationEndpoint: {
    value: "url",
    env: "BIVARIANT_B_AUTHORIZATION_ENDPOINT",
    text: "where people log in: a URL, or a path under the base URL",
  },
  issuer: {
    value: "url",
    env: "BIVARIANT_B_ISSUER",
    text: "the iss that the callback must have (RFC 9207)",
  },
  scope: {
    value: "scopes",
    env: false,
    text: "scopes to request, separated by spaces (default: none)",
  },
  refreshPath: {
    value: "path",
    env: "BIVARIANT_B_REFRESH_PATH",
    text: "where a login is renewed, under the base URL (default: the token path)",
  },
  storeFile: {
    value: "path",
    text: "folder of the stored logins, encrypted (default: bivariant/grants in $XDG_STATE_HOME or ~/.local/state)",
  },
  storeKeyFile: {
    value: "path",
    text: "file with its key, 32 bytes as base64 (default: <store file>.key)",
  },
  storeKey: { isSecret: true, text: "the key of the store itself" },
  login: { env: false, text: "use the stored login, even if a secret or a plugin is configured" },
  settings: {
    value: "path",
    text: "JSON file with what is known of the deployment, such as refreshPath",
  },
  timeoutMs: {
    value: "ms",
    env: false,
    least: 1,
    default: 10_000,
    text: "time limit of one HTTP request",
  },
  retryDeadlineMs: {
    value: "ms",
    env: false,
    least: 0,
    default: 60_000,
    text: "how long to wait for a rate limit or a failing server",
  },
  allowInsecureHttp: {
    env: false,
    text: "allow plain http to another machine, in a network that you trust",
  },
} as const;

/** The defaults, which are those of the library. */
export const usualMs: { readonly timeoutMs: number; readonly retryDeadlineMs: number } = {
  timeoutMs: settingTable.timeoutMs.default,
  retryDeadlineMs: settingTable.retryDeadlineMs.default,
};

export type SettingName = keyof typeof settingTable;
const settingNames = Object.keys(settingTable) as SettingName[];

type ValueOf<Name> = Name extends "variant"
  ? Variant
  : Name extends "login" | "allowInsecureHttp"
    ? boolean
    : Name extends "timeoutMs" | "retryDeadlineMs"
      ? number
      : string;

export type Settings = { readonly [Name in SettingName]?: ValueOf<Name> } & {
  /** From the settings file only. */
  readonly unauthorizedStatuses?: readonly number[] | undefined;
} & Surroundings;

/** What a command has of its process. */
export interface Surroundings {
  readonly env: Environment;
  /** Aborted by Ctrl-C or another signal, or when the reader of the output has gone. */
  readonly signal: AbortSignal;
}

function flagOf(name: SettingName): string | undefined {
  const { isSecret }: Setting = settingTable[name];
  return isSecret ? undefined : `--${name.replace(/[A-Z]/g, "-$&").toLowerCase()}`;
}

function variableOf(name: SettingName): string | undefined {
  const { env }: Setting = settingTable[name];
  return env === false
    ? undefined
    : (env ?? `BIVARIANT_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}`);
}

export const settingVariables: readonly string[] = settingNames.flatMap(
  (name) => variableOf(name) ?? [],
);

export const targetSettings: readonly SettingName[] = [
  "baseUrl",
  "tenant",
  "timeoutMs",
  "allowInsecureHttp",
];

/** The settings with which a machine, or a person who logged in, gets a token. */
export const identitySettings: readonly SettingName[] = settingNames.filter(
  (name) => !["authorizationEndpoint", "issuer", "scope"].includes(name),
);

export const loginSettings: readonly SettingName[] = settingNames.filter(
  (name) => !/^(?:variant|login|audience|a[A-Z].*)$/.test(name),
);

/**
 * Adds the options of some settings to a command, and lists the variables of secrets in its help.
 */
export function addSettings(
  command: Command,
  names: readonly SettingName[],
  { env }: Surroundings,
): Command {
  const secretLines: string[] = [];
  for (const name of names) {
    const { value, text, choices, least, default: usual }: Setting = settingTable[name];
    const flag = flagOf(name);
    const variable = variableOf(name);
    if (flag === undefined) {
      secretLines.push(`  ${variable?.padEnd(34)}${text}`);
      continue;
    }
    const option = new Option(value === undefined ? flag : `${flag} <${value}>`, text);
    if (choices !== undefined) option.choices(choices);
    if (least !== undefined)
      option
        .argParser(wholeNumber(least, 999_999_999, "a whole number of milliseconds"))
        .default(usual);
    // Shells and CI systems leave variables that are set but empty. They count as not set.
    if (variable !== undefined && env[variable] !== "") option.env(variable);
    command.addOption(option);
  }
  if (secretLines.length > 0)
    command.addHelpText(
      "after",
      `\nSecrets, from the environment only:\n${secretLines.join("\n")}`,
    );
  return command;
}

/**
 * The setting of the file that may hold each secret, and of the client that the secret belongs to.
 */
export const secretTable = {
  aPrivateKey: { variant: "A", what: "private key", file: "aPrivateKeyFile", client: undefined },
  bClientSecret: {
    variant: "B",
    what: "client secret",
    file: "bClientSecretFile",
    client: "bClientId",
  },
  bLoginClientSecret: {
    variant: "B",
    what: "client secret",
    file: "bLoginClientSecretFile",
    client: "bLoginClientId",
  },
  storeKey: { variant: "B", what: "key of the store", file: "storeKeyFile", client: undefined },
} as const;

/**
 * Reads the flags, the variables and the secrets of a command that commander has parsed. A flag
 * wins over its variable. A flag that names a file also replaces the secret in the environment. A
 * flag that names another client than the environment drops the secret in the environment, which
 * must not be sent for the other. What the client takes from a settings file is added: a flag or
 * its variable wins.
 */
export async function readSettings(
  command: Command,
  { env, signal }: Surroundings,
): Promise<Settings> {
  const settings: { settings?: string; [name: string]: unknown } = { ...command.opts() };
  const valueIn = (name: SettingName) => env[variableOf(name) ?? ""] || undefined;
  for (const name of Object.keys(secretTable) as (keyof typeof secretTable)[]) {
    const { file, client } = secretTable[name];
    if (command.getOptionValueSource(file) === "cli") continue;
    const owner = client && valueIn(client);
    if (client !== undefined && owner !== undefined && owner !== settings[client])
      delete settings[file];
    else settings[name] = valueIn(name);
  }
  if (settings.settings === undefined) return { ...settings, env, signal };
  // Loaded only for a file, since it needs zod and yaml.
  const { readSettingsFile } = await import("./settings-file.js");
  const { refreshPath, unauthorizedStatuses } = await readSettingsFile(settings.settings, signal);
  return {
    ...(refreshPath !== undefined && { refreshPath }),
    ...settings,
    unauthorizedStatuses,
    env,
    signal,
  };
}

const settingOfOption: Readonly<Record<string, SettingName>> = {
  tenantId: "tenant",
  privateKey: "aPrivateKeyFile",
  keyId: "aKeyId",
  clientSecret: "bClientSecretFile",
  key: "storeKeyFile",
};

/** Says with which flag or variable to set the option that an error names. */
export function whereToSet({ code, option = "", variant }: ConfigurationError): string | undefined {
  const ofClient = variant === "B" ? "bClientId" : "aClientId";
  const ofOption = option === "clientId" ? ofClient : (settingOfOption[option] ?? option);
  const name = code === "base_url_insecure" ? "allowInsecureHttp" : ofOption;
  // An error about a file comes from the command line itself, and names the flag.
  return name in settingTable && !option.endsWith("File")
    ? `Set it with ${namesOf(name as SettingName)}.`
    : undefined;
}

/** Returns the flag and the variable, for example `--tenant or BIVARIANT_TENANT`. */
export function namesOf(name: SettingName): string {
  return [flagOf(name), variableOf(name)].filter((one) => one !== undefined).join(" or ");
}

/** Returns the text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns lines with which a POSIX shell sets the variables. */
export function exportLines(variables: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : `export ${name}=${shellWord(value)}`,
  );
}

/** Says how to configure a credential for the variant or, if it is unknown, for either variant. */
export function waysToSet(variant: Variant | undefined): string {
  const ways = {
    A: `${namesOf("aClientId")}, and ${namesOf("aPrivateKeyFile")}`,
    B: `${namesOf("bClientId")}, and ${namesOf("bClientSecretFile")}, or log in as a person with bivariant login`,
  };
  return `Set ${variant === undefined ? `for Variant A ${ways.A}; for Variant B ${ways.B}` : ways[variant]}.`;
}
