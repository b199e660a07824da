/** The private keys that the emulator made, for whoever is to act as the plugins that have them. */
import type { Emulator, EmulatorOptions } from "../../emulator/index.js";
import type { PrivateFolder } from "./private-folder.js";

export interface TestKeyFile {
  readonly tenant: string;
  readonly clientId: string;
  readonly type: "service" | "user_interface";
  /** A JWK. */
  readonly privateKeyFile: string;
}

/** One for each plugin of the seed without a JWKS: whoever registers one has its private key. */
export async function testKeyFiles(
  emulator: Emulator,
  { seed = {} }: EmulatorOptions,
  folder: PrivateFolder,
): Promise<TestKeyFile[]> {
  const without = (seed.plugins ?? []).filter(({ jwks }) => jwks === undefined);
  return Promise.all(
    without.map(async ({ tenantId, clientId, type }) => {
      const name = `${encodeURIComponent(tenantId)}.${encodeURIComponent(clientId)}.key.json`;
      const key = JSON.stringify(emulator.testKey({ tenantId, clientId }));
      return { tenant: tenantId, clientId, type, privateKeyFile: await folder.write(name, key) };
    }),
  );
}
