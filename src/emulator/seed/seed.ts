// The state that an emulator starts with, and that a reset restores.
import { z } from "zod";
import { type Instant, readInstant } from "../clock.js";
import { EmulatorError, ISSUE_PATH, parseInput } from "../errors.js";
import type { Fault } from "../faults/faults.js";
import type { ApiClientRegistration, ServiceAccountRegistration } from "../registrations/clients.js";
import type { OperatorRegistration } from "../registrations/operators.js";
import type { PluginRegistration } from "../registrations/plugins.js";

/**
 * The registrations, the armed faults, and the instant at which the clock starts.
 *
 * @example
 * createEmulator({ seed: { plugins: [{ clientId: "reporter", tenantId: "acme", type: "service" }] } });
 */
export interface EmulatorSeed {
  readonly plugins?: readonly PluginRegistration[] | undefined;
  readonly serviceAccounts?: readonly ServiceAccountRegistration[] | undefined;
  readonly apiClients?: readonly ApiClientRegistration[] | undefined;
  readonly operators?: readonly OperatorRegistration[] | undefined;
  readonly faults?: readonly Fault[] | undefined;
  /** Default: real time, running. */
  readonly clock?: { readonly at: Instant; readonly frozen?: boolean | undefined } | undefined;
}

/** Each registration is checked when it is registered. */
const list = z.array(z.unknown()).optional();
const schema: z.ZodType<unknown> = z.strictObject({
  plugins: list,
  serviceAccounts: list,
  apiClients: list,
  operators: list,
  faults: list,
  clock: z
    .strictObject({ at: z.union([z.number(), z.string(), z.date()]), frozen: z.boolean().optional() })
    .optional(),
});

/** Returns a copy: later changes to the caller's object do not change what a reset restores. @throws EmulatorError */
export function parseSeed(input: unknown): EmulatorSeed {
  const { clock, ...lists } = parseInput(schema, input, "seed_invalid", "seed") as EmulatorSeed;
  if (clock !== undefined) readInstant(clock.at);
  const issues: string[] = [];
  const copy = (entry: unknown, path: string): unknown => {
    try {
      return structuredClone(entry);
    } catch {
      issues.push(`${path}: must be plain data`);
      return undefined;
    }
  };
  const copies = Object.entries(lists).map(([kind, entries]) => [
    kind,
    (entries ?? []).map((entry, index) => copy(entry, `${kind}.${index}`)),
  ]);
  if (issues.length > 0) throw invalid(issues);
  return { ...Object.fromEntries(copies), ...(clock && { clock: structuredClone(clock) }) };
}

type Lists = "plugins" | "serviceAccounts" | "apiClients" | "operators";

/** The part of a deployment that a seed fills. */
export interface SeedTarget extends Readonly<Record<Lists, { register(input: unknown): void }>> {
  readonly faults: { add(fault: Fault): unknown };
}

/** Registers every entry of the seed. @throws EmulatorError `seed_invalid` with an issue for each mistake in any entry */
export function applySeed(target: SeedTarget, seed: EmulatorSeed): void {
  const { plugins, serviceAccounts, apiClients, operators, faults } = target;
  const issues = [
    ...registerAll("plugins", seed.plugins, (entry) => plugins.register(entry)),
    ...registerAll("serviceAccounts", seed.serviceAccounts, (entry) => serviceAccounts.register(entry)),
    ...registerAll("apiClients", seed.apiClients, (entry) => apiClients.register(entry)),
    ...registerAll("operators", seed.operators, (entry) => operators.register(entry)),
    ...registerAll("faults", seed.faults, (entry) => faults.add(entry)),
  ];
  if (issues.length > 0) throw invalid(issues);
}

function registerAll<Entry>(
  kind: keyof EmulatorSeed,
  entries: readonly Entry[] = [],
  register: (entry: Entry) => void,
): string[] {
  return entries.flatMap((entry, index) => {
    const path = `${kind}.${index}`;
    try {
      register(entry);
      return [];
    } catch (error) {
      if (!(error instanceof EmulatorError)) throw error;
      if (error.issues.length === 0) return [`${path}: ${error.message}`];
      // "scopes.0: must be …" becomes "plugins.1.scopes.0: must be …"; an issue without a path is about the entry.
      return error.issues.map((issue) => (ISSUE_PATH.test(issue) ? `${path}.${issue}` : `${path}: ${issue}`));
    }
  });
}

function invalid(issues: readonly string[]): EmulatorError {
  return new EmulatorError("seed_invalid", `seed: ${issues.join("; ")}`, { issues: [...issues] });
}
