// The state that an emulator starts with and that a reset restores.
import { z } from "zod";
import { EmulatorError, ISSUE_PATH, parseInput } from "../errors.js";
import type { Fault } from "../faults/faults.js";
import type {
  ApiClientRegistration,
  ServiceAccountRegistration,
} from "../registrations/clients.js";
import type { OperatorRegistration } from "../registrations/operators.js";
import type { PluginRegistration } from "../registrations/plugins.js";
import type { ClockStart } from "../state/clock.js";

/**
 * The registrations, the armed faults, and the instant at which the clock starts.
 *
 * @example
 * createEmulator({
 *   seed: { plugins: [{ clientId: "reporter", tenantId: "acme", type: "service" }] },
 * });
 */
export interface EmulatorSeed {
  readonly plugins?: readonly PluginRegistration[] | undefined;
  readonly serviceAccounts?: readonly ServiceAccountRegistration[] | undefined;
  readonly apiClients?: readonly ApiClientRegistration[] | undefined;
  readonly operators?: readonly OperatorRegistration[] | undefined;
  readonly faults?: readonly Fault[] | undefined;
  /** By default the clock shows real time and runs. */
  readonly clock?: ClockStart | undefined;
}

/** A copy, so that later changes to the caller's object do not change what a reset restores. */
const copy = z.unknown().transform((value, context) => {
  try {
    return structuredClone(value);
  } catch {
    context.addIssue("must be plain data");
    return z.NEVER;
  }
});
/** Each registration is checked when it is registered. */
const list = z.array(copy).optional();
const schema = z.strictObject({
  plugins: list,
  serviceAccounts: list,
  apiClients: list,
  operators: list,
  faults: list,
  clock: z
    .strictObject({
      at: z.union([z.number(), z.string(), z.date()]).transform((at) => structuredClone(at)),
      frozen: z.boolean().optional(),
    })
    .optional(),
});

/**
 * Returns a copy, whose instant the clock checks when it starts.
 * @throws EmulatorError `seed_invalid`
 */
export function parseSeed(input: unknown): EmulatorSeed {
  return parseInput<unknown>(schema, input, "seed", "seed_invalid") as EmulatorSeed;
}

const kinds = ["plugins", "serviceAccounts", "apiClients", "operators"] as const;

/** The part of a deployment that a seed fills. */
type SeedTarget = Readonly<Record<(typeof kinds)[number], { register(input: unknown): void }>> & {
  readonly faults: { add(fault: Fault): unknown };
};

/**
 * Registers every entry of the seed.
 * @throws EmulatorError `seed_invalid` with an issue for each mistake in any entry
 */
export function applySeed(target: SeedTarget, seed: EmulatorSeed): void {
  const issues = kinds.flatMap((kind) => {
    const entries: readonly object[] = seed[kind] ?? [];
    return entries.flatMap((entry, at) =>
      issuesOf(`${kind}.${at}`, () => target[kind].register(entry)),
    );
  });
  seed.faults?.forEach((fault, at) => {
    issues.push(...issuesOf(`faults.${at}`, () => target.faults.add(fault)));
  });
  if (issues.length > 0) throw invalidSeed(issues);
}

/**
 * Returns the issues of the error that `run` throws, each with its path: "plugins.1.scopes.0: must
 * be …".
 */
export function issuesOf(path: string, run: () => unknown): string[] {
  try {
    run();
    return [];
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    if (error.issues.length === 0) return [`${path}: ${error.message}`];
    return error.issues.map((issue) =>
      ISSUE_PATH.test(issue) ? `${path}.${issue}` : `${path}: ${issue}`,
    );
  }
}

export function invalidSeed(issues: readonly string[]): EmulatorError {
  return new EmulatorError("seed_invalid", `seed: ${issues.join("; ")}`, { issues: [...issues] });
}
