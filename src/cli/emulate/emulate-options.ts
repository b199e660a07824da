/** The emulator that the settings ask for: of a seed file, or with one registration of each kind. */
import { createHash, randomBytes } from "node:crypto";
import { type EmulatorOptions, type EmulatorSeed, readSeedFile } from "../../emulator/index.js";
import type { EmulateSettings } from "./emulate-settings.js";

/** @throws EmulatorError `seed_invalid` */
export function emulateOptions(settings: EmulateSettings): EmulatorOptions {
  const { variant, publicUrl, randomSeed, seedFile } = settings;
  const fromFile = seedFile === undefined ? { seed: defaultSeed(settings) } : readSeedFile(seedFile);
  return {
    ...fromFile,
    ...(variant && { variants: variant }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(randomSeed !== undefined && { randomSeed }),
  };
}

function defaultSeed({
  tenant: tenantId,
  aClientId,
  bClientId,
  scope,
  ...more
}: EmulateSettings): EmulatorSeed {
  const { pageUrl, randomSeed } = more;
  const page = {
    clientId: "emulated-page",
    tenantId,
    type: "user_interface",
    scopes: scope,
    pageUrl,
  } as const;
  return {
    plugins: [
      { clientId: aClientId, tenantId, type: "service", scopes: scope },
      ...(pageUrl === undefined ? [] : [page]),
    ],
    serviceAccounts: [{ clientId: bClientId, clientSecret: newSecret(randomSeed), tenantId }],
    apiClients: [{ clientId: "emulated-client", redirectUris: ["http://127.0.0.1/callback"], tenantId }],
    operators: [{ tenantId, userId: "ada", firstname: "Ada", lastname: "Lovelace", capabilities: scope }],
  };
}

function newSecret(randomSeed: number | undefined): string {
  if (randomSeed === undefined) return randomBytes(32).toString("base64url");
  return createHash("sha256").update(`client secret ${randomSeed}`).digest("base64url");
}
