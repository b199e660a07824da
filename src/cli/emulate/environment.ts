/** The environment that points the client and this command line at an emulated deployment. */
import { randomBytes } from "node:crypto";
import type { Emulator, EmulatorOptions } from "../../emulator/index.js";
import type { PrivateFolder } from "./private-folder.js";
import type { TestKeyFile } from "./test-key-files.js";

export type Environment = Readonly<Record<`BIVARIANT_${string}`, string>>;

/** Not shown by the service's description; where the emulator has it. */
const AUTHORIZATION_PATH = "/v1/auth/authorize";

/** Of the first registration of each kind; secrets are written into the folder, and named by their files. */
export async function environmentOf(
  emulator: Emulator,
  { variants = ["A", "B"], seed = {} }: EmulatorOptions,
  folder: PrivateFolder,
  keys: readonly TestKeyFile[],
): Promise<Environment> {
  const plugin = variants.includes("A") ? seed.plugins?.find(({ type }) => type === "service") : undefined;
  const account = variants.includes("B") ? seed.serviceAccounts?.[0] : undefined;
  const client = variants.includes("B") ? seed.apiClients?.[0] : undefined;
  const tenant = (plugin ?? account ?? client ?? seed.operators?.[0])?.tenantId;
  const environment: Record<`BIVARIANT_${string}`, string> = { BIVARIANT_BASE_URL: emulator.publicUrl };
  if (tenant !== undefined) environment.BIVARIANT_TENANT = tenant;
  if (plugin !== undefined) {
    environment.BIVARIANT_A_CLIENT_ID = plugin.clientId;
    const key = keys.find(
      ({ tenant, clientId }) => tenant === plugin.tenantId && clientId === plugin.clientId,
    );
    if (key !== undefined) environment.BIVARIANT_A_PRIVATE_KEY_FILE = key.privateKeyFile;
  }
  if (account !== undefined) {
    environment.BIVARIANT_B_CLIENT_ID = account.clientId;
    environment.BIVARIANT_B_CLIENT_SECRET_FILE = await folder.write("client-secret", account.clientSecret);
  }
  if (client !== undefined) {
    environment.BIVARIANT_B_LOGIN_CLIENT_ID = client.clientId;
    if (client.clientSecret !== undefined)
      environment.BIVARIANT_B_LOGIN_CLIENT_SECRET_FILE = await folder.write(
        "login-client-secret",
        client.clientSecret,
      );
    environment.BIVARIANT_B_AUTHORIZATION_ENDPOINT = emulator.publicUrl + AUTHORIZATION_PATH;
    // Logins at an emulator end with it: they need not be among the person's own.
    environment.BIVARIANT_STORE_FILE = folder.path("logins.json");
    // Kept when a seed file is read again: what is stored under it stays readable.
    environment.BIVARIANT_STORE_KEY_FILE = await folder.writeOnce(
      "store-key",
      randomBytes(32).toString("base64"),
    );
  }
  return environment;
}

/** Lines for a POSIX shell. */
export function exportLines(environment: Environment): string[] {
  return Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`);
}

function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
