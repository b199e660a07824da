/** The main job against one emulated deployment: detect, get a token, list the devices. */
import { createEmulator } from "../../emulator/index.js";
import {
  connect,
  type Detection,
  isVariantError,
  serviceAccount,
  servicePlugin,
  unwrap,
} from "../../index.js";
import type { FreshCredentials } from "../fresh-credentials.js";
import { errorJson } from "../report/error-json.js";
import type { DemoRow } from "./demo-row.js";
import type { DemoDeployment } from "./deployments.js";

const tenantId = "acme";
const pluginId = "demo-plugin";
const accountId = "demo-account";

export interface Visit {
  readonly row: DemoRow;
  /** The error itself, for printing. */
  readonly error: unknown;
}

/** Starts the emulator on loopback, visits it with both credentials in hand, and stops it. */
export async function visitDeployment(
  deployment: DemoDeployment,
  { privateKey, jwks, clientSecret }: FreshCredentials,
  signal: AbortSignal,
): Promise<Visit> {
  const emulator = createEmulator({ variants: deployment.served });
  emulator.registerPlugin({
    clientId: pluginId,
    tenantId,
    type: "service",
    jwks: { keys: [...jwks.keys] },
    scopes: ["devices:read"],
  });
  emulator.registerServiceAccount({ clientId: accountId, clientSecret, tenantId });
  const { url, close } = await emulator.listen();
  try {
    const service = await connect({
      baseUrl: url,
      tenantId,
      credentials: [
        servicePlugin({ clientId: pluginId, privateKey }),
        serviceAccount({ clientId: accountId, clientSecret }),
      ],
      signal,
    });
    const { expiresAt, issuedAt } = await service.auth.getAccessToken({ signal });
    const data: unknown = unwrap(await service.call("listDevices", { signal }));
    const devices = Array.isArray(data) ? data.length : null;
    const found = {
      variant: service.variant,
      tokenLifetimeSeconds: Math.round((expiresAt - (issuedAt ?? Date.now())) / 1000),
      isLifetimeAssumed: service.variant === "B",
      devices,
      data,
      asExpected: service.variant === deployment.expected && devices !== null && devices > 0,
    };
    return { row: { ...rowOf(deployment, service.detection), ...found }, error: undefined };
  } catch (error) {
    signal.throwIfAborted();
    const detection = isVariantError(error) ? error.detection : undefined;
    const asExpected =
      deployment.expected === null && isVariantError(error) && error.code === "variant_not_served";
    return { row: { ...rowOf(deployment, detection), error: errorJson(error).error, asExpected }, error };
  } finally {
    await close();
  }
}

function rowOf({ name, served }: DemoDeployment, detection: Detection | undefined): DemoRow {
  const evidence = detection?.evidence ?? [];
  return {
    name,
    served,
    asked: [...new Set(evidence.map(({ variant }) => variant))],
    variant: null,
    evidence,
    tokenLifetimeSeconds: null,
    isLifetimeAssumed: false,
    devices: null,
    data: null,
    error: null,
    asExpected: false,
  };
}
