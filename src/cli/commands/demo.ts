/**
 * `bivariant demo`: detect, get a token and list the devices on four emulated deployments, without
 * any settings.
 */
import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import type { Emulator } from "../../emulator/index.js";
import type { Variant } from "../../errors.js";
import { connect, isVariantError, serviceAccount, servicePlugin, unwrap } from "../../index.js";
import { errorJson, errorLines, exitCodes } from "../error-report.js";
import { evidenceLines, type Paint, printableJson } from "../output.js";
import type { Context } from "../run.js";

interface DemoDeployment {
  readonly name: string;
  readonly served: readonly Variant[];
  /**
   * The variant that `connect` must choose. It prefers that of the plugin, which is the first
   * credential.
   */
  readonly expected: Variant | null;
}

export const demoDeployments: readonly DemoDeployment[] = [
  { name: "Variant A only", served: ["A"], expected: "A" },
  { name: "Variant B only", served: ["B"], expected: "B" },
  { name: "both variants", served: ["A", "B"], expected: "A" },
  { name: "neither variant", served: [], expected: null },
];

export function define(command: Command, { output, signal, finish }: Context): void {
  command
    .action(async () => {
      const rows: Row[] = [];
      for (const deployment of demoDeployments) {
        const { row, error } = await visit(deployment, signal);
        rows.push(row);
        if (!output.json) output.lines(...demoLines(row, error, output.paint));
      }
      if (output.json) output.value(rows);
      if (!rows.every(({ asExpected }) => asExpected)) finish(exitCodes.checkSaidNo);
    })
    .addHelpText(
      "after",
      `
Needs no settings and no network: the emulator listens on loopback, with a key
and a secret made for this run. The credential of the plugin comes first, so a
deployment that serves both variants is used as Variant A.

Examples:
  $ bivariant demo
  $ bivariant demo --json           one row for each deployment: served, asked,
                                    variant, evidence, devices, error, ...

Exits 0 if all four deployments gave the expected result, else 1.`,
    );
}

/** A row of `demo --json`. */
type Row = Awaited<ReturnType<typeof visit>>["row"];

/** Starts an emulated deployment, uses it with both credentials, and stops it. */
async function visit({ name, served, expected }: DemoDeployment, signal: AbortSignal) {
  const { createEmulator } = await import("../../emulator/index.js");
  const emulator = createEmulator({ variants: served });
  const { url, close } = await emulator.listen();
  const found = await useDeployment(emulator, url, signal)
    .catch((error: unknown) => {
      signal.throwIfAborted();
      const detection = isVariantError(error) ? error.detection : undefined;
      return { variant: null, detection, tokenLifetimeSeconds: null, data: null, error };
    })
    .finally(close);
  const { variant, detection, tokenLifetimeSeconds, data, error } = found;
  const evidence = detection?.evidence ?? [];
  const devices = Array.isArray(data) ? data.length : null;
  const isNoneServed = isVariantError(error) && error.code === "variant_not_served";
  const row = {
    name,
    served,
    /**
     * The variants in the order of the requests. The detection ends with the first that is served.
     */
    asked: [...new Set(evidence.map((one) => one.variant))],
    variant,
    evidence,
    tokenLifetimeSeconds,
    /** The answer of Variant B gives no lifetime, so the default of the description is assumed. */
    isLifetimeAssumed: variant === "B",
    devices,
    data,
    error: error && errorJson(error).error,
    asExpected:
      variant === expected && (expected === null ? isNoneServed : devices !== null && devices > 0),
  };
  return { row, error };
}

/** Registers both credentials and uses them as any app would. */
async function useDeployment(emulator: Emulator, baseUrl: string, signal: AbortSignal) {
  const tenantId = "acme";
  const plugin = { tenantId, clientId: "demo-plugin" };
  const account = { clientId: "demo-account", clientSecret: randomBytes(32).toString("base64url") };
  emulator.registerPlugin({ ...plugin, type: "service", scopes: ["devices:read"] });
  emulator.registerServiceAccount({ tenantId, ...account });
  const credentials = [
    servicePlugin({ clientId: plugin.clientId, privateKey: emulator.testKey(plugin) }),
    serviceAccount(account),
  ];
  const service = await connect({ baseUrl, tenantId, credentials, signal });
  const { expiresAt, issuedAt } = await service.auth.getAccessToken({ signal });
  const data: unknown = unwrap(await service.call("listDevices", { signal }));
  const tokenLifetimeSeconds = Math.round((expiresAt - (issuedAt ?? Date.now())) / 1000);
  const { variant, detection } = service;
  return { variant, detection, tokenLifetimeSeconds, data, error: null };
}

function demoLines(row: Row, error: unknown, paint: Paint): string[] {
  const { name, asked, variant, evidence, devices, data, tokenLifetimeSeconds } = row;
  const verdict =
    variant === null ? paint("yellow", "no variant") : paint("green", `Variant ${variant}`);
  const lines = [
    paint("bold", `A deployment that serves ${name}`),
    `  asked     ${asked.map((one) => `Variant ${one}`).join(", then ")}`,
    "  evidence",
    ...evidenceLines(evidence, paint).map((line) => `  ${line}`),
    `  verdict   ${verdict}`,
  ];
  const assumed = row.isLifetimeAssumed ? " (assumed: the answer shows no lifetime)" : "";
  if (variant !== null)
    lines.push(
      `  token     valid for ${tokenLifetimeSeconds} s${assumed}`,
      `  devices   ${devices ?? "not a list"}`,
      ...(Array.isArray(data) ? data.map((device: unknown) => `    ${printableJson(device)}`) : []),
    );
  // The message of this error goes on with the evidence, which stands above.
  if (isVariantError(error))
    lines.push(`  error     ${error.code}: ${error.message.split(". ", 1)}.`);
  else if (error !== null) lines.push(...errorLines(error, paint).map((line) => `  ${line}`));
  return [
    ...lines,
    `  ${row.asExpected ? paint("green", "as expected") : paint("red", "NOT as expected")}`,
    "",
  ];
}
