// What an emulator starts with and a reset goes back to.
import { z } from "zod";
import { type Instant, readInstant } from "../clock.js";
import type { Deployment } from "../deployment.js";
import { EmulatorError } from "../emulator-error.js";
import type { Fault } from "../faults/fault.js";
import { ISSUE_PATH, parseInput } from "../parse-input.js";
import type { ApiClientRegistration } from "../registrations/api-client-registration.js";
import type { OperatorRegistration } from "../registrations/operator-registration.js";
import type { PluginRegistration } from "../registrations/plugin-registration.js";
import type { ServiceAccountRegistration } from "../registrations/service-account-registration.js";

/**
 * Everything that can be registered, the faults that are armed, and where the clock begins.
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

/** The registrations themselves are checked where they are registered. */
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

/** @throws EmulatorError `seed_invalid` for the shape, else what the registrations throw. */
export function parseSeed(input: unknown): EmulatorSeed {
  const seed = ownCopy(parseInput(schema, input, "seed_invalid", "seed") as EmulatorSeed);
  if (seed.clock !== undefined) readInstant(seed.clock.at);
  return seed;
}

/** A reset goes back to what was given, whatever the caller does with it afterwards. */
function ownCopy(seed: EmulatorSeed): EmulatorSeed {
  const issues: string[] = [];
  const copyOf = (value: unknown, at: string) => {
    try {
      return structuredClone(value);
    } catch {
      issues.push(`${at}: must be plain data`);
      return undefined;
    }
  };
  const copy = Object.fromEntries(
    Object.entries(seed).map(([kind, value]) => [
      kind,
      Array.isArray(value)
        ? value.map((entry, index) => copyOf(entry, `${kind}.${index}`))
        : copyOf(value, kind),
    ]),
  );
  if (issues.length === 0) return copy;
  throw new EmulatorError("seed_invalid", `seed: ${issues.join("; ")}`, { issues });
}

/** One registration of a seed, and how it is told apart in messages. */
export interface SeedEntry {
  readonly path: readonly [keyof EmulatorSeed, number];
  register(deployment: Deployment): void;
}

/** In the order in which they are registered. */
export function seedEntries(seed: EmulatorSeed): SeedEntry[] {
  const entries = <Sheet>(
    kind: keyof EmulatorSeed,
    sheets: readonly Sheet[] | undefined,
    register: (deployment: Deployment, sheet: Sheet) => void,
  ): SeedEntry[] =>
    (sheets ?? []).map((sheet, index) => ({
      path: [kind, index],
      register: (deployment) => register(deployment, sheet),
    }));
  return [
    ...entries("plugins", seed.plugins, ({ plugins }, sheet) => plugins.register(sheet)),
    ...entries("serviceAccounts", seed.serviceAccounts, (to, sheet) => to.serviceAccounts.register(sheet)),
    ...entries("apiClients", seed.apiClients, ({ apiClients }, sheet) => apiClients.register(sheet)),
    ...entries("operators", seed.operators, ({ operators }, sheet) => operators.register(sheet)),
    ...entries("faults", seed.faults, ({ faults }, fault) => faults.add(fault)),
  ];
}

/** @throws EmulatorError `seed_invalid` with one issue for each thing at fault, in all entries. */
export function applySeed(deployment: Deployment, seed: EmulatorSeed): void {
  const issues = seedEntries(seed).flatMap((entry) => registerEntry(deployment, entry));
  if (issues.length > 0) throw new EmulatorError("seed_invalid", `seed: ${issues.join("; ")}`, { issues });
}

function registerEntry(deployment: Deployment, { path, register }: SeedEntry): string[] {
  const at = path.join(".");
  try {
    register(deployment);
    return [];
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    if (error.issues.length === 0) return [`${at}: ${error.message}`];
    // "scopes.0: must be …" is about plugins.1.scopes.0; what names no field is about the entry.
    return error.issues.map((issue) => (ISSUE_PATH.test(issue) ? `${at}.${issue}` : `${at}: ${issue}`));
  }
}
