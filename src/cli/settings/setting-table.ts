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
    text: "Variant B: client id of the service account",
  },
  bClientSecretFile: {
    flag: "--b-client-secret-file <path>",
    env: "BIVARIANT_B_CLIENT_SECRET_FILE",
    text: "Variant B: file with the client secret",
  },
  bClientSecret: { env: "BIVARIANT_B_CLIENT_SECRET", text: "Variant B: the client secret itself" },
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
export const connectionSettings: readonly SettingName[] = Object.keys(settingTable) as SettingName[];

/** Where each option of the library is set on the command line. */
const settingOfOption: Readonly<Record<string, SettingName>> = {
  baseUrl: "baseUrl",
  tenantId: "tenant",
  variant: "variant",
  privateKey: "aPrivateKeyFile",
  keyId: "aKeyId",
  clientSecret: "bClientSecretFile",
  timeoutMs: "timeoutMs",
  rateLimitDeadlineMs: "rateLimitDeadlineMs",
  allowInsecureHttp: "allowInsecureHttp",
};

/** Tells a person at the command line where to set what the library calls by the name of its option. */
export function whereToSet({ option, variant }: ConfigurationError): string | undefined {
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
