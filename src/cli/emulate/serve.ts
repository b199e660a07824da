/** An emulated deployment with one plugin and one service account, from start to clean stop. */
import { createEmulator } from "../../emulator/index.js";
import { freshCredentials } from "../fresh-credentials.js";
import type { Output } from "../output.js";
import type { EmulateSettings } from "./emulate-settings.js";
import { type Environment, exportLines } from "./environment.js";
import { type PrivateFolder, privateFolder } from "./private-folder.js";
import { stopSignal } from "./stop-signal.js";
import { printTraffic } from "./traffic.js";

/** Resolves when it was asked to stop, its port is free and its files are gone. @throws EmulatorError */
export async function serve(
  settings: EmulateSettings,
  output: Output,
  interruption: AbortSignal,
): Promise<void> {
  const stop = stopSignal(interruption);
  let folder: PrivateFolder | undefined;
  let close = async () => {};
  try {
    const { variant: variants, tenant: tenantId, aClientId, bClientId, scope: scopes, publicUrl } = settings;
    const emulator = createEmulator({ variants, publicUrl });
    const { privateKey, jwks, clientSecret } = await freshCredentials();
    emulator.registerPlugin({
      clientId: aClientId,
      tenantId,
      type: "service",
      jwks: { keys: [...jwks.keys] },
      scopes,
    });
    emulator.registerServiceAccount({ clientId: bClientId, clientSecret, tenantId });
    const listening = await emulator.listen({ port: settings.port, host: settings.host });
    close = listening.close;
    folder = await privateFolder();
    const environment: Environment = {
      BIVARIANT_BASE_URL: publicUrl === undefined ? listening.url : emulator.publicUrl,
      BIVARIANT_TENANT: tenantId,
      ...(variants.some((one) => one === "A") && {
        BIVARIANT_A_CLIENT_ID: aClientId,
        BIVARIANT_A_PRIVATE_KEY_FILE: await folder.write("private-key.pem", privateKey),
      }),
      ...(variants.some((one) => one === "B") && {
        BIVARIANT_B_CLIENT_ID: bClientId,
        BIVARIANT_B_CLIENT_SECRET_FILE: await folder.write("client-secret", clientSecret),
      }),
    };
    if (output.json) output.valueLine({ served: variants, environment });
    else output.lines(exportLines(environment));
    output.note(
      `Serving Variant ${variants.join(" and Variant ")}. The files last as long as this process; Ctrl-C ends it.`,
    );
    await printTraffic(emulator, output, stop.signal);
  } finally {
    // The secrets first: whoever presses Ctrl-C twice does not wait for the requests under way.
    await folder?.remove();
    await close();
    stop.release();
  }
}
