// Reads a seed file, YAML or JSON, and reports each mistake with its line.
import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { z } from "zod";
import { routeTable } from "../api/routes.js";
import { EmulatorError, parseInput } from "../errors.js";
import { type EmulatorOptions, parseEmulatorOptions, withDefaults } from "../options.js";
import { TestKeys } from "../registrations/keys.js";
import { EmulatorRules } from "../rules/checks.js";
import { createDeployment } from "../state/deployment.js";
import { mostCharacters, parseFile } from "./parse-file.js";
import { applySeed, invalidSeed, issuesOf } from "./seed.js";

const schema = z.looseObject({
  options: z
    .record(z.string(), z.unknown())
    .refine((options) => !("seed" in options), "seed: belongs at the top level of the file")
    .optional(),
});

/**
 * Reads the options of `createEmulator` from a file. All members of the file but `options` become
 * its `seed`.
 *
 * @throws EmulatorError `seed_invalid`: one issue for each mistake, as `file:line: where: what`; no
 * value is quoted.
 *
 * @example
 * // tenant.yaml
 * // options: { variants: [A], tokenLifetimeSeconds: 600 }
 * // plugins:
 * //   - { clientId: reporter, tenantId: acme, type: service, scopes: [devices:read] }
 * const emulator = createEmulator(readSeedFile("tenant.yaml"));
 */
export function readSeedFile(path: string): EmulatorOptions {
  let text: string;
  try {
    text = readStart(path, 4 * mostCharacters + 1);
  } catch (cause) {
    throw new EmulatorError("seed_invalid", `cannot read the seed file ${path}`, { cause });
  }
  return parseSeedFile(text, basename(path));
}

/** Reads at most this many bytes, since a device such as /dev/zero has no end. */
function readStart(path: string, most: number): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(most);
    let size = 0;
    for (let read = -1; read !== 0; size += read)
      read = readSync(file, bytes, size, most - size, null);
    return bytes.toString("utf8", 0, size);
  } finally {
    closeSync(file);
  }
}

/**
 * Reads the options of `createEmulator` from the text of such a file; `name` is its name for
 * messages.
 *
 * @throws EmulatorError `seed_invalid`
 * @example
 * const text =
 *   "plugins:\n  - { clientId: reporter, tenantId: acme, type: service, scopes: [devices:read] }";
 * const emulator = createEmulator(parseSeedFile(text, "tenant.yaml"));
 */
export function parseSeedFile(text: string, name: string): EmulatorOptions {
  return parseFile(text, name, (content) => check(content ?? {}));
}

/** @throws EmulatorError with issues that begin with the path of the mistake. */
function check(content: unknown): EmulatorOptions {
  const { options = {}, ...seed } = parseInput(schema, content, "seed file", "seed_invalid");
  const problems = issuesOf("options", () => {
    const settings = withDefaults(parseEmulatorOptions(options));
    new EmulatorRules(settings.rules);
    routeTable(settings);
  });
  // A trial deployment finds every mistake in the registrations. One key for all plugins saves
  // generating many.
  const testKeys = new TestKeys();
  const jwksFor = () => testKeys.jwksFor({ tenantId: "", clientId: "" });
  const trial = { publicUrl: () => "http://seed.localhost", testKeys: { jwksFor } };
  try {
    // Wrong options do not hide the mistakes in the registrations, which are then checked with the
    // defaults.
    const whole = parseEmulatorOptions({ ...(problems.length === 0 ? options : {}), seed });
    applySeed(createDeployment(withDefaults(whole), trial), seed);
    if (problems.length === 0) return whole;
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error;
    problems.push(...error.issues);
  }
  throw invalidSeed(problems);
}
