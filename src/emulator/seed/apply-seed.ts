// Registers what a seed names, and says of a bad entry where it is.
import type { Deployment } from "../deployment.js";
import { EmulatorError } from "../emulator-error.js";
import { ISSUE_PATH } from "../parse-input.js";
import { type EmulatorSeed, type SeedEntry, seedEntries } from "./seed.js";

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
