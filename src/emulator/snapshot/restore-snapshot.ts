// Puts a snapshot's state into a deployment that has just begun.
import { z } from "zod";
import type { Deployment } from "../deployment.js";
import { EmulatorError } from "../emulator-error.js";
import { parseInput } from "../parse-input.js";
import { fromPlainJson } from "./plain-json.js";
import { SNAPSHOT_FORMAT, SNAPSHOT_VERSION } from "./snapshot.js";
import { type Part, stateOf } from "./state-of.js";
import { stateSchema } from "./state-schema.js";
import { digestOf } from "./take-snapshot.js";

const schema = z.object({
  format: z.literal(SNAPSHOT_FORMAT),
  version: z.literal(
    SNAPSHOT_VERSION,
    `must be ${SNAPSHOT_VERSION}: take it anew with this version of the package`,
  ),
  state: z.record(z.string(), z.unknown()),
  digest: z.string(),
});

/** @throws EmulatorError `snapshot_invalid` */
export function restoreSnapshot(deployment: Deployment, snapshot: unknown): void {
  const { state, digest } = parseInput(schema, snapshot, "snapshot_invalid", "snapshot");
  if (digestIfAny(state) !== digest)
    throw invalid("state: was changed or cut off; for a state of your own write a seed");
  for (const [name, part] of Object.entries(stateOf(deployment))) {
    // An emulator with other options may lack this part, or have it in addition.
    if (state[name] !== undefined || name !== "rateWindow") load(name, part, state[name]);
  }
}

/** The digest tells what was changed by mistake; whoever reckons it anew is told as well. */
function load(name: string, part: Part, json: unknown): void {
  try {
    const dump = fromPlainJson(json);
    stateSchema[name]?.parse(dump);
    part.load(dump);
  } catch {
    throw invalid(`state.${name}: is not what a snapshot holds`);
  }
}

/** Undefined for what is no JSON, as what goes in circles. */
function digestIfAny(state: unknown): string | undefined {
  try {
    return digestOf(state);
  } catch {
    return undefined;
  }
}

function invalid(issue: string): EmulatorError {
  return new EmulatorError("snapshot_invalid", `snapshot: ${issue}`, { issues: [issue] });
}
