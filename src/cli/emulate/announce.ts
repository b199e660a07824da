/** Tells what is served, and how the client, this command line and a person find it. */
import type { Emulator, EmulatorOptions } from "../../emulator/index.js";
import type { Output } from "../output.js";
import { environmentOf, exportLines } from "./environment.js";
import type { PrivateFolder } from "./private-folder.js";
import { testKeyFiles } from "./test-key-files.js";

export async function announce(
  emulator: Emulator,
  options: EmulatorOptions,
  folder: PrivateFolder,
  output: Output,
): Promise<void> {
  const { variants = ["A", "B"], seed = {}, admin } = options;
  const servesA = variants.includes("A");
  const keys = servesA ? await testKeyFiles(emulator, options, folder) : [];
  const environment = await environmentOf(emulator, options, folder, keys);
  if (output.json) {
    output.valueLine({ served: variants, environment, keys });
    return;
  }
  output.lines(exportLines(environment));
  const others = keys.filter(
    ({ privateKeyFile }) => privateKeyFile !== environment.BIVARIANT_A_PRIVATE_KEY_FILE,
  );
  for (const { tenant, clientId, type, privateKeyFile } of others) {
    output.note(`The key of ${clientId} (${type}, tenant ${tenant}): ${privateKeyFile}`);
  }
  const tenants = servesA ? new Set((seed.operators ?? []).map(({ tenantId }) => tenantId)) : [];
  for (const tenant of tenants) output.note(`The host application: ${emulator.publicUrl}/host/${tenant}`);
  if (admin !== false) output.note(`Watch and steer it: ${emulator.url}/_emulator`);
}
