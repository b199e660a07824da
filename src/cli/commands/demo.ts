/** `bivariant demo`: detect, get a token and list the devices on four emulated deployments, without any settings. */
import { generateKeyPair, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import type { Command } from "commander";
import { createEmulator } from "../../emulator/index.js";
import type { Detection, Evidence, Variant } from "../../errors.js";
import { connect, isVariantError, serviceAccount, servicePlugin, unwrap } from "../../index.js";
import { errorJson, errorLines, exitCodes } from "../error-report.js";
import { evidenceLines, type Paint, printableJson } from "../output.js";
import type { Context } from "../run.js";

interface DemoDeployment {
  readonly name: string;
  readonly served: readonly Variant[];
  /** The variant that `connect` must choose. The credential of the plugin comes first. */
  readonly expected: Variant | null;
}

export const demoDeployments: readonly DemoDeployment[] = [
  { name: "Variant A only", served: ["A"], expected: "A" },
  { name: "Variant B only", served: ["B"], expected: "B" },
  { name: "both variants", served: ["A", "B"], expected: "A" },
  { name: "neither variant", served: [], expected: null },
];

/** A row of `demo --json`. */
interface DemoRow {
  readonly name: string;
  readonly served: readonly Variant[];
  /** The variants that were asked about, in order. The first one that is found ends the detection. */
  readonly asked: readonly Variant[];
  readonly variant: Variant | null;
  readonly evidence: readonly Evidence[];
  readonly tokenLifetimeSeconds: number | null;
  /** The answer of Variant B shows no lifetime, so the default of the description is assumed. */
  readonly isLifetimeAssumed: boolean;
  readonly devices: number | null;
  /** The devices as the API returned them. */
  readonly data: unknown;
  readonly error: Record<string, unknown> | null;
  readonly asExpected: boolean;
}

export function defineDemo(command: Command, { output, signal, finish }: Context): void {
  command
    .action(async () => {
      const credentials = await createCredentials();
      const rows: DemoRow[] = [];
      for (const deployment of demoDeployments) {
        const { row, error } = await visit(deployment, credentials, signal);
        rows.push(row);
        if (!output.json) output.lines(demoLines(row, error, output.paint));
      }
      if (output.json) output.value(rows);
      if (!rows.every(({ asExpected }) => asExpected)) finish(exitCodes.checkSaidNo);
    })
    .addHelpText(
      "after",
      `
Needs no settings and no network: the emulator listens on loopback, with a key and a secret made for this run. The
credential of the plugin comes first, so a deployment that serves both variants is used as Variant A.

Examples:
  $ bivariant demo
  $ bivariant demo --json           one row for each deployment: served, asked, variant, evidence, devices, error, ...

Exits 0 if all four deployments gave the expected result, else 1.`,
    );
}

interface DemoCredentials {
  readonly privateKey: string;
  readonly jwks: { readonly keys: Record<string, unknown>[] };
  readonly clientSecret: string;
}

async function createCredentials(): Promise<DemoCredentials> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  return {
    privateKey: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    clientSecret: randomBytes(32).toString("base64url"),
  };
}

/** Starts an emulated deployment, uses it with both credentials, and stops it. */
async function visit(
  { name, served, expected }: DemoDeployment,
  { privateKey, jwks, clientSecret }: DemoCredentials,
  signal: AbortSignal,
): Promise<{ readonly row: DemoRow; readonly error?: unknown }> {
  const tenantId = "acme";
  const emulator = createEmulator({ variants: served });
  const plugin = { tenantId, clientId: "demo-plugin", type: "service", scopes: ["devices:read"] } as const;
  emulator.registerPlugin({ ...plugin, jwks });
  emulator.registerServiceAccount({ tenantId, clientId: "demo-account", clientSecret });
  const { url: baseUrl, close } = await emulator.listen();
  const rowOf = (detection: Detection | undefined): DemoRow => {
    const evidence = detection?.evidence ?? [];
    const asked = [...new Set(evidence.map(({ variant }) => variant))];
    return {
      ...{
        name,
        served,
        asked,
        variant: null,
        evidence,
        tokenLifetimeSeconds: null,
        isLifetimeAssumed: false,
      },
      ...{ devices: null, data: null, error: null, asExpected: false },
    };
  };
  try {
    const credentials = [
      servicePlugin({ clientId: "demo-plugin", privateKey }),
      serviceAccount({ clientId: "demo-account", clientSecret }),
    ];
    const service = await connect({ baseUrl, tenantId, credentials, signal });
    const { expiresAt, issuedAt } = await service.auth.getAccessToken({ signal });
    const data: unknown = unwrap(await service.call("listDevices", { signal }));
    const devices = Array.isArray(data) ? data.length : null;
    const row = {
      ...rowOf(service.detection),
      variant: service.variant,
      tokenLifetimeSeconds: Math.round((expiresAt - (issuedAt ?? Date.now())) / 1000),
      isLifetimeAssumed: service.variant === "B",
      devices,
      data,
      asExpected: service.variant === expected && devices !== null && devices > 0,
    };
    return { row };
  } catch (error) {
    signal.throwIfAborted();
    const isNotServed = isVariantError(error) && error.code === "variant_not_served";
    const row = rowOf(isVariantError(error) ? error.detection : undefined);
    const asExpected = expected === null && isNotServed;
    return { row: { ...row, error: errorJson(error).error, asExpected }, error };
  } finally {
    await close();
  }
}

function demoLines(row: DemoRow, error: unknown, paint: Paint): string[] {
  const { name, asked, variant, evidence, devices, data, tokenLifetimeSeconds, isLifetimeAssumed } = row;
  const isFound = variant !== null;
  return [
    paint("bold", `A deployment that serves ${name}`),
    `  asked     ${asked.map((one) => `Variant ${one}`).join(", then ")}${isFound ? "; the detection ends with the first variant that is found" : ""}`,
    "  evidence",
    ...evidenceLines(evidence, paint).map((line) => `  ${line}`),
    `  verdict   ${isFound ? paint("green", `Variant ${variant}`) : paint("yellow", "no variant")}`,
    ...(isFound
      ? [
          `  token     valid for ${tokenLifetimeSeconds} s${isLifetimeAssumed ? " (assumed: the answer shows no lifetime)" : ""}`,
          `  devices   ${devices ?? "not a list"}`,
          ...(Array.isArray(data) ? data.map((device: unknown) => `    ${printableJson(device)}`) : []),
        ]
      : []),
    ...(error === undefined ? [] : errorLines(error, paint).map((line) => `  ${line}`)),
    `  ${row.asExpected ? paint("green", "as expected") : paint("red", "NOT as expected")}`,
    "",
  ];
}
