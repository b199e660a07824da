/** Every setting by its flag and its environment variable: the options, the help and the errors are made of it. */
import type { ConfigurationError } from "../../errors.js";

export interface Setting {
  /** As commander takes it. Absent for secrets, which never come from the command line. */
  readonly flag?: string;
  readonly env?: string;
  readonly text: string;
}

export type SettingName =
  | "baseUrl"
  | "tenant"
  | "variant"
  | "aClientId"
  | "aPrivateKeyFile"
  | "aPrivateKey"
  | "aKeyId"
  | "bClientId"
  | "bClientSecretFile"
  | "bClientSecret"
  | "bLoginClientId"
  | "bLoginClientSecretFile"
  | "bLoginClientSecret"
  | "authorizationEndpoint"
  | "scope"
  | "refreshPath"
  | "storeFile"
  | "storeKeyFile"
  | "storeKey"
  | "login"
  | "timeoutMs"
  | "rateLimitDeadlineMs"
  | "allowInsecureHttp";

/** The keys are those that commander gives the flags. */
export const settingTable: Readonly<Record<SettingName, Setting>> = {
  baseUrl: {
    flag: "--base-url <url>",
    env: "BIVARIANT_BASE_URL",
    text: "address of the deployment, with a path prefix if there is one",
  },
  tenant: {
    flag: "--tenant <id>",
    env: "BIVARIANT_TENANT",
    text: "tenant id; a named Variant B alone needs none",
  },
  variant: {
    flag: "--variant <A|B>",
    env: "BIVARIANT_VARIANT",
    text: "take this variant without asking the deployment",
  },
  aClientId: {
    flag: "--a-client-id <id>",
    env: "BIVARIANT_A_CLIENT_ID",
    text: "Variant A: id of the service plugin",
  },
  aPrivateKeyFile: {
    flag: "--a-private-key-file <path>",
    env: "BIVARIANT_A_PRIVATE_KEY_FILE",
    text: "Variant A: private key, PEM or JWK",
  },
  aPrivateKey: { env: "BIVARIANT_A_PRIVATE_KEY", text: "Variant A: the private key itself" },
  aKeyId: {
    flag: "--a-key-id <kid>",
    env: "BIVARIANT_A_KEY_ID",
    text: "Variant A: kid the key is registered under (default: the JWK's own, else its thumbprint)",
  },
  bClientId: {
    flag: "--b-client-id <id>",
    env: "BIVARIANT_B_CLIENT_ID",
    text: "Variant B: client id of the service account; of the API client too, where that has none of its own",
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
    text: "Variant B: client id of the API client that a person logs in to (default: --b-client-id)",
  },
  bLoginClientSecretFile: {
    flag: "--b-login-client-secret-file <path>",
    env: "BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE",
    text: "Variant B: file with its client secret, if it has one",
  },
  bLoginClientSecret: { env: "BIVARIANT_B_LOGIN_CLIENT_SECRET", text: "Variant B: that secret itself" },
  authorizationEndpoint: {
    flag: "--authorization-endpoint <url>",
    env: "BIVARIANT_B_AUTHORIZATION_ENDPOINT",
    text: "where a person logs in: a URL, or a path under the base URL (the description does not show it)",
  },
  scope: { flag: "--scope <scopes>", text: "scopes to ask for, with spaces between (default: none named)" },
  refreshPath: {
    flag: "--refresh-path <path>",
    env: "BIVARIANT_B_REFRESH_PATH",
    text: "where a login is renewed, under the base URL (not shown; default: the token path)",
  },
  storeFile: {
    flag: "--store-file <path>",
    env: "BIVARIANT_STORE_FILE",
    text: "file that logins rest in, encrypted (default: bivariant/grants.json in $XDG_STATE_HOME or ~/.local/state)",
  },
  storeKeyFile: {
    flag: "--store-key-file <path>",
    env: "BIVARIANT_STORE_KEY_FILE",
    text: "file with its key, 32 bytes as base64 (default: <store file>.key, made at the first login)",
  },
  storeKey: { env: "BIVARIANT_STORE_KEY", text: "its key itself" },
  login: { flag: "--login", text: "use the stored login, also where a secret or a plugin is configured" },
  timeoutMs: { flag: "--timeout-ms <ms>", text: "limit of one HTTP request (default 10000)" },
  rateLimitDeadlineMs: {
    flag: "--rate-limit-deadline-ms <ms>",
    text: "how long to wait for a rate limit or a failing token endpoint (default 60000)",
  },
  allowInsecureHttp: {
    flag: "--allow-insecure-http",
    text: "plain http to another machine, in a network you trust",
  },
};

/** What finds a deployment, and how long it is waited for. */
export const targetSettings: readonly SettingName[] = ["baseUrl", "tenant", "timeoutMs", "allowInsecureHttp"];

/** Everything that a token needs. */
export const connectionSettings: readonly SettingName[] = [
  ...(["baseUrl", "tenant", "variant"] as const),
  ...(["aClientId", "aPrivateKeyFile", "aPrivateKey", "aKeyId"] as const),
  ...(["bClientId", "bClientSecretFile", "bClientSecret"] as const),
  ...(["timeoutMs", "rateLimitDeadlineMs", "allowInsecureHttp"] as const),
];

/** Whose login it is, where it rests, and how it is renewed. */
const storedLoginSettings = [
  ...(["bLoginClientId", "bLoginClientSecretFile", "bLoginClientSecret"] as const),
  ...(["refreshPath", "storeFile", "storeKeyFile", "storeKey"] as const),
] as const;

/** What speaks for a machine or for a person who logged in. */
export const identitySettings: readonly SettingName[] = [
  ...connectionSettings,
  ...storedLoginSettings,
  "login",
];

/** Everything that a login needs. */
export const loginSettings: readonly SettingName[] = [
  ...(["baseUrl", "tenant", "bClientId", "bClientSecretFile", "bClientSecret"] as const),
  ...(["authorizationEndpoint", "scope"] as const),
  ...storedLoginSettings,
  ...(["timeoutMs", "rateLimitDeadlineMs", "allowInsecureHttp"] as const),
];

/** Where each option of the library is set on the command line. */
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

/** Tells a person at the command line where to set what the library calls by the name of its option. */
export function whereToSet({ code, option, variant }: ConfigurationError): string | undefined {
  if (code === "base_url_insecure") return `Here that is ${namesOf("allowInsecureHttp")}.`;
  if (option === undefined) return undefined;
  const name =
    option === "clientId" ? (variant === "B" ? "bClientId" : "aClientId") : settingOfOption[option];
  return name === undefined ? undefined : `Set it with ${namesOf(name)}.`;
}

/** `--tenant or BIVARIANT_TENANT`. */
export function namesOf(name: SettingName): string {
  const { flag, env } = settingTable[name];
  return [flag?.split(" ")[0], env].filter((one) => one !== undefined).join(" or ");
}
