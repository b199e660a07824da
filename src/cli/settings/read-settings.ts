/** The settings of one run, from flags and the environment, checked before anything is sent. */
import { z } from "zod";
import { ConfigurationError, type Variant } from "../../errors.js";
import { namesOf, type SettingName, settingTable } from "./setting-table.js";

const text = z.string("must be a text").min(1, "is empty").optional();
const milliseconds = z
  .string()
  .regex(/^\d{1,9}$/, "must be whole milliseconds")
  .transform(Number);

export interface ConnectionSettings {
  readonly baseUrl?: string | undefined;
  readonly tenant?: string | undefined;
  readonly variant?: Variant | undefined;
  readonly aClientId?: string | undefined;
  readonly aPrivateKeyFile?: string | undefined;
  readonly aPrivateKey?: string | undefined;
  readonly aKeyId?: string | undefined;
  readonly bClientId?: string | undefined;
  readonly bClientSecretFile?: string | undefined;
  readonly bClientSecret?: string | undefined;
  readonly bLoginClientId?: string | undefined;
  readonly bLoginClientSecretFile?: string | undefined;
  readonly bLoginClientSecret?: string | undefined;
  readonly authorizationEndpoint?: string | undefined;
  readonly scope?: string | undefined;
  readonly refreshPath?: string | undefined;
  readonly storeFile?: string | undefined;
  readonly storeKeyFile?: string | undefined;
  readonly storeKey?: string | undefined;
  /** The stored login is named as what to use. */
  readonly login?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly rateLimitDeadlineMs?: number | undefined;
  readonly allowInsecureHttp?: boolean | undefined;
}

/** What the library checks itself, base URL and tenant id and keys, is not checked twice. */
const schema: z.ZodType<ConnectionSettings> = z.object({
  baseUrl: z.string().optional(),
  tenant: z.string().optional(),
  variant: z.enum(["A", "B"], "must be A or B").optional(),
  aClientId: text,
  aPrivateKeyFile: text,
  aPrivateKey: text,
  aKeyId: text,
  bClientId: text,
  bClientSecretFile: text,
  bClientSecret: text,
  bLoginClientId: text,
  bLoginClientSecretFile: text,
  bLoginClientSecret: text,
  authorizationEndpoint: text,
  scope: text,
  refreshPath: text,
  storeFile: text,
  storeKeyFile: text,
  storeKey: text,
  login: z.boolean().optional(),
  timeoutMs: milliseconds.refine((ms) => ms > 0, "must be above 0").optional(),
  rateLimitDeadlineMs: milliseconds.optional(),
  allowInsecureHttp: z.boolean().optional(),
});

/** Whose secret it is: a client id by a flag is another client than the environment's, unless it is the same. */
const clients = [
  { id: "bClientId", secret: "bClientSecret", file: "bClientSecretFile" },
  { id: "bLoginClientId", secret: "bLoginClientSecret", file: "bLoginClientSecretFile" },
] as const;

/**
 * Flags win over the environment, and the secret of the environment's client goes to no client that a flag names. A variable that is set but empty counts as not set: so do shells and CI systems
 * leave them.
 *
 * @throws ConfigurationError `option_invalid`; it names the setting, never its value
 */
export function readSettings(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): ConnectionSettings {
  const given: Partial<Record<SettingName, unknown>> = {};
  for (const name of Object.keys(settingTable) as SettingName[]) {
    const { env: variable } = settingTable[name];
    given[name] = flags[name] ?? (variable === undefined ? undefined : env[variable] || undefined);
  }
  // A file named by a flag wins over a secret in the environment.
  if (flags.aPrivateKeyFile !== undefined) delete given.aPrivateKey;
  for (const { id, secret, file } of clients) {
    const ofEnvironment = env[settingTable[id].env ?? ""] || undefined;
    const isAnother = ![undefined, given[id]].includes(ofEnvironment);
    if (isAnother || flags[file] !== undefined) delete given[secret];
    if (isAnother && flags[file] === undefined) delete given[file];
  }
  if (flags.storeKeyFile !== undefined) delete given.storeKey;
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const [issue] = error.issues;
  const name = issue?.path[0] as SettingName;
  throw new ConfigurationError("option_invalid", `${namesOf(name)} ${issue?.message}.`, { option: name });
}
